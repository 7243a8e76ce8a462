"""Simulated worlds, runs of policies in them, and the evaluation of runs."""
