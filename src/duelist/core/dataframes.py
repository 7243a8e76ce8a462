"""Data frames of whoever has pandas or polars; duelist needs neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from duelist.core.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def to_pandas(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Columns as a pandas data frame."""
    try:
        from pandas import DataFrame  # heavy, and wanted by few
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "These data frames need pandas.", "Install it with `pip install 'duelist[pandas]'`."
        ) from error
    return DataFrame(dict(columns))


def to_polars(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Columns as a polars data frame."""
    try:
        from polars import DataFrame  # heavy, and wanted by few
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "These data frames need polars.", "Install it with `pip install 'duelist[polars]'`."
        ) from error
    return DataFrame(dict(columns))
