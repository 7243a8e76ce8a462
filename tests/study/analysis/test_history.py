"""The history of a study: the chances one would have seen at each moment, computed once."""

from dataclasses import replace

import numpy as np
import pytest

from duelist.study import Outcome
from duelist.study.analysis import HistoryCache, history, leaderboard
from tests.helpers.model_votes import davidson_votes, names

ARMS = names(6)


def some_votes(n, seed=0):
    return davidson_votes(np.random.default_rng(seed), np.linspace(1, -1, 6), n, 0.3, raters=4)


def seen_then(votes, n):
    """The chances on a board of the first n votes, by arm."""
    return {row.arm: row.chance_best for row in leaderboard(votes[:n], ARMS).standings}


def test_each_moment_is_what_a_leaderboard_said_then():
    votes = some_votes(230)
    found = history(votes, ARMS, points=6)
    assert found.votes.tolist() == [0, 50, 100, 150, 200, 230]
    for n, row in zip(found.votes, found.chance_best, strict=True):
        assert dict(zip(ARMS, row.tolist(), strict=True)) == pytest.approx(seen_then(votes, n), abs=1e-3)


def test_moments_stay_when_votes_are_added():
    votes, known = some_votes(230), HistoryCache()
    before = history(votes[:210], ARMS, points=6, remembered=known)
    first = dict(known.chances)
    after = history(votes, ARMS, points=6, remembered=known)
    assert (before.votes.tolist()[:-1], before.votes[-1]) == (after.votes.tolist()[:-1], 210)
    assert sum(known.chances.get(key) is row for key, row in first.items()) == 5  # all but the newest
    assert len(known.chances) == len(after.votes)  # nothing is kept that is not shown


@pytest.mark.parametrize("changed", ["outcome", "arms", "features", "ridge", "among"])
def test_what_is_remembered_is_used_for_nothing_else(changed):
    votes, known = some_votes(230), HistoryCache()
    vectors = np.random.default_rng(1).normal(size=(6, 2))
    options = {"features": vectors, "ridge": 1.0, "among": ARMS[:4]}
    history(votes, ARMS, points=6, remembered=known, **options)
    arms = ARMS
    if changed == "outcome":  # of the third vote, revised much later
        votes[2] = replace(votes[2], outcome=Outcome.FIRST if votes[2].outcome is Outcome.SECOND else Outcome.SECOND)
    elif changed == "arms":
        arms, options["features"] = [*ARMS, "late"], np.vstack([vectors, [0.1, 0.2]])
    elif changed == "features":
        options["features"] = vectors + np.eye(6, 2)
    else:
        options |= {"ridge": 4.0} if changed == "ridge" else {"among": ARMS[:3]}
    again = history(votes, arms, points=6, remembered=known, **options)
    fresh = history(votes, arms, points=6, **options)
    np.testing.assert_allclose(again.chance_best, fresh.chance_best, atol=1e-3)
