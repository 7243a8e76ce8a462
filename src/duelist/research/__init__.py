"""Experiments, the paper's figures, and data sets."""
