"""The study server: an HTTP API and web pages for studies.

Public names are imported on first use, so that the background worker does not load a web framework.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from duelist.core.extras import needs_extra

if TYPE_CHECKING:
    from duelist.server.app import make_app
    from duelist.server.options import ServerOptions
    from duelist.server.run import serve

_HOMES = {"make_app": "app", "ServerOptions": "options", "serve": "run"}

__all__ = ["ServerOptions", "make_app", "serve"]


def __getattr__(name: str) -> Any:
    """Import a public name, or raise an error that names the missing extra."""
    if name not in _HOMES:
        raise AttributeError(f"module 'duelist.server' has no attribute {name!r}")
    with needs_extra("server", "the study server"):
        return getattr(import_module(f"duelist.server.{_HOMES[name]}"), name)
