"""Record votes, revisions and undos."""
