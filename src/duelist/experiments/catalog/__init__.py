"""One file an experiment: a declared sweep and its analysis beside it."""
