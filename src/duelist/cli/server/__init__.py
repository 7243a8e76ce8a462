"""Commands for the study server: serve studies, manage access tokens, upgrade the database."""
