"""Storage in any database that SQLAlchemy reaches."""
