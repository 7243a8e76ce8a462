"""The fit of a study's votes, and what follows from it."""
