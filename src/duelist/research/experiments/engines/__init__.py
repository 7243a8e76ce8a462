"""Where cells are played: in this process, in processes on this machine, or on a Dask cluster.

An engine takes cells and gives each back once, played or failed, as they are finished. It keeps nothing: what comes
back is written down by whoever asked.
"""

from collections.abc import Callable
from typing import Final

from duelist.research.experiments.engines.base import Engine
from duelist.research.experiments.engines.cluster import Cluster
from duelist.research.experiments.engines.local_processes import LocalProcesses
from duelist.research.experiments.engines.this_process import ThisProcess

__all__ = ["ENGINES", "Cluster", "Engine", "LocalProcesses", "ThisProcess"]

ENGINES: Final[dict[str, Callable[[int | None], Engine]]] = {
    "process": lambda _workers: ThisProcess(),
    "processes": LocalProcesses,
    "dask": lambda workers: Cluster(workers=workers),
}
"""Engines on this machine by name, each made with so many workers; None: one for each core."""
