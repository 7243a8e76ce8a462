"""pandas and polars data frames, if they are installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from duelist.core.extras import needs_extra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def to_pandas(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return these columns as a pandas data frame."""
    with needs_extra("pandas", "this data frame"):
        from pandas import DataFrame
    return DataFrame(dict(columns))


def to_polars(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return these columns as a polars data frame."""
    with needs_extra("polars", "this data frame"):
        from polars import DataFrame
    return DataFrame(dict(columns))
