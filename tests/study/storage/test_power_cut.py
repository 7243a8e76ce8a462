"""Power cuts lose nothing that was acknowledged; `make power-cut` tries thousands."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from duelist.core.errors import DuelistError
from tests.helpers import evidence, power_cut

CUTS = int(os.environ.get("DUELIST_POWER_CUTS", "15"))
CUTS_PER_RECORD = 500
VOTES = 30


def cut_often(events: list[power_cut.Event], folder: Path, cuts: int, luck: random.Random) -> list[str]:
    """Cut the power at random points of the record; return what was lost."""
    disk, failures = power_cut.Disk(), []
    points = sorted(luck.sample(range(len(events)), min(cuts, len(events))))
    for number, event in enumerate(events):
        disk.apply(event)
        if points and number == points[0]:
            points.pop(0)
            disk.cut(folder / "cut", luck)
            try:
                power_cut.check(folder / "cut", disk.acknowledged)
            except (AssertionError, DuelistError) as error:
                failures.append(f"after {number} of {len(events)} calls: {type(error).__name__}: {error}")
            shutil.rmtree(folder / "cut")
    return failures


def test_power_cuts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    for seed, first in enumerate(range(0, CUTS, CUTS_PER_RECORD)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        events = power_cut.record(folder, seed, VOTES)
        cuts = min(CUTS_PER_RECORD, CUTS - first)
        assert cut_often(events, folder, cuts, random.Random(seed)) == []
        paths = [event.path for event in events]
        checkpoints = sum(event.kind == "S" for event in events if event.path == "studies.db")
        assert checkpoints > 0, "the write-ahead log was never copied into the database"
        print(  # noqa: T201
            f"{cuts} power cuts in {len(events)} calls, {paths.count('acknowledged')} acknowledgements, {checkpoints} checkpoints"
        )
        evidence.record(
            "power-cut",
            cuts=cuts,
            calls=len(events),
            acknowledged=paths.count("acknowledged"),
            checkpoints=checkpoints,
        )


def test_power_cuts_with_a_disk_that_ignores_syncs_are_noticed(tmp_path: Path) -> None:
    """The check above can fail: without syncs, acknowledged votes are lost."""
    events = [event for event in power_cut.record(tmp_path, 0, VOTES) if event.kind != "S" or event.path == "."]
    assert cut_often(events, tmp_path, 10, random.Random(0))
