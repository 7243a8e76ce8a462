"""Choose the pair that a rater compares next."""
