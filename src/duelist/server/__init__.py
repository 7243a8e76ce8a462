"""The study server: HTTP for programs and pages for people; talks to studies and to nothing else.

Its names are loaded when they are first used: the back office, a process that serves nobody, needs no web framework.
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
    """One of the public names; what is not installed for it is an error that says so."""
    if name not in _HOMES:
        raise AttributeError(f"module 'duelist.server' has no attribute {name!r}")
    with needs_extra("server", "the study server"):
        return getattr(import_module(f"duelist.server.{_HOMES[name]}"), name)
