"""Serve and best on real data: our policies against their peers, on tuning sets and on held-out sets."""
