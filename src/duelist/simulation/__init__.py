"""Simulated worlds, runs of policies in them, and what the runs show."""
