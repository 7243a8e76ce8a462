"""Fixtures for the command line."""

from tests.study.conftest import postgres_url, server

__all__ = ["postgres_url", "server"]
