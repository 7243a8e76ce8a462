"""Files into a study: items and votes."""
