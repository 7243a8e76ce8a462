"""Policies whose arms have features: one algorithm per file."""
