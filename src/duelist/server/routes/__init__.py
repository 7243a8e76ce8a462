"""The routes, one file a group of them; docs/api.md describes them all."""
