"""Studies that the releases with Numba made: they open, go on, and end in the same leaderboard.

`databases/before_native.db` was made by `tests/policies/make_before_native.py` with the last of these releases: five studies of 600 votes
with their snapshots. `before_native.json` beside it tells their leaderboards, the duels that were asked next, and the
leaderboards after them.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from duelist.study import Outcome, load_study, upgrade_storage

FOLDER = Path(__file__).parent / "databases"
TOLD = json.loads((FOLDER / "before_native.json").read_text())
THETA = np.array([1.0, -0.5, 0.3, 0.0])


@pytest.fixture(params=TOLD)
def name(request):
    return request.param


@pytest.fixture
def features_are_believed(monkeypatch):
    """Whether they explain the votes was not asked then."""
    monkeypatch.setattr("duelist.study.reading._fitted.UNLIKELY", 0.0)


AS_THEN = pytest.mark.usefixtures("features_are_believed")


@pytest.fixture
def url(tmp_path):
    copy = tmp_path / "studies.db"
    shutil.copy(FOLDER / "before_native.db", copy)
    upgrade_storage(f"sqlite:///{copy}")
    return f"sqlite:///{copy}"


def same_board(study, told):
    """As then, but for the prior: its scale was that of the features' units, and is that of utilities now (decision 0029).

    So utilities may move by part of their uncertainty, and what was apart by more than that stays in order.
    """
    now = {row.arm: row.utility for row in study.leaderboard().standings}
    arms, before, _, high = zip(*told, strict=True)
    utility, before, half = np.array([now[arm] for arm in arms]), np.array(before), np.subtract(high, before)
    assert (np.abs(utility - before) < 0.75 * half).all()
    apart = before[:, None] - before > np.maximum(half[:, None], half)
    assert apart.sum() > len(arms)
    assert (utility[:, None] > utility)[apart].all()


@AS_THEN
def test_they_open_with_the_leaderboard_they_had(name, url):
    study = load_study(name, url)
    assert len(study) == 600
    same_board(study, TOLD[name]["leaderboard"])


def test_today_two_of_them_are_read_with_terms_of_their_own(name, url):
    """By chance: their votes came from features alone. Test and threshold are those that announcements have."""
    board = load_study(name, url).leaderboard()
    assert ("every arm has a term of its own" in str(board)) == (name in ("local", "local exact"))


@AS_THEN
def test_they_go_on_and_end_in_the_same_leaderboard(name, url):
    """The votes that were given then are given now, and somebody new is asked in between."""
    study = load_study(name, url)
    features = {arm.id: study.features([arm.id])[0].astype(float) for arm in study.arms()}
    rng, votes = np.random.default_rng(9), []
    like = study.votes()[0]
    for number, (first, second) in enumerate(TOLD[name]["asked next"], start=1):
        wins = rng.random() < 1.0 / (1.0 + np.exp(-(features[first] - features[second]) @ THETA))
        outcome = Outcome.FIRST if wins else Outcome.SECOND
        votes.append(replace(like, sequence=number, duel_id=number, first=first, second=second, outcome=outcome))
    study.add_votes(votes)
    same_board(study, TOLD[name]["leaderboard then"])
    duel = study.ask("somebody new")
    assert study.tell(duel.id, "first", "somebody new").rater == "somebody new"


def test_the_policy_is_the_log_learned_again_by_this_release(name, url):
    """Snapshots with other last bits are left alone: whoever opens the study knows the same to the bit."""
    one, other = load_study(name, url), load_study(name, url)
    duel = one.ask("somebody new")
    one.tell(duel.id, "second", "somebody new")
    assert one.policy().snapshot() == other.policy().snapshot()
    again = load_study(name, url)
    assert again.policy().snapshot() == one.policy().snapshot()
