"""Figures of a study's results."""
