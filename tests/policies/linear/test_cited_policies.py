"""The policies that people look for by name: what their papers promise, on the engine, against computations of this file."""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

import duelist as dl
from duelist.testing.policies import draw_arms, draw_outcome


def taught(policy, arms, rounds, seed):
    """A policy that has asked and learned on a fixed table; the truth is a random direction."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=arms.shape[1])
    for _ in range(rounds):
        duel = policy.ask(arms)
        gap = (arms[duel.first] - arms[duel.second]) @ theta
        policy.tell(duel, float(rng.random() < expit(gap)))
    return policy


def widths(arms, matrix):
    gaps = arms[:, None] - arms[None]
    return np.sqrt(np.maximum(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(matrix), gaps), 0.0))


# -- MaxMinLCB ---------------------------------------------------------------------------


def test_the_leader_of_max_min_lcb_loses_to_the_best_arm_little_more_often_than_half():
    """If |theta_hat - theta*|_Sigma <= beta, then with w = L_mu beta |x - y|

        P(best beats x) - 1/2 <= 1/2 - LCB(x, best) <= 1/2 - LCB(x, y) <= 2 w,    |P(x beats y) - 1/2| <= 2 w:

    the best arm is plausible, y is the worst case of x, and both are plausible. (Section 5 of the paper.)
    """
    rng, ratios = np.random.default_rng(0), []
    for case in range(200):
        dim, n = int(rng.integers(1, 5)), int(rng.integers(2, 12))
        radius, arms = float(np.exp(rng.uniform(-1.0, 1.5))), rng.normal(size=(n, dim))
        policy = taught(dl.MaxMinLCB(radius=radius, ridge=0.5), arms, int(rng.integers(1, 40)), case)
        x, y = policy.ask(arms, distinct=False)
        root = np.linalg.inv(np.linalg.cholesky(policy.precision_).T)
        direction = rng.normal(size=dim)
        truth = policy.theta_ + radius * rng.random() ** 0.2 * root @ direction / np.linalg.norm(direction)
        utility = arms @ truth
        w = 0.25 * radius * widths(arms, policy.precision_)[x, y]
        assert expit(utility.max() - utility[x]) - 0.5 <= 2.0 * w + 1e-9
        assert abs(expit(utility[x] - utility[y]) - 0.5) <= 2.0 * w + 1e-9
        if x != y:
            ratios.append((expit(utility.max() - utility[x]) - 0.5) / (2.0 * w))
    assert max(ratios) > 0.3  # the bound says something


@pytest.mark.parametrize(("link", "mean", "slope"), [("logistic", expit, 0.25), ("probit", ndtr, (2 * np.pi) ** -0.5)])
def test_max_min_lcb_plays_the_game_of_its_docstring(link, mean, slope):
    for seed in range(30):
        rng = np.random.default_rng([seed, 4])
        arms, radius = rng.normal(size=(9, 3)), float(rng.uniform(0.3, 2.0))
        policy = taught(dl.MaxMinLCB(radius=radius, link=link), arms, 15, seed)
        u, reach = arms @ policy.theta_, slope * radius * widths(arms, policy.precision_)
        lower = mean(u[:, None] - u) - reach
        plausible = [i for i in range(9) if all(1.0 - lower[j, i] >= 0.5 for j in range(9))]
        game = lower[np.ix_(plausible, plausible)]
        leader = int(np.argmax(game.min(axis=1)))
        follower = int(np.argmin(game[leader]))
        assert tuple(policy.ask(arms, distinct=False)) == (plausible[leader], plausible[follower])


def test_one_plausible_arm_meets_itself_and_distinct_finds_who_may_beat_it():
    arms = np.array([[1.0, 0.0], [0.0, 0.1], [-1.0, 0.0]])
    policy = dl.MaxMinLCB(radius=0.2)
    policy.initialize(arms)
    for _ in range(400):
        for other in (1, 2):
            policy.learn(arms[0] - arms[other], 1.0)
    assert tuple(policy.ask(arms, distinct=False)) == (0, 0)
    # Nobody else is plausible: the leader meets the arm against which least is sure, here the one that is farther away.
    gaps, reach = arms @ policy.theta_, 0.25 * 0.2 * widths(arms, policy.precision_)[0]
    lower = expit(gaps[0] - gaps[1:]) - reach[1:]
    assert lower[1] < lower[0]
    assert tuple(policy.ask(arms)) == (0, 2)


# -- DRTS, DeltaUCB, InfoMax -------------------------------------------------------------


def bounds(policy, arms):
    off = arms - arms.mean(axis=0)
    return arms @ policy.theta_, policy.scale * np.sqrt(
        np.einsum("ij,jk,ik->i", off, np.linalg.inv(policy.curvature_), off)
    )


def test_drts_draws_its_arms_with_the_chances_of_its_rule():
    arms = np.array([[1.0, 0.2], [0.4, -0.3], [-0.5, 0.6], [0.1, 1.0]])
    policy = taught(dl.DRTS(scale=1.5, random_state=3), arms, 12, 0)
    u, s = bounds(policy, arms)
    played = np.array([tuple(policy.suggest(arms, seed=seed))[:2] for seed in range(4000)])
    rng = np.random.default_rng(8)
    many = 400_000
    first = np.argmax(u + s * rng.uniform(-1.0, 1.0, (many, 4)), axis=1)
    second = np.argmax(-u + s * rng.uniform(-1.0, 1.0, (many, 4)), axis=1)  # until it differs from the first
    pairs = first != second
    for i in range(4):
        for j in range(4):
            if i == j:
                assert not ((played == i).all(axis=1)).any()
                continue
            # the first is drawn once, the second until it is another
            given = second[pairs & (first == i)]
            chance = (first == i).mean() * (given == j).mean() if len(given) else 0.0
            seen = (played == (i, j)).all(axis=1).mean()
            assert (
                abs(seen - chance)
                <= 6.0 * math.sqrt(chance * (1.0 - chance) * (1 / 4000 + 1 / max(len(given), 1))) + 1e-9
            )


def test_drts_gives_up_after_thirty_draws():
    arms = np.zeros((4, 2))
    policy = dl.DRTS(random_state=0)
    seconds = {policy.suggest(arms, seed=seed).second for seed in range(60)}
    assert seconds == {1, 2, 3}  # all arms are equal: the first wins every draw, and meets any other


def test_delta_ucb_takes_the_largest_gap_that_bounds_allow():
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        arms = rng.normal(size=(8, 3))
        policy = taught(dl.DeltaUCB(scale=float(rng.uniform(0.2, 3.0))), arms[:5], 16, seed)
        u, s = bounds(policy, arms)
        gaps = (u + s)[:, None] - (u - s)
        np.fill_diagonal(gaps, -np.inf)
        assert policy.suggest(arms)[:2] == np.unravel_index(np.argmax(gaps), gaps.shape)
        out = [(int(i), int(j)) for i, j in rng.integers(8, size=(12, 2)) if i != j]
        for i, j in out:
            gaps[i, j] = gaps[j, i] = -np.inf
        assert policy.suggest(arms, exclude=out)[:2] == np.unravel_index(np.argmax(gaps), gaps.shape)


def test_info_max_takes_the_pair_whose_chance_is_bounded_least():
    for seed in range(40):
        rng = np.random.default_rng([seed, 6])
        arms = rng.normal(size=(8, 3))
        policy = taught(dl.InfoMax(scale=float(rng.uniform(0.2, 3.0))), arms[:5], 16, seed)
        u, s = bounds(policy, arms)
        room = expit((u + s)[:, None] - (u - s)) - expit((u - s)[:, None] - (u + s))
        np.fill_diagonal(room, -np.inf)
        assert set(policy.ask(arms)) == set(np.unravel_index(np.argmax(room), room.shape))


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", ["DRTS", "DeltaUCB", "InfoMax"])
def test_rules_that_look_at_single_arms_leave_pairs_out_that_are_out(name, estimator):
    """Twelve arms in raw units have 66 pairs: all are asked before one is asked again, and told ones may be asked at once."""
    arms = np.random.default_rng(0).normal(size=(12, 3)) * [100.0, 1.0, 0.1]
    policy = taught(dl.make_policy(name, estimator=estimator, random_state=1), arms, 30, 1)
    duels = [policy.ask(arms) for _ in range(66)]
    assert len({frozenset(duel) for duel in duels}) == 66
    assert policy.ask(arms) is not None  # all are out: any again
    told = frozenset(duels[3])
    policy.tell(duels[3], 1.0)
    assert frozenset(policy.ask(arms)) == told
    pair = policy.ask(arms[:2])
    assert {*pair} == {0, 1}


def test_of_arms_that_are_the_same_all_pairs_count_as_one():
    """Whoever has the features of an arm that is out is out, too; and so is a pair with the same difference."""
    arms = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 0.0], [1.0, 1.0]])
    policy = dl.InfoMax(random_state=0)
    policy.initialize(arms)
    pending = [(arms[1] - arms[0], 0, 1.0), (arms[3] - arms[0], 0, 1.0)]
    seen = set()
    for _ in range(2):
        choice = policy.suggest(arms, pending)
        seen.add(frozenset((choice.first, choice.second)))
        pending.append((arms[choice.first] - arms[choice.second], choice.layer, choice.share))
    assert not seen & {frozenset((0, 1)), frozenset((0, 2)), frozenset((0, 3))}


def test_thousands_of_arms_on_few_levels_are_decided_as_if_no_pair_was_out_where_too_many_are():
    """Two levels of 1,500 arms each: more than 2^20 pairs are of arms that are the same, and listing them took seconds a decision."""
    arms, alike = np.repeat([[0.0], [1.0]], 1500, axis=0), [(np.zeros(1), 0, 1.0)] * 40
    policy = dl.InfoMax(random_state=0)
    policy.initialize(arms)
    choice = policy.suggest(arms)
    assert arms[choice.first] == arms[choice.second]
    assert policy.suggest(arms, alike) == choice  # a duel of two that are the same teaches nothing
    few = arms[1490:1510]
    assert few[(usual := policy.suggest(few)).first] == few[usual.second]
    other = policy.suggest(few, alike)  # 90 pairs are the same, and 100 are not
    assert few[other.first] != few[other.second]
    both = [*alike, (np.ones(1), 0, 1.0), (-np.ones(1), 0, 1.0)]
    assert policy.suggest(few, both) is not None  # all are out: any again


# -- designs -----------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["D", "A"])
def test_design_pair_does_most_for_its_criterion(criterion):
    """log det H, and the variances of the utilities, made anew with every pair in turn."""
    for seed in range(25):
        rng = np.random.default_rng([seed, 7])
        arms = rng.normal(size=(7, 3)) * [1.0, 100.0, 0.01]
        policy = taught(dl.DesignPair(criterion=criterion), arms, 12, seed)
        h, off, values = policy.curvature_, arms - arms.mean(axis=0), {}
        for i in range(7):
            for j in range(i + 1, 7):
                z, p = arms[i] - arms[j], expit((arms[i] - arms[j]) @ policy.theta_)
                after = h + p * (1.0 - p) * np.outer(z, z)
                values[i, j] = (
                    np.linalg.slogdet(after)[1] if criterion == "D" else -np.trace(off @ np.linalg.solve(after, off.T))
                )
        chosen = values[tuple(sorted(policy.ask(arms)))]
        assert chosen >= max(values.values()) - 1e-9 * abs(chosen)


def test_a_design_of_abilities_is_the_trace_of_their_covariance():
    """With a feature for each arm, as in an arena: minus the trace of the covariance of abilities about their mean."""
    policy, arms, rng = dl.DesignPair(criterion="A", ridge=1.0), np.eye(5), np.random.default_rng(2)
    centre = np.eye(5) - 0.2
    for _ in range(40):
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < 0.7))
        traces = {}
        for i in range(5):
            for j in range(i + 1, 5):
                p = expit(policy.theta_[i] - policy.theta_[j])
                after = policy.curvature_ + p * (1.0 - p) * np.outer(arms[i] - arms[j], arms[i] - arms[j])
                traces[i, j] = np.trace(centre @ np.linalg.inv(after) @ centre)
        choice = policy.suggest(arms)
        assert traces[min(choice[:2]), max(choice[:2])] <= min(traces.values()) + 1e-12


def test_a_d_optimal_design_covers_all_directions():
    """Greedy D-optimal design: the smallest eigenvalue of H grows with the votes, as that of random pairs does."""
    arms, least = np.random.default_rng(3).normal(size=(20, 4)), {}
    for name, policy in {"design": dl.DesignPair(), "delta": dl.DeltaUCB()}.items():
        least[name] = np.linalg.eigvalsh(taught(policy, arms, 120, 1).curvature_).min()
    assert least["design"] > 4.0 * least["delta"]  # which asks one pair for ever


def test_apo_asks_in_the_context_that_is_known_least():
    """ask_batch(k=1) is the paper's argmax over prompts and pairs."""
    rng = np.random.default_rng(9)
    prompts = rng.normal(size=(40, 4, 3))
    policy = taught(dl.APO(), prompts[0], 6, 2)
    by_hand = max(
        (widths(arms, policy.precision_)[i, j], c, (i, j))
        for c, arms in enumerate(prompts)
        for i in range(4)
        for j in range(i + 1, 4)
    )
    ((context, duel),) = policy.ask_batch(prompts, k=1)
    assert (context, tuple(sorted(duel))) == by_hand[1:]


def test_apo_forgets_no_direction():
    """The widest pair is the most uncertain one: after n votes no pair is wider than the bound of the elliptical potential."""
    shown = draw_arms(150, least=4)
    policy, total = dl.APO(ridge=1.0), 0.0
    for arms in shown:
        duel = policy.ask(arms)
        widest = widths(arms, policy.precision_).max()
        assert widths(arms, policy.precision_)[duel.first, duel.second] == pytest.approx(widest, rel=1e-9)
        total += min(1.0, widest**2)
        policy.tell(duel, draw_outcome(arms, duel, 0.8))
    assert total <= 2.0 * np.linalg.slogdet(policy.precision_)[1]  # sum min(1, w^2) <= 2 log det Sigma / det I


@pytest.mark.parametrize(
    ("policy", "settings", "said"),
    [
        (dl.DesignPair, {"criterion": "E"}, "criterion is 'E'. Choose one of D, A"),
        (dl.DeltaUCB, {"scale": 0.0}, "scale is 0.0"),
        (dl.InfoMax, {"scale": -1}, "scale is -1"),
        (dl.DRTS, {"scale": math.nan}, "scale is nan"),
    ],
)
def test_settings_that_make_no_sense(policy, settings, said):
    with pytest.raises(dl.InvalidInput, match=said):
        policy(**settings)
