"""Covariates of a vote: they are estimated, reported and excluded, from texts, columns and the side shown."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.research.datasets.llmfao import load_llmfao
from duelist.study import create_study
from duelist.study.analysis import fit_votes
from duelist.study.analysis.fit.covariates import ShownPair, expand_names, measured
from duelist.study.analysis.fit.votes import as_vote_table
from duelist.study.formats import write
from tests.helpers.systems import system_study

LENGTHS = [30, 60, 240, 120]


def long_answers(n_prompts: int = 30):
    """A study of four equally good systems whose answers have different lengths."""
    study = create_study("lengths", "memory", goal="rank")
    cells = [(s, p) for p in range(n_prompts) for s in range(4)]
    rng = np.random.default_rng(0)
    study.add_arms(
        [f"{s}/{p}" for s, p in cells],
        payloads=["x" * int(LENGTHS[s] * rng.uniform(0.3, 1.7)) for s, _ in cells],
        contexts=[f"p{p}" for _, p in cells],
        systems=[f"s{s}" for s, _ in cells],
    )
    return study


def vote_by_length(study, n, by_length, by_side, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(n):
        duel = study.ask(f"r{k % 20}")
        one, other = len(duel.first.payload), len(duel.second.payload)
        gap = by_length * (one - other) / (one + other) + by_side
        study.tell(duel, "first" if rng.random() < expit(gap) else "second", f"r{k % 20}")


@pytest.fixture(scope="module")
def study():
    """300 votes of raters who see only length and side."""
    found = long_answers()
    vote_by_length(found, 300, 2.0, 0.8)
    return found


def test_the_leaderboard_excludes_length_and_side_and_reports_them(study) -> None:
    naive = study.leaderboard()
    assert naive.standings[0].arm == "s2"
    assert naive.standings[0].low > 0.3
    board = study.leaderboard(covariates=["side", "length"])
    side, length = board.covariates
    assert (side.name, length.name) == ("side", "length")
    assert abs(side.coefficient - 0.8) < 2.0 * (side.high - side.low)  # four standard errors
    assert length.low > 0.0
    for row in board.standings:
        assert abs(row.utility) < 2.0 * (row.high - row.low)
        assert row.low < 0.3
    assert "utilities exclude the log-odds added by side +" in str(board)
    assert naive.covariates == ()


def test_decisions_take_covariates(study) -> None:
    assert study.can_stop(goal="best", covariates="length").done is False
    assert study.recommend(covariates=["length", "side"]).interval[0] < 0.0
    assert study.win_chances(covariates="side").win.shape == (4, 4)


def test_which_side_is_called_first_does_not_matter() -> None:
    """The fit keeps the order shown: mirrored votes have mirrored effects and the same utilities."""
    rng = np.random.default_rng(1)
    first = rng.integers(5, size=300)
    second = (first + rng.integers(1, 5, size=300)) % 5
    x = rng.normal(size=300)
    outcome = np.where(rng.random(300) < expit(0.7 + x), 0, 1)
    boards = []
    for one, other, said, z in ((first, second, outcome, x), (second, first, 1 - outcome, -x)):
        votes = [
            dl.study.Vote(k, k, ("first", "second")[o], None, None, f"a{i}", f"a{j}")
            for k, (i, j, o) in enumerate(zip(one, other, said, strict=True), 1)
        ]
        arms = [f"a{k}" for k in range(5)]
        pairs = [ShownPair(None, None, {"z": value}) for value in z]
        log = as_vote_table(votes, arms)
        found = fit_votes(dl.study.analysis.VoteTable(**{
            **vars(log), "covariates": measured(("side", "z"), len(log), pairs, np.arange(len(log)))
        }), arms).whole  # fmt: skip
        boards.append(found)
    np.testing.assert_allclose(boards[0].mean, boards[1].mean, atol=1e-9)
    np.testing.assert_allclose(boards[0].fitted.covariates, boards[1].fitted.covariates * [-1, 1], atol=1e-9)
    np.testing.assert_allclose(boards[0].fitted.covariates, [0.7, x.std()], atol=0.5)


def test_columns_of_items_and_of_imported_votes() -> None:
    pairs = [
        ShownPair({"price": 3, "text": "# a"}, {"price": "5", "text": "b"}),
        ShownPair("**b** and **c**", [{"role": "user", "content": "?"}, {"role": "assistant", "content": "- d\n- e"}]),
        ShownPair("same", "size", {"price_a": 1, "price_b": 2, "tone": -0.5}),
    ]
    found = measured(("price", "headers", "lists", "bold", "tone", "length"), 3, pairs, np.arange(3))
    raw = np.array([[-2, 1, 0, 0, 0, 0.5], [0, 0, -1, 1, 0, 8 / 22], [-1, 0, 0, 0, -0.5, 0]])
    np.testing.assert_allclose(found.values, raw / np.sqrt((raw**2).mean(axis=0)))
    assert expand_names(["markdown", "length", "lists"]) == ("headers", "lists", "bold", "length")


def test_what_no_pair_differs_in_is_left_out(study) -> None:
    assert [each.name for each in study.leaderboard(covariates=["markdown", "length"]).covariates] == ["length"]
    assert study.leaderboard(covariates="markdown").covariates == ()


def test_a_covariate_without_values_is_an_error() -> None:
    plain = system_study(3, 2)
    duel = plain.ask("ana")
    plain.tell(duel, "first", "ana")
    with pytest.raises(InvalidInput, match="'colour', of which no vote has a value") as caught:
        plain.leaderboard(covariates=["colour"])
    assert caught.value.field == "covariates"
    with pytest.raises(InvalidInput, match="covariates has 3"):
        plain.leaderboard(covariates=["side", 3])  # type: ignore[list-item]


@pytest.mark.data
def test_llmfao_against_the_published_objective(tmp_path) -> None:
    """Ratings and coefficients are those that minimize arena-rank's loss, on the decided votes of a real log.

    arena-rank (LMArena, `ContextualBradleyTerry`) minimizes the mean of log(1 + exp(gap)) - outcome gap, with gap the
    difference of two ratings plus features times coefficients.
    """
    votes = [vote for vote in load_llmfao() if vote.outcome in ("first", "second")]
    write(votes, tmp_path / "battles.json", "arena")
    study = create_study("llmfao", "memory", goal="rank")
    study.import_votes(tmp_path / "battles.json", "arena")
    board = study.leaderboard(covariates=["side", "length", "markdown"], ridge=1e-4, clusters=False, rater_model=False)
    names = [row.arm for row in board.standings]
    place = {name: k for k, name in enumerate(names)}
    items = np.array([[place[vote.first], place[vote.second]] for vote in votes])
    pairs = [ShownPair(vote.payload_first, vote.payload_second) for vote in votes]
    x = measured([each.name for each in board.covariates], len(votes), pairs, np.arange(len(votes))).values
    won = np.array([vote.outcome == "first" for vote in votes], float)
    design = np.zeros((len(votes), len(names)))
    design[np.arange(len(votes)), items[:, 0]] += 1.0
    design[np.arange(len(votes)), items[:, 1]] -= 1.0
    design = np.hstack([design, x])

    def loss(beta):
        gap = design @ beta
        prior = 1e-4 * beta[: len(names)] @ beta[: len(names)] + beta[len(names) :] @ beta[len(names) :]
        value = np.logaddexp(0.0, gap).sum() - won @ gap + 0.5 * prior
        slope = design.T @ (expit(gap) - won)
        return value, slope + np.r_[1e-4 * beta[: len(names)], beta[len(names) :]]

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    ratings = found[: len(names)] - found[: len(names)].mean()
    np.testing.assert_allclose([row.utility for row in board.standings], ratings, atol=1e-4)
    np.testing.assert_allclose([each.coefficient for each in board.covariates], found[len(names) :], atol=1e-4)
