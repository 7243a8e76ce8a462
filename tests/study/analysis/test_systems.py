"""Analyses of a study of systems: they rank systems, and count raters and prompts as clusters of votes."""

import numpy as np
import pytest

from duelist.core.errors import DisconnectedArms, InvalidInput
from duelist.study import create_study
from duelist.study.analysis.fit.study_fit import cluster_kinds, fit_votes
from duelist.study.analysis.fit.votes import VoteTable, as_vote_table
from duelist.study.records import Outcome, Vote
from tests.helpers.systems import system_study, vote

TRUTH = [1.5, 0.5, -0.5, -1.5]


@pytest.fixture(scope="module")
def study():
    """A study of four systems on twelve prompts, after 160 votes."""
    found = system_study(4, 12)
    vote(found, 160, TRUTH)
    return found


def test_the_leaderboard_ranks_systems(study) -> None:
    board = study.leaderboard()
    assert [row.arm for row in board.standings] == ["s0", "s1", "s2", "s3"]
    assert (board.of, board.n_arms, board.votes) == ("system", 4, 160)
    assert "system" in str(board).splitlines()[0]
    assert sum(row.votes for row in board.standings) == 320


def test_by_category_only_its_prompts_count(study) -> None:
    boards = [study.leaderboard(category=name) for name in ("c0", "c1")]
    assert sum(board.votes for board in boards) == 160
    assert [board.category for board in boards] == ["c0", "c1"]
    with pytest.raises(InvalidInput, match="'c0', 'c1'"):
        study.leaderboard(category="c9")


def test_one_table_compares_categories(study) -> None:
    found = study.leaderboard_by_category()
    assert found.overall == study.leaderboard()
    assert found.categories == tuple(study.leaderboard(category=name) for name in ("c0", "c1"))
    header, first, *_, note = str(found).splitlines()
    assert header.split() == ["system", "all", "prompts", "c0", "c1"]
    assert first.startswith("s0 ")
    assert note.endswith(f"{found.categories[0].votes} on c0, {found.categories[1].votes} on c1")
    assert list(found.to_pandas().groupby("category", dropna=False).size()) == [4, 4, 4]
    plain = create_study("no categories", "memory", goal="best")
    plain.add_arms(["a", "b"])
    with pytest.raises(InvalidInput, match="no categories"):
        plain.leaderboard_by_category()


def test_decisions_speak_of_systems(study) -> None:
    for said in (study.recommend(), study.progress(), study.can_stop(), study.can_stop(goal="best")):
        assert "arm" not in str(said)
    assert str(study.recommend()).startswith("system s0 is best")
    assert "of 4 systems" in str(study.progress())


def test_single_items_are_an_option_away(study) -> None:
    with pytest.warns(DisconnectedArms):
        board = study.leaderboard(by="item")
    assert board.of == "arm"
    assert board.n_arms == 48
    in_prompt = study.leaderboard("p3")
    assert {row.arm for row in in_prompt.standings} == {"s0", "s1", "s2", "s3"}


def test_recommendation_progress_and_stopping_are_about_systems(study) -> None:
    assert study.recommend().best == study.progress().leader == "s0"
    assert study.progress().arms == 4
    stop = study.can_stop()
    assert stop.context is None
    assert "s0" in stop.statement or "order" in stop.statement
    assert study.win_matrix().arms == study.history().arms == ("s0", "s1", "s2", "s3")
    assert len(study.raters().rows) == 5


def test_a_system_is_retired_when_all_its_answers_are(study) -> None:
    fresh = system_study(3, 2)
    vote(fresh, 6, TRUTH)
    fresh.retire(["s2 / p0"])
    assert fresh.leaderboard().n_arms == 3
    fresh.retire(["s2 / p1"])
    assert fresh.leaderboard().n_arms == 2
    assert fresh.leaderboard(retired=True).n_arms == 3


def test_items_without_systems_reject_by_system() -> None:
    plain = create_study("plain", "memory", goal="best")
    plain.add_arms(["a", "b"])
    with pytest.raises(InvalidInput) as caught:
        plain.leaderboard(by="system")
    assert caught.value.field == "by"
    with pytest.raises(InvalidInput, match="Choose one of"):
        plain.leaderboard(by="prompt")


# -- clusters ----------------------------------------------------------------------------


def table(rows: list[tuple[str, str, str, str | None, str]]) -> VoteTable:
    """Votes (first, second, outcome, rater, prompt) on arms a, b, c."""
    votes = [
        Vote(k, k, Outcome(outcome), rater, None, first, second, context=prompt)
        for k, (first, second, outcome, rater, prompt) in enumerate(rows, start=1)
    ]
    return as_vote_table(votes, ["a", "b", "c"])


def random_rows(n: int, seed: int = 0) -> list[tuple[str, str, str, str | None, str]]:
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        first, second = rng.permutation(["a", "b", "c"])[:2]
        rows.append((first, second, str(rng.choice(["first", "second", "tie"])), f"r{k % 4}", f"p{k % 7}"))
    return rows


def test_copies_of_votes_by_one_rater_add_little_information() -> None:
    """Ten equal votes of each rater are hardly more than one."""
    once = random_rows(40)
    apart = [(*row[:3], f"r{k}", f"p{k}") for k, row in enumerate(once)]
    one, ten = (fit_votes(table(rows), ["a", "b", "c"], of="system").whole for rows in (apart, apart * 10))
    naive = fit_votes(table(apart * 10), ["a", "b", "c"], of="system", clusters=False).whole
    assert (naive.variance < 0.2 * one.variance).all()
    assert (ten.variance > 0.6 * one.variance).all()


def test_the_covariance_of_votes_by_few_raters_is_not_less_than_that_of_independent_votes() -> None:
    for seed in range(20):
        log = table([(*row[:4], None) for row in random_rows(12, seed)])
        plain, wide = (fit_votes(log, ["a", "b", "c"], clusters=flag).whole.covariance for flag in (False, True))
        assert plain is not None
        assert np.linalg.eigvalsh(wide - plain).min() > -1e-9


def test_prompts_count_if_arms_were_compared_on_several() -> None:
    """Models of an arena log have no contexts, and their votes have; arms of contexts have one each."""
    assert cluster_kinds(table(random_rows(20))) == ("rater", "prompt")
    assert cluster_kinds(table([("a", "b", "first", "r", "p"), ("a", "c", "tie", "r", "p")])) == ("rater",)


def test_unknown_raters_and_a_single_cluster_leave_it_alone() -> None:
    log = table([(*row[:3], None, "p") for row in random_rows(30)])
    for some in (log, log.of(slice(0, 0))):
        plain, wide = (fit_votes(some, ["a", "b", "c"], of="system", clusters=flag).whole for flag in (False, True))
        np.testing.assert_array_equal(plain.variance, wide.variance)
