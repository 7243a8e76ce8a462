"""What the papers say of their rules, checked on what is played; nothing here looks into the engine."""

import itertools
import math
from typing import Any

import native_testing as parts
import numpy as np
import pytest
from scipy import stats

import duelist as dl
from duelist.simulation.environments import PreferenceMatrix
from tests.helpers.policies.counting import CIRCLE, NAMES, ORDERED, made, voted, wins_of

SURE = np.where(np.triu(np.ones((5, 5)), 1) > 0, 1.0, 0.0) + 0.5 * np.eye(5)
"""The arm with the smaller number always wins."""


def rate_bound(rate, n):
    """How many of n events of at most that rate may happen, six standard deviations up."""
    return n * rate + 6.0 * math.sqrt(n * rate * (1.0 - rate))


def last_duels(name, table, horizon, runs, winner="condorcet", **settings):
    """Who met whom in the last round of each run."""
    policy = dl.make_policy(name, horizon=horizon, **settings)
    runs = dl.simulate(policy, PreferenceMatrix(table, winner), horizon, runs=runs, seed=1)
    first, second = runs.duels(runs.labels[0])
    return first[:, -1], second[:, -1]


@pytest.mark.parametrize("name", NAMES)
def test_without_noise_the_best_arm_is_found_and_kept(name):
    """With sure outcomes every rule ends up showing the best arm nearly always."""
    policy: Any = dl.make_policy(name, horizon=30_000)
    runs = dl.simulate(policy, PreferenceMatrix(SURE), 30_000, runs=2, seed=0)
    weak = runs.regret(name, "weak", cumulative=False)[:, -5000:]
    assert weak.mean() < 0.05 * 0.5
    assert policy.wins_.size == 0


def test_beta_numbers_are_beta():
    """Kolmogorov's test at the level of 1e-9 for each shape."""
    for a, b in [(1.0, 1.0), (1.0, 7.0), (2.5, 1.0), (3.0, 3.0), (40.0, 12.0), (900.5, 1100.0)]:
        drawn = parts.draw_betas(np.array([1, 2, 3, 4], np.uint64), a, b, 20_000)
        assert stats.kstest(drawn, stats.beta(a, b).cdf).pvalue > 1e-9, (a, b)


# -- Winner Stays ------------------------------------------------------------------------


def test_weak_regret_of_winner_stays_is_bounded():
    """Once the best arm is far ahead it is beaten back only with a chance that falls geometrically: no weak regret after that."""
    table = np.where(ORDERED > 0.5, 0.8, np.where(ORDERED < 0.5, 0.2, 0.5))
    runs = dl.simulate(dl.counting.WSW(), PreferenceMatrix(table), 20_000, runs=60, seed=0)
    weak = runs.regret("WSW", "weak")
    assert (weak[:, -1] == weak[:, 3000]).all()
    assert weak[:, -1].mean() > 0.0
    strong = runs.regret("WSW", "strong")
    assert (strong[:, -1] > strong[:, 10_000] + 1000 * 0.3).all()  # the price: it always shows another arm too


def test_rounds_of_winner_stays_end_as_the_paper_says():
    """At the end of round l the winner has q = (N - 1) l and all others -l; iterations have one loser each."""
    policy, rng, ends, q = made("WSW"), np.random.default_rng(0), 0, np.zeros(5)
    for _ in range(3000):
        duel = policy.ask(5, distinct=False)
        outcome = voted(ORDERED, duel, rng.random())
        policy.tell(duel, outcome)
        q[duel.first if outcome else duel.second] += 1
        q[duel.second if outcome else duel.first] -= 1
        if q.max() == 4 * (ends + 1) and (np.sort(q)[:-1] == -(ends + 1)).all():
            ends += 1
        assert (q >= -(ends + 1)).all()
    assert ends > 100


def test_exploitation_of_winner_stays_grows_by_beta():
    """Between rounds the winner meets itself floor(beta^l) times."""
    played = wins_of(dl.counting.WSS(beta=1.3, random_state=0), ORDERED, 4000)
    lengths = [len(list(group)) for alone, group in itertools.groupby(played, lambda pair: pair[0] == pair[1]) if alone]
    assert len(lengths) > 15
    assert lengths[:-1] == [math.floor(1.3**k) for k in range(1, len(lengths))]


# -- eliminations ------------------------------------------------------------------------


def test_borda_elimination_keeps_the_borda_winner():
    """Wrong with chance at most delta; here the Borda winner is not the Condorcet winner."""
    table = np.array([[0.5, 0.55, 0.55, 0.55], [0.45, 0.5, 0.9, 0.9], [0.45, 0.1, 0.5, 0.6], [0.45, 0.1, 0.4, 0.5]])
    assert dl.environments.winners.borda_winners(table) == [1]
    first, second = last_duels("BordaElimination", table, 6000, 200, "borda", delta=0.2)
    assert (first == second).mean() > 0.9
    assert (first[first == second] != 1).sum() <= rate_bound(0.2, 200)


@pytest.mark.parametrize(
    ("name", "settings", "rate"),
    [
        ("InterleavedFilter", {}, 1 / 30_000),
        ("BeatTheMean", {"scale": 1.5}, 0.05),
        ("MergeRUCB", {"delta": 0.1}, 0.1),
        ("MergeDTS", {"delta": 0.1}, 0.1),
    ],
)
def test_eliminations_keep_the_condorcet_winner(name, settings, rate):
    table = np.where(ORDERED > 0.5, 0.75, np.where(ORDERED < 0.5, 0.25, 0.5))
    first, second = last_duels(name, table, 30_000, 60, **settings)
    over = first == second
    assert over.mean() > 0.9
    assert (first[over] != 0).sum() <= rate_bound(rate, 60)


def test_interleaved_filter_drops_who_trails_with_the_candidate():
    """Without noise the first arm to beat the candidate follows it, and the arms it beat never come back."""
    policy = dl.counting.InterleavedFilter(horizon=500, random_state=1)
    candidates = [first for first, _ in itertools.groupby(wins_of(policy, SURE, 1500), lambda pair: pair[0])]
    assert candidates == sorted(candidates, reverse=True)
    assert candidates[-1] == 0


def test_beat_the_mean_measures_arms_equally_often():
    """While nobody has left, n_b differ by one at most."""
    policy, counts = dl.counting.BeatTheMean(horizon=10**9, random_state=0), np.zeros(5)
    for first, _ in wins_of(policy, np.full((5, 5), 0.5), 500):
        counts[first] += 1
        assert counts.max() - counts.min() <= 1


# -- divergences and Copeland ------------------------------------------------------------


def test_rmed_draws_every_pair_once_first():
    pairs = list(itertools.combinations(range(5), 2))
    assert wins_of(made("RMED1"), ORDERED, 10) == pairs
    draws = math.ceil(3.0 * math.log(math.log(2000)))
    assert wins_of(made("RMED2FH"), ORDERED, 10 * draws) == [pair for pair in pairs for _ in range(draws)]


def test_rmed_comes_near_the_lower_bound():
    """Theorem 3 of the paper is asymptotic; at T = 30,000 RMED1 has within three times c log T, where uniform pairs have thirty times."""
    bound = dl.environments.winners.least_regret(ORDERED) * math.log(30_000)
    runs = dl.simulate([dl.counting.RMED1(), dl.UniformPair()], PreferenceMatrix(ORDERED), 30_000, runs=40, seed=0)
    assert runs.final("RMED1").mean() < 3.0 * bound
    assert runs.final("UniformPair").mean() > 30.0 * bound


@pytest.mark.parametrize("name", ["CCB", "DTS", "DTSPlus"])
def test_copeland_winners_are_found_where_nobody_beats_everybody(name):
    """Arms 0, 1 and 2 beat two of three others each; arm 3 is the only one that costs anything."""
    runs = dl.simulate(dl.make_policy(name), PreferenceMatrix(CIRCLE, "copeland"), 10_000, runs=10, seed=0)
    late = runs.regret(name, cumulative=False)[:, -5000:]
    assert late.mean() < 0.02 * (2 / 3)


def test_rucb_repeats_the_winner_when_it_is_sure():
    """With one arm left in C the published rule has that arm meet itself."""
    played = wins_of(dl.counting.RUCB(random_state=0), SURE, 3000)
    assert np.mean([pair == (0, 0) for pair in played[-1000:]]) > 0.9


# -- duels that are out ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["RMED1", "RMED2"])
def test_pairs_that_are_out_are_not_drawn_again(name):
    """Ten people get the ten pairs of the beginning, and outcomes in any order lead to the same knowledge."""
    states = []
    for order in (range(10), reversed(range(10)), np.random.default_rng(0).permutation(10)):
        policy = made(name)
        duels = [policy.ask(5) for _ in range(10)]
        assert [tuple(duel) for duel in duels] == list(itertools.combinations(range(5), 2))
        for k in order:
            policy.tell(duels[k], float(duels[k].first < duels[k].second))
        states.append(policy.snapshot()["counts"])
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize("name", ["InterleavedFilter", "BordaElimination", "BeatTheMean"])
def test_rules_that_take_turns_go_on_to_the_next_while_duels_are_out(name):
    policy = made(name)
    duels = [policy.ask(5) for _ in range(4)]
    turn = 1 if name == "InterleavedFilter" else 0
    assert len({tuple(duel)[turn] for duel in duels}) == 4


def test_a_vote_about_an_older_candidate_changes_nothing_for_the_filter():
    policy = dl.counting.InterleavedFilter(horizon=10, random_state=0)
    late = policy.ask(3)
    old = late.first
    for _ in range(100):
        for other in {0, 1, 2} - {old}:
            policy.learn([old, other], 0.0)
    assert policy.suggest(3).first != old
    before = policy.snapshot()["counts"]
    policy.tell(late, 1.0)
    after = policy.snapshot()["counts"]
    assert (after["integers"], after["reals"]) == (before["integers"], before["reals"])
    assert policy.wins_[old].sum() == 1.0


def test_winner_stays_ignores_votes_of_exploitation():
    """With two different arms asked, the votes of an exploitation are counted as wins but move no q."""
    policy, rng, repeated = dl.counting.WSS(beta=4.0, random_state=0), np.random.default_rng(0), 0
    for _ in range(400):
        layer = policy.suggest(4).layer
        tallies = policy.snapshot()["counts"]["reals"]
        duel = policy.ask(4)
        assert not duel.is_self_duel
        policy.tell(duel, voted(ORDERED, duel, rng.random()))
        if layer == 1:
            repeated += 1
            assert policy.snapshot()["counts"]["reals"] == tallies
    assert 100 < repeated < 400
