"""The problems on which goals are evaluated: probabilities, votes, split logs, and public files that may be missing."""

import numpy as np
import pytest
from benchmarks.quality.goals import logs, problems
from benchmarks.quality.goals.problems import STINT, GoalWorld, evaluation_problems
from scipy import stats

from duelist.model.fit import fit_mle

WITHOUT_PUBLIC = ("matrices", "raters", "made")


@pytest.fixture(autouse=True)
def _no_public_data(monkeypatch):
    monkeypatch.delenv("DUELIST_PUBLIC", raising=False)


@pytest.mark.parametrize("name", evaluation_problems(WITHOUT_PUBLIC))
def test_every_world_is_sound(name):
    problem = evaluation_problems(WITHOUT_PUBLIC)[name]
    for run in range(3):
        world, again = problem.world(1, run), problem.world(1, run)
        np.testing.assert_array_equal(world.raters, again.raters)
        np.testing.assert_allclose(world.raters + world.raters.transpose(0, 2, 1), 1.0, atol=1e-6)
        assert (world.raters > 0.0).all()
        others = np.delete(np.arange(world.n), world.best)
        assert (world.chances[world.best, others] > 0.5).all()
        assert world.regret(world.best) == 0.0
        assert all(world.regret(arm) > 0.0 for arm in others)
        assert len(world.table()) == len(world.one_hot()) == world.n
        assert world.features is None or np.isfinite(world.features).all()


def test_runs_differ():
    for problem in evaluation_problems(("raters", "made")).values():
        assert not np.array_equal(problem.world(1, 0).utilities, problem.world(1, 1).utilities)


def test_votes_come_with_their_chances_and_raters_in_turn():
    careless, careful = np.full((2, 2), 0.5), np.array([[0.5, 0.9], [0.1, 0.5]])
    world = GoalWorld(np.array([1.0, 0.0]), np.stack([careless, careful]))
    rng, rounds = np.random.default_rng(0), 4000
    won = np.array([world.vote(0, 1, number, rng) for number in range(rounds)])
    turn = np.arange(rounds) // STINT % 2
    for rater, chance in ((0, 0.5), (1, 0.9)):
        mine = won[turn == rater]
        assert abs(mine.sum() - chance * mine.size) < 6.0 * np.sqrt(mine.size * chance * (1.0 - chance))
    assert world.chances[0, 1] == pytest.approx(0.7)


def test_a_log_is_divided_into_two_whose_votes_add_up():
    rng = np.random.default_rng(1)
    wins = rng.integers(0, 30, (12, 12)).astype(float)
    wins[np.triu_indices(12, 1)] += 0.5  # a tie: half a win for each
    wins[np.tril_indices(12, -1)] += 0.5
    np.fill_diagonal(wins, 0.0)
    log = logs.split_log(wins)
    np.testing.assert_allclose(log.wins + log.held_out, wins)
    assert (log.held_out >= 0.0).all()
    assert (log.wins >= 0.0).all()
    votes = wins.sum()
    spread = np.sqrt(votes * logs.HELD_OUT * (1.0 - logs.HELD_OUT))
    assert abs(log.held_out.sum() - logs.HELD_OUT * votes) < 6.0 * spread
    np.testing.assert_allclose(log.utilities, logs.bradley_terry(log.wins))


def test_many_arms_are_fitted_as_few_are():
    rng, n = np.random.default_rng(2), 210
    utilities = rng.normal(size=n)
    i, j = rng.integers(n, size=(2, 6000))
    i, j = i[i != j], j[i != j]
    won = rng.random(len(i)) < 1.0 / (1.0 + np.exp(utilities[j] - utilities[i]))
    wins = np.zeros((n, n))
    np.add.at(wins, (np.where(won, i, j), np.where(won, j, i)), 1.0)
    exact = fit_mle(np.eye(n)[i] - np.eye(n)[j], won.astype(float), ridge=0.1).theta
    np.testing.assert_allclose(logs.bradley_terry(wins), exact, atol=1e-3)


def test_a_part_has_an_arm_that_beats_all_others():
    rng = np.random.default_rng(3)
    part = problems.part_of(logs.events(), 40, rng)
    chances = problems.chances_in(part)
    assert problems.has_a_best(part.utilities, chances)
    assert not problems.has_a_best(-part.utilities, chances)
    # Each pair has its own votes and two more, as the fitted utilities have them.
    votes = part.wins + part.wins.T
    fitted = 1.0 / (1.0 + np.exp(part.utilities - part.utilities[:, None]))
    np.testing.assert_allclose(chances * (votes + 2.0), part.wins + 2.0 * fitted)


def test_careful_raters_have_steep_slopes():
    """Raters whose fitted slope is small agree with the majority about as often as chance has it; the others more often."""
    log, votes = logs.answers()
    slopes = problems.slopes_of_raters()
    agree = (log.utilities[votes.pairs[:, 0]] > log.utilities[votes.pairs[:, 1]]) == (votes.shares > 0.5)
    clear = votes.shares != 0.5
    often = np.array([agree[clear & (votes.raters == rater)].mean() for rater in range(len(slopes))])
    assert stats.spearmanr(slopes, often).statistic > 0.5


# -- public files ------------------------------------------------------------------------


def test_missing_public_logs_are_named_with_their_sources():
    assert [line.split(":")[0] for line in logs.missing()] == ["arguments", "tennis", "humour"]
    held_out = logs.missing(logs.HELD_OUT_SOURCES)
    assert [line.split(":")[0] for line in held_out] == list(problems.HELD_OUT_ARMS)
    assert all("docs/guides/data.md" in line for line in [*logs.missing(), *held_out])
    assert not [problem for problem in evaluation_problems().values() if problem.family == "public"]
    assert evaluation_problems(("held out",)) == {}


def test_tuning_never_plays_a_held_out_problem():
    assert "held out" not in problems.FAMILIES


def test_a_held_out_problem_is_played_with_and_without_features(tmp_path, monkeypatch):
    rng, n = np.random.default_rng(3), 60
    rows = "".join(f"candy {k},{k % 2},{rng.random():.3f},{20 + k}\n" for k in range(n))
    (tmp_path / "candy-power-ranking").mkdir()
    (tmp_path / "candy-power-ranking" / "candy-data.csv").write_text(
        f"competitorname,chocolate,price,winpercent\n{rows}"
    )
    monkeypatch.setenv("DUELIST_PUBLIC", str(tmp_path))
    logs.public.cache_clear()
    found = evaluation_problems(("held out",))
    assert list(found) == ["candy", "candy, with features"]
    world = found["candy, with features"].world(0, 0)
    assert world.n == problems.HELD_OUT_ARMS["candy"]
    assert world.features is not None
    assert world.features.shape == (world.n, 2)
    assert found["candy"].world(0, 0).features is None
    logs.public.cache_clear()
