"""The policies once more, slow and obvious, for the compiled ones to be compared with.

Each reference keeps its whole history as a list of rows, rebuilds Sigma from outer products, inverts
it, solves the estimating equation from zero after every tell, and looks at all pairs in a plain loop.
"""
