"""The simulated logs of `make bench-system-intervals`: the truth of the crowd, and both kinds of logs."""

import numpy as np
from benchmarks.quality.system_intervals import (
    SystemCell,
    World,
    adaptive_log,
    cells,
    conclusion,
    coverage,
    crowd,
    read_rows,
    table,
)


def test_the_crowd_without_deviations_is_the_mean_rater() -> None:
    utilities = np.random.default_rng(0).normal(size=8)
    for nu in (0.0, 0.5):
        np.testing.assert_allclose(crowd(utilities, 0.0, nu), utilities - utilities.mean(), atol=1e-2)
        attenuated = crowd(utilities, 1.0, nu)
        assert np.abs(attenuated).sum() < np.abs(utilities - utilities.mean()).sum()


def test_adaptive_logs_spread_prompts() -> None:
    log = adaptive_log(World(np.random.default_rng(0), SystemCell(adaptive=True)), 60)
    assert len(log) == 60
    assert np.bincount(log.context, minlength=40).max() <= 4
    assert (log.first != log.second).all()


def test_a_cell_is_measured_and_shown(tmp_path) -> None:
    found = coverage(SystemCell(votes=100, raters=1.0), 4)
    assert found.logs == 4
    assert found.half_width > 0.0
    assert 0.5 < found.naive <= found.held <= 1.0
    rows = [(cells()[0], found)]
    assert "| 200 | 0 | 0 |" in table(rows)
    assert "of 1 lines are within 93 to 97 %" in conclusion(rows)
    assert read_rows(tmp_path / "none") == {}
