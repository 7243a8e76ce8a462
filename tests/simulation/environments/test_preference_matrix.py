"""Tables of preferences: who wins in them, what regret they count, which ones are refused."""

import numpy as np
import pytest

import duelist as dl
from duelist.simulation.environments import PreferenceMatrix
from tests.helpers.policies.chances import assert_wins_match, rng

TABLES = ("arxiv_6rankers.csv", "mslr_informational_5.csv")


@pytest.fixture(params=TABLES)
def table_path(request, data_folder):
    return data_folder / "preference_matrices" / request.param


def test_real_table_condorcet_regret_is_the_chance_of_losing_to_the_winner(table_path):
    table = np.loadtxt(table_path, delimiter=",", skiprows=1)
    environment = PreferenceMatrix.from_csv(table_path)
    np.testing.assert_array_equal(environment.matrix, table)
    world = environment.draw_world(rng())
    np.testing.assert_array_equal(world.arms, np.eye(len(table)))
    (winner,) = [i for i in range(len(table)) if all(table[i, j] > 0.5 for j in range(len(table)) if j != i)]
    gaps = world.utilities.max() - world.utilities
    np.testing.assert_allclose(gaps, table[winner] - 0.5, atol=1e-12)
    assert gaps[winner] == 0.0


def test_real_table_borda_utility_is_the_mean_chance_to_beat_another(table_path):
    table = np.loadtxt(table_path, delimiter=",", skiprows=1)
    utilities = PreferenceMatrix.from_csv(table_path, winner="borda").draw_world(rng()).utilities
    for i, row in enumerate(table):
        assert utilities[i] == pytest.approx(np.delete(row, i).mean(), abs=1e-12)


def test_real_table_decides_the_outcomes(table_path):
    table = np.loadtxt(table_path, delimiter=",", skiprows=1)
    runs = dl.simulate(dl.UniformPair(), PreferenceMatrix.from_csv(table_path), horizon=1000, runs=20)
    assert_wins_match(*runs.duels("UniformPair"), runs.outcomes("UniformPair"), table)


def test_winner_counts_in_regret_but_not_in_outcomes(table_path):
    by_winner = [
        dl.simulate(dl.UniformPair(), PreferenceMatrix.from_csv(table_path, winner), horizon=50, runs=4)
        for winner in ("condorcet", "borda")
    ]
    np.testing.assert_array_equal(*(r.outcomes("UniformPair") for r in by_winner))
    assert not np.array_equal(*(r.regret("UniformPair") for r in by_winner))


def test_a_table_may_come_with_features(table_path):
    """Features are what a policy sees; the table alone draws the outcomes, its winner alone the regret."""
    table = np.loadtxt(table_path, delimiter=",", skiprows=1)
    features = rng(3).standard_normal((len(table), 2))
    plain, featured = PreferenceMatrix(table), PreferenceMatrix(table, arms=features)
    world = featured.draw_world(rng())
    assert featured.dim == 2
    np.testing.assert_array_equal(world.arms, features)
    np.testing.assert_array_equal(world.utilities, plain.draw_world(rng()).utilities)
    # theta* is the least-squares fit: its residuals are orthogonal to every feature.
    np.testing.assert_allclose(features.T @ (world.utilities - features @ world.theta), 0.0, atol=1e-12)
    for name in ("regret", "outcomes"):
        ours, theirs = (
            getattr(dl.simulate(dl.UniformPair(), e, horizon=80, runs=3), name)("UniformPair")
            for e in (plain, featured)
        )
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("arms", [np.eye(3), [1.0, 2.0], [[1.0], [np.nan]], [[1.0], [2.0, 3.0]], np.empty((2, 0))])
def test_features_that_do_not_fit_the_table_are_refused(arms):
    with pytest.raises(dl.InvalidInput, match="arms"):
        PreferenceMatrix([[0.5, 0.6], [0.4, 0.5]], arms=arms)


CYCLE = [[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]]


def test_a_cycle_has_no_condorcet_winner_but_a_borda_score():
    with pytest.raises(dl.InvalidInput, match=r"no Condorcet winner.*borda"):
        PreferenceMatrix(CYCLE)
    np.testing.assert_allclose(PreferenceMatrix(CYCLE, winner="borda").draw_world(rng()).utilities, 0.5)


def test_a_tie_for_first_place_is_no_condorcet_winner():
    with pytest.raises(dl.InvalidInput, match="no Condorcet winner"):
        PreferenceMatrix([[0.5, 0.5, 0.9], [0.5, 0.5, 0.9], [0.1, 0.1, 0.5]])


@pytest.mark.parametrize("off", [-4e-7, 4e-7])
@pytest.mark.parametrize("arm", [0, 1])
def test_rounding_on_the_diagonal_does_not_change_the_winner(arm, off):
    """Chances may miss a sum of 1 by 1e-6, so a diagonal entry may miss 1/2; no arm beats itself."""
    matrix = np.array([[0.5, 0.3], [0.7, 0.5]])
    matrix[arm, arm] += off
    utilities = PreferenceMatrix(matrix).draw_world(rng()).utilities
    np.testing.assert_allclose(utilities, [-0.2, 0.0], atol=1e-6)


@pytest.mark.parametrize(
    ("matrix", "named"),
    [
        ([[0.5, 0.6]], r"\(1, 2\)"),
        ([0.5, 0.5], r"\(2,\)"),
        (np.empty((0, 0)), r"\(0, 0\)"),
        ([[0.5, 1.5], [-0.5, 0.5]], r"1\.5|-0\.5"),
        ([[0.5, np.nan], [0.5, 0.5]], "nan"),
        ([[0.5, 0.7], [0.4, 0.5]], r"\[0, 1\].*\[1, 0\] is 1\.1"),
        ([[0.6, 0.7], [0.3, 0.5]], r"\[0, 0\].*1\.2"),
        ([[0.5, 0.7], [0.3]], "matrix"),
    ],
)
def test_bad_tables_are_refused_by_value(matrix, named):
    with pytest.raises(dl.InvalidInput, match=named):
        PreferenceMatrix(matrix)


@pytest.mark.parametrize(
    ("text", "named"), [("a,b\n0.5,much\n0.4,0.5\n", "much"), ("a,b\n0.5,0.6\n0.4\n", "m.csv|row|shape"), ("", "shape")]
)
def test_bad_csv_tables_are_refused_by_value(tmp_path, text, named):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(dl.InvalidInput, match=named):
        PreferenceMatrix.from_csv(path)


def test_a_blank_line_at_the_end_of_a_csv_is_no_row(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("a,b\n0.5,0.6\n0.4,0.5\n\n")
    np.testing.assert_array_equal(PreferenceMatrix.from_csv(path).matrix, [[0.5, 0.6], [0.4, 0.5]])
