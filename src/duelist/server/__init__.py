"""The study server: HTTP for programs and pages for people; talks to studies and to nothing else."""

from duelist.errors import MissingExtra

try:
    from duelist.server.app import make_app
    from duelist.server.options import ServerOptions
    from duelist.server.running import serve
except ModuleNotFoundError as error:
    if error.name is not None and error.name.partition(".")[0] == "duelist":
        raise
    raise MissingExtra(
        f"the study server needs {error.name}; install it with `pip install 'duelist[server]'`"
    ) from error

__all__ = ["ServerOptions", "make_app", "serve"]
