"""Real preference data: loaders, never the data. One data set, one file.

The files lie in one folder outside the repository; docs/data.md says where they come from. A loader takes that
folder as an argument, or finds it with `data_folder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duelist.research.datasets.eventtime import GOLD_VOTES, EventTime, load_eventtime
from duelist.research.datasets.folder import data_folder
from duelist.research.datasets.photos import CRITERIA, Photos, load_photos

if TYPE_CHECKING:
    from duelist.research.datasets.llmfao import load_llmfao

__all__ = [
    "CRITERIA",
    "GOLD_VOTES",
    "EventTime",
    "Photos",
    "data_folder",
    "load_eventtime",
    "load_llmfao",
    "load_photos",
]


def __getattr__(name: str) -> Any:
    """Comparisons of texts are read as studies have them; who loads events or photos does not wait for studies."""
    if name == "load_llmfao":
        from duelist.research.datasets.llmfao import load_llmfao

        return load_llmfao
    raise AttributeError(f"module 'duelist.research.datasets' has no attribute {name!r}")
