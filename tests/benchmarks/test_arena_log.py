"""The timing of `make bench-arena-log`, on a small log."""

from pathlib import Path

from benchmarks.speed.arena_log import filled, measure

from duelist.study import load_study


def test_a_small_log_is_timed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    filled(url, 300, 4, 10)
    for clusters in (True, False):
        found = measure(url, clusters)
        assert set(found) == {"cold", "again", "unchanged", "memory"}
        assert found["memory"] >= 0.0
        assert min(found[what]["clock"] for what in ("cold", "again", "unchanged")) >= 0.0
    with load_study("log", url) as study:
        board = study.leaderboard()
    assert board.votes == 306
    assert board.tie_share is not None
    assert 0.0 < board.tie_share < 0.2
