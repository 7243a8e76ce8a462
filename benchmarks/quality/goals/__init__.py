"""Evaluation of policies by goal: find the best arm, rank all arms, show good ones, learn a reward model."""
