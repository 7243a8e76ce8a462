"""The comparison with other programs: our side of it, and the page."""

import numpy as np
import pytest
from benchmarks.comparison import __main__ as comparison
from benchmarks.comparison.programs import FITS, PLAYERS, fit_half, fit_leaderboard, run_search
from benchmarks.comparison.worlds import made_log, world

OURS = [name for name in PLAYERS if name.startswith("duelist")]


@pytest.mark.parametrize("fit", [fit_half, fit_leaderboard])
def test_fits_find_the_utilities_behind_a_log(fit):
    log = made_log(4000, 5)
    call, utilities = fit(log)
    found = utilities(call())
    truth = np.random.default_rng(0).normal(size=5)  # the first draws of the log
    assert np.corrcoef(found, truth)[0, 1] > 0.97  # each has a standard error of 0.05, and they spread by 0.4


@pytest.mark.parametrize("program", OURS)
def test_a_search_recommends_a_design_at_every_look(program):
    problem = world(0) | {"looks": (5, 60)}
    found = run_search({"program": program, "world": problem})
    assert len(found["recommended"]) == 2
    utility = np.array(problem["utility"])
    assert utility[found["recommended"][-1]] > np.median(utility)


def test_the_page_has_every_program(tmp_path):
    results = comparison.Results(tmp_path / "results.json", keep=False)
    fit = {"processor": [0.5, 0.7], "utilities": list(range(59))}
    names = [name for programs in FITS.values() for name in programs]
    for name in names:
        results |= {f"fit, {log}, {name}": fit for log in ("real", "made")}
    for name in PLAYERS:
        results |= {f"search, {k}, {name}": {"recommended": [0] * 6, "processor": 0.01} for k in range(2)}
    results |= {"versions": {"duelist": "0.1.0", "choix": "9.9"}, "load": 3.0}
    text = comparison.page(results, 2)
    assert all(name in text for name in (*names, *PLAYERS))
    assert "choix 9.9" in text
    assert "Potato 2.12.1" in text


@pytest.mark.parametrize(("kind", "questions"), [("library", "questions"), ("tool", "tools")])
def test_every_program_answers_every_question(kind, questions):
    asked = comparison.FEATURES[questions]
    count = len(asked["questions"] if isinstance(asked, dict) else asked)
    assert {len(each["cells"]) for each in comparison.FEATURES[kind]} == {count}
