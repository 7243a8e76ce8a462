"""Speed of policies and simulations: `python -m benchmarks`."""
