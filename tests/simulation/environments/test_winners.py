"""Condorcet, Copeland and Borda winners of tables, their regret, and the least regret that can be had."""

import math

import numpy as np
import pytest
from scipy.special import rel_entr

import duelist as dl
from duelist.simulation.environments import PreferenceMatrix, winners
from tests.helpers.policies.counting import CIRCLE, ORDERED

TABLES = ("arxiv_6rankers.csv", "mslr_informational_5.csv")


def test_winners_of_tables_that_are_known():
    assert winners.condorcet_winner(ORDERED) == 0
    assert winners.copeland_winners(ORDERED) == winners.borda_winners(ORDERED) == [0]
    assert winners.condorcet_winner(CIRCLE) is None
    assert winners.copeland_winners(CIRCLE) == [0, 1, 2]
    np.testing.assert_allclose(winners.copeland_scores(CIRCLE), [2 / 3, 2 / 3, 2 / 3, 0])
    np.testing.assert_allclose(winners.borda_scores(CIRCLE), [1.9 / 3, 1.9 / 3, 1.9 / 3, 0.1])
    assert winners.condorcet_winner(np.array([[0.5]])) == 0
    ties = np.full((3, 3), 0.5)
    assert winners.condorcet_winner(ties) is None
    assert winners.copeland_winners(ties) == [0, 1, 2]


@pytest.mark.parametrize("name", TABLES)
def test_real_tables_have_a_condorcet_winner_who_wins_in_every_sense(name, data_folder):
    table = np.loadtxt(data_folder / "preference_matrices" / name, delimiter=",", skiprows=1)
    (winner,) = [i for i in range(len(table)) if sum(table[i] > 0.5) == len(table) - 1]
    assert winners.condorcet_winner(table) == winner
    assert winners.copeland_winners(table) == [winner]
    assert winners.borda_winners(table) == [int(np.argmax(table.sum(axis=1)))]


@pytest.mark.parametrize("name", TABLES)
def test_least_regret_against_a_search_over_all_opponents(name, data_folder):
    """The bound is a linear programme: for each i put all draws on the opponent with the least cost for a unit of divergence."""
    table = np.loadtxt(data_folder / "preference_matrices" / name, delimiter=",", skiprows=1)
    w = winners.condorcet_winner(table)
    total = 0.0
    for i in range(len(table)):
        if i == w:
            continue
        prices = []
        for j in range(len(table)):
            if table[i, j] < 0.5:
                p = table[i, j]
                divergence = rel_entr([p, 1 - p], [0.5, 0.5]).sum()
                prices.append(0.5 * (table[w, i] + table[w, j] - 1.0) / divergence)
        total += min(prices)
    assert winners.least_regret(table) == pytest.approx(total, rel=1e-12)


def test_least_regret_of_two_arms_is_that_of_a_coin():
    """K = 2: one opponent, cost gap / 2 a duel, log T / d(p, 1/2) duels."""
    for p in (0.55, 0.7, 0.99):
        divergence = p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p))
        assert winners.least_regret(np.array([[0.5, p], [1 - p, 0.5]])) == pytest.approx((p - 0.5) / (2 * divergence))
    with pytest.raises(dl.InvalidInput, match="Condorcet winner"):
        winners.least_regret(CIRCLE)


def test_copeland_regret_counts_arms_that_are_beaten():
    environment = PreferenceMatrix(CIRCLE, winner="copeland")
    runs = dl.simulate(dl.UniformPair(), environment, 200, runs=4)
    first, second = runs.duels("UniformPair")
    loss = np.array([0.0, 0.0, 0.0, 2 / 3])
    np.testing.assert_allclose(
        runs.regret("UniformPair", cumulative=False), (loss[first] + loss[second]) / 2, atol=1e-12
    )
    np.testing.assert_allclose(
        runs.regret("UniformPair", "weak", cumulative=False), np.minimum(loss[first], loss[second]), atol=1e-12
    )


def test_errors_say_which_winners_there_are():
    with pytest.raises(dl.InvalidInput, match=r"no Condorcet winner.*copeland"):
        PreferenceMatrix(CIRCLE)
    with pytest.raises(dl.InvalidInput, match="Choose one of condorcet, copeland, borda"):
        PreferenceMatrix(CIRCLE, winner="kemeny")
