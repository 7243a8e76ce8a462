"""The pages of the radius, of long horizons and of the variance, made from a few short runs."""

import json

import pytest
from benchmarks.quality import horizons, radius, variance
from benchmarks.speed import solvers


@pytest.fixture(autouse=True)
def _named_commit(monkeypatch):
    monkeypatch.setenv("DUELIST_COMMIT", "abc1234")


def test_the_radius_page_counts_the_lines_that_keep_the_promise(monkeypatch):
    few = [radius.Cell(), radius.Cell("VACDB", scale=4.0), radius.Cell("VACDB", radius="theory")]
    monkeypatch.setattr(radius, "cells", lambda: iter(few))
    stored = json.loads(json.dumps({"commit": "abc1234", "date": "2026-03-01", "cells": radius.measure(2, 1, 1.0)}))
    text = radius.page(stored)
    assert "from commit abc1234" in text
    assert "in 2 of 2 lines in which |θ*| is at most S" in text
    assert text.count("†") == 2
    stored["cells"][0]["covered"] = 0
    assert "in 1 of 2 lines" in radius.page(stored)
    assert "| commit |" not in text
    stored["cells"][1]["commit"] = "def5678"
    assert "| commit |" in radius.page(stored)
    assert radius.page(stored).count("| def5678 |") == 1


def test_an_interrupted_measurement_of_the_radius_continues(monkeypatch, tmp_path):
    few, kept = [radius.Cell(), radius.Cell(scale=2.0)], tmp_path / "kept.json"
    monkeypatch.setattr(radius, "cells", lambda: iter(few[:1]))
    monkeypatch.setattr("sys.argv", ["radius", "--runs", "2", "--processes", "1", "--write", str(kept)])
    radius.main()
    first = json.loads(kept.read_text())["cells"]
    monkeypatch.setattr(radius, "cells", lambda: iter(few))
    monkeypatch.setattr(
        "sys.argv", ["radius", "--runs", "2", "--processes", "1", "--write", str(kept), "--read", str(kept)]
    )
    radius.main()
    assert json.loads(kept.read_text())["cells"][:1] == first
    assert [line["cell"]["scale"] for line in json.loads(kept.read_text())["cells"]] == [1.0, 2.0]


def test_the_horizon_page_has_slopes_and_late_shares(monkeypatch, tmp_path):
    monkeypatch.setattr(horizons, "HORIZONS", (20, 40, 80, 160))
    monkeypatch.setattr(horizons, "POLICIES", {k: horizons.POLICIES[k] for k in horizons.AT_CLEAR_VOTES})
    stored = tmp_path / "stored.json"
    horizons.measure(3, 160, stored, 1.0, 1)
    text = horizons.page(json.loads(stored.read_text()))
    assert "T = 160" in text
    for name in horizons.AT_CLEAR_VOTES:
        assert text.count(f"| {name} |") == 4
    assert "| MaxPairUCB, ridge 1 | " in text
    assert "1.00 [1.00, 1.00]" in text
    kept = json.loads(stored.read_text())
    gone = [kept["cells"].pop(k) for k in (5, 1)]
    again = horizons.measure(3, 160, None, 1.0, 1, horizons.played_before(kept))
    assert {(p.policy, p.horizon, p.scale): p.final.round(2).tolist() for p in again[-2:]} == {
        (c["policy"], c["horizon"], c["scale"]): c["final"] for c in gone
    }


def test_slow_policies_play_fewer_runs_at_long_horizons():
    assert horizons.wanted_runs("LocalPairUCB (default)", 1_000_000, 1000) == 1000
    assert [horizons.wanted_runs("VACDB, tight", T, 1000) for T in horizons.HORIZONS] == [1000, 1000, 200, 50]


def test_the_variance_page_judges_each_pair_of_twins(monkeypatch):
    monkeypatch.setattr(variance, "CUBE_ROUNDS", 30)
    monkeypatch.setattr(variance, "CHANGING_ROUNDS", 30)
    monkeypatch.setattr(variance, "ProcessPoolExecutor", _Here)
    text = variance.page({"commit": "abc1234", "date": "2026-03-01", "cells": variance.measure(3, 1, 1.0)})
    assert text.count("variance-awareness **") == len(variance.TWINS)


class _Here:
    """Plays in this process, where the rounds are few."""

    def __init__(self, _processes):
        self.map = map

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_all_exact_solvers_reach_the_root_of_every_problem():
    for problem in (solvers.Problem(60, 3), solvers.Problem(60, 3, units=1e12)):
        for solver in ("newton", "agd", "svrg"):
            found = solvers.solve(problem, solver)
            assert found.converged
            assert found.error < 1e-5
