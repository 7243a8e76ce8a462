"""Loaders of real preference data, one data set per file.

The data are not part of the package: docs/guides/data.md says where they come from. A loader takes the folder that holds
them as an argument, or finds it with `data_folder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duelist.research.datasets.eventtime import GOLD_VOTES, EventTime, load_eventtime
from duelist.research.datasets.folder import data_folder
from duelist.research.datasets.matches import load_football, load_tennis
from duelist.research.datasets.pair_wins import PairWins
from duelist.research.datasets.photos import CRITERIA, Photos, load_photos
from duelist.research.datasets.tastes import load_candy, load_cuisines, load_movies, load_sushi
from duelist.research.datasets.texts import load_arguments, load_humour

if TYPE_CHECKING:
    from duelist.research.datasets.llmfao import load_llmfao

__all__ = [
    "CRITERIA",
    "GOLD_VOTES",
    "EventTime",
    "PairWins",
    "Photos",
    "data_folder",
    "load_arguments",
    "load_candy",
    "load_cuisines",
    "load_eventtime",
    "load_football",
    "load_humour",
    "load_llmfao",
    "load_movies",
    "load_photos",
    "load_sushi",
    "load_tennis",
]


def __getattr__(name: str) -> Any:
    """Load names lazily, so that events and photos do not wait for studies."""
    if name == "load_llmfao":
        from duelist.research.datasets.llmfao import load_llmfao

        return load_llmfao
    raise AttributeError(f"module 'duelist.research.datasets' has no attribute {name!r}")
