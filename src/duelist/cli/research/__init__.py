"""Commands for research: simulations, tuning, experiments, and the paper's figures."""
