"""HTTP requests before a route handles them: connections, limits, bodies, uploads."""
