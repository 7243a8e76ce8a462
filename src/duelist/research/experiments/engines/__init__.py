"""Engines play cells: in this process, in local processes, or on a Dask cluster.

An engine takes cells and returns each once, played or failed, as it finishes. The caller stores the results.
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
"""Engines on this machine by name, each created with a number of workers; None: one per core."""
