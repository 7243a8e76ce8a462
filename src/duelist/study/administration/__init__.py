"""What owners do with a study: its state, settings and raters, archives, and access tokens."""
