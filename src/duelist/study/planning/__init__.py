"""Plans of studies before the first vote, from simulated studies."""
