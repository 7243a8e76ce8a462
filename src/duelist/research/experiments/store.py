"""The store of cells: a folder of Parquet files, each with its settings next to it.

    results/
      format.json              the type and version of the folder
      cells/3f/3f09...parquet  one row per run and recorded round: run, round, average, weak, strong, ...
      cells/3f/3f09...json     the cell's settings, where it was played, and for how long
      duels/3f/3f09...parquet  every duel, if the experiment asked for them
      failed/3f09...json       settings and traceback of a cell that failed

Files are written atomically, the Parquet file last, so that a cell that has one is complete. A process that is
interrupted, killed, or runs out of disk space leaves finished cells intact.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.core.errors import InvalidResults, StorageFull
from duelist.core.extras import needs_extra
from duelist.core.files import atomic_write
from duelist.research.experiments.cells import Cell, Failure, Played
from duelist.simulation.run_log import LAYERS_KEPT, SUMS, Curves, DuelLog

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Final = "duelist.results"
VERSION: Final = 1
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Store:
    """The cells in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        check_format(self.folder)
        self._parquet: Any = None

    def has(self, cell: Cell) -> bool:
        """Return whether the cell is stored and undamaged."""
        table = self.table(cell.key)
        return table is not None and len(table) > 0 and len(table) % cell.runs == 0

    def path(self, key: str) -> Path:
        """Return the path of the cell's Parquet file; its settings are next to it."""
        return self.folder / "cells" / key[:2] / f"{key}.parquet"

    def duels_path(self, key: str) -> Path:
        """Return the path of the file of duels, if they are kept."""
        return self.folder / "duels" / key[:2] / f"{key}.parquet"

    def table(self, key: str) -> pa.Table | None:
        """Return a cell's rows, or None if they are missing or damaged."""
        try:
            return self._pq.read_table(self.path(key), page_checksum_verification=True)
        except (OSError, ValueError):  # pyarrow raises these for damaged files
            return None

    def read(self, key: str) -> Curves | None:
        """Return a cell's curves, or None if they are missing or damaged."""
        table = self.table(key)
        return None if table is None else _curves(table)

    def record(self, key: str) -> dict[str, Any]:
        """Return the settings of a stored cell, where it was played, and for how long."""
        return dict(json.loads(self.path(key).with_suffix(".json").read_text(encoding="utf-8")))

    def write(self, cell: Cell, played: Played) -> None:
        """Store a result atomically."""
        key = cell.key
        made = {"seconds": played.seconds, "where": played.where, "duelist": version("duelist")}
        record = {"key": key, "settings": cell.describe(), "made": made}
        try:
            self._begin()
            write_json(self.path(key).with_suffix(".json"), record)
            if played.log is not None:
                self._write_table(self.duels_path(key), _duel_table(played.log, cell.first_run))
            self._write_table(self.path(key), _curve_table(played.curves, cell.first_run))
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise StorageFull(
                    f"No room is left in {self.folder}.", "Finished cells are kept: make room, and run the same again."
                ) from error
            raise
        self._failed(key).unlink(missing_ok=True)

    def write_failure(self, cell: Cell, failure: Failure) -> None:
        """Record why a cell has no result; it is tried again the next time."""
        self._begin()
        write_json(self._failed(cell.key), {"key": cell.key, "settings": cell.describe(), **failure._asdict()})

    def failures(self) -> Iterator[dict[str, Any]]:
        """Return the cells that failed when they were last tried."""
        for path in sorted((self.folder / "failed").glob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))

    def _failed(self, key: str) -> Path:
        return self.folder / "failed" / f"{key}.json"

    def _begin(self) -> None:
        mark = self.folder / "format.json"
        if not mark.exists():
            write_json(mark, {"format": FORMAT, "version": VERSION})

    def _write_table(self, path: Path, table: pa.Table) -> None:
        floats = [field.name for field in table.schema if str(field.type) == "double"]
        others = [name for name in table.column_names if name not in floats]
        with atomic_write(path) as file:
            self._pq.write_table(
                table,
                file,
                compression="zstd",
                use_dictionary=others,
                use_byte_stream_split=floats,
                write_page_checksum=True,
            )

    @property
    def _pq(self) -> Any:
        if self._parquet is None:
            self._parquet = _arrow_parquet()
        return self._parquet


def check_format(folder: Path) -> None:
    """Raise if this release cannot read the results folder; a missing folder is fine."""
    mark = folder / "format.json"
    if not mark.exists():
        return
    try:
        found = json.loads(mark.read_text(encoding="utf-8"))
        contents = f"{found['format']} version {found['version']}"
    except (ValueError, TypeError, KeyError):
        contents = "something else"
    if contents != f"{FORMAT} version {VERSION}":
        raise InvalidResults(
            f"{folder} holds {contents}.",
            f"This release reads and writes {FORMAT} version {VERSION}: give another folder, or use the "
            "release that made it.",
        )


def write_json(path: Path, data: Any) -> None:
    """Write plain data as JSON, atomically."""
    with atomic_write(path) as file:
        file.write(json.dumps(data, indent=1).encode())


def _arrow_parquet() -> Any:
    with needs_extra("experiments", "the Parquet files of experiments"):
        from pyarrow import parquet
    return parquet


def _curve_table(curves: Curves, first_run: int) -> pa.Table:
    """Return one row per run and recorded round; a run's last row holds how often each layer learned."""
    import pyarrow as pa

    runs, points = curves.average.shape
    last = int(np.flatnonzero(curves.layers.sum(axis=0)).max(initial=0)) + 1
    layers: list[list[int] | None] = [None] * (runs * points)
    layers[points - 1 :: points] = curves.layers[:, :last].tolist()
    return pa.table(
        {
            "run": np.repeat(np.arange(first_run, first_run + runs, dtype=np.int32), points),
            "round": np.tile(curves.rounds.astype(np.int32), runs),
            **{name: getattr(curves, name).ravel() for name in SUMS},
            "layers": pa.array(layers, pa.list_(pa.int32())),
        }
    )


def _curves(table: pa.Table) -> Curves:
    runs = len(table["run"].unique())
    rounds = table["round"].to_numpy()[: len(table) // runs].astype(np.int64)
    layers = np.zeros((runs, LAYERS_KEPT), np.int64)
    for run, counts in enumerate(table["layers"].drop_null().to_pylist()):
        layers[run, : len(counts)] = counts
    sums = {name: table[name].to_numpy().reshape(runs, -1) for name in SUMS}
    return Curves(rounds=rounds, layers=layers, **sums)


def _duel_table(log: DuelLog, first_run: int) -> pa.Table:
    import pyarrow as pa

    runs, rounds = log.first.shape
    return pa.table(
        {
            "run": np.repeat(np.arange(first_run, first_run + runs, dtype=np.int32), rounds),
            "round": np.tile(np.arange(1, rounds + 1, dtype=np.int32), runs),
            **{name: column.ravel() for name, column in log._asdict().items()},
        }
    )
