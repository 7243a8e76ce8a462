"""Do the features explain the votes? The score test against its distribution, and arm effects where they do not."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

import duelist as dl
from duelist.model.misfit import (
    MAX_TESTED_ARMS,
    PairCounts,
    PairVotes,
    VotesUnavailable,
    fit_effect_sizes,
    match_votes,
    misfit_p_value,
)
from duelist.model.stopping import LinearPosterior
from duelist.native import MAX_COUNTED_PAIRS
from duelist.policies.engine.snapshots import checksum, decode, encode
from tests.helpers.votes import told

N_ARMS, DIM, VOTES = 12, 3, 1500


def tally(arms, pairs, mass, wins):
    """Votes on pairs by position, as a policy counts them."""
    one, other = np.asarray(pairs).T
    turned, mass, wins = one > other, np.asarray(mass, float), np.asarray(wins, float)
    return PairCounts(
        arms, np.where(turned, other, one), np.where(turned, one, other), mass, np.where(turned, mass - wins, wins)
    )


def tallied(rng, effect, arms=None):
    """Votes on random pairs, with theta fitted."""
    arms = rng.standard_normal((N_ARMS, DIM)) if arms is None else arms
    theta = rng.standard_normal(DIM)
    utilities = arms @ theta / np.linalg.norm(theta) + effect * rng.standard_normal(len(arms))
    first = rng.integers(len(arms), size=VOTES)
    second = (first + rng.integers(1, len(arms), size=VOTES)) % len(arms)
    won = (rng.random(VOTES) < special.expit(utilities[first] - utilities[second])).astype(float)
    z = arms[first] - arms[second]
    theta = dl.fit_mle(z, won, ridge=0.01).theta
    slope = special.expit(z @ theta) * special.expit(-z @ theta)
    known = LinearPosterior(theta, 0.01 * np.eye(DIM) + (z * slope[:, None]).T @ z, 0.01, VOTES)
    return arms, tally(arms, np.column_stack([first, second]), np.ones(VOTES), won), known, utilities


def test_the_p_value_is_uniform_where_features_explain_everything():
    found = []
    for seed in range(200):
        arms, votes, known, _ = tallied(np.random.default_rng(seed), 0.0)
        found.append(misfit_p_value(arms, match_votes(arms, votes), known, "logistic"))
    assert stats.kstest(found, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_effects_are_noticed(seed):
    arms, votes, known, _ = tallied(np.random.default_rng(seed), 0.5)
    assert misfit_p_value(arms, match_votes(arms, votes), known, "logistic") < 1e-3


def test_votes_are_found_whoever_was_named_first():
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((4, 2))
    given = tally(arms, [(0, 1), (1, 0), (3, 2)], [3.0, 2.0, 1.0], [1.0, 2.0, 0.0])
    votes: Any = match_votes(arms, given)
    wins = [
        {pair: won, pair[::-1]: mass - won}
        for pair, mass, won in zip(
            zip(votes.first.tolist(), votes.second.tolist(), strict=True), votes.mass, votes.wins, strict=True
        )
    ]
    assert [won.get(pair) for won, pair in zip(wins, [(0, 1), (0, 1), (2, 3)], strict=True)] == [1.0, 0.0, 1.0]
    assert match_votes(arms[:3], given) == VotesUnavailable("some votes are on arms that were not given")
    many = rng.standard_normal((MAX_TESTED_ARMS + 1, 2))
    assert match_votes(many, tally(many, [(0, 1)], [1.0], [1.0])) == VotesUnavailable("there are more than 300 arms")


def test_terms_of_their_own_are_the_penalised_estimate():
    arms, given, known, utilities = tallied(np.random.default_rng(3), 0.7)
    votes: Any = match_votes(arms, given)
    models = fit_effect_sizes(arms, votes, known, "logistic")
    likeliest = max(models, key=lambda model: model.log_weight)
    own, found = likeliest.arms, likeliest.posterior
    assert own.shape == (N_ARMS, DIM + N_ARMS)
    assert models[0].arms is arms
    rows = own[votes.first] - own[votes.second]

    def loss(theta):
        v = rows @ theta
        return 0.5 * found.ridge @ theta**2 + np.logaddexp(0.0, v).sum() - votes.wins @ v

    def slope(theta):
        return found.ridge * theta + rows.T @ (special.expit(rows @ theta) - votes.wins)

    other = optimize.minimize(loss, np.zeros(len(found.theta)), jac=slope, tol=1e-12).x
    np.testing.assert_allclose(found.theta, other, atol=2e-4)
    fitted = own @ found.theta
    linear = arms @ known.theta

    def error(u):
        return np.square((u - u.mean()) - (utilities - utilities.mean())).mean()

    assert error(fitted) < 0.5 * error(linear)


def test_a_policy_says_that_features_do_not_explain_the_votes():
    rng = np.random.default_rng(1)
    arms = rng.standard_normal((10, 2))
    utilities = arms @ [1.0, 0.5] + rng.standard_normal(10)
    policy = dl.UniformPair(random_state=0)
    for _ in range(2000):
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < special.expit(utilities[duel.first] - utilities[duel.second])))
    found = policy.recommend(arms)
    assert "the features do not explain the votes" in found.advice
    assert found.best == int(utilities.argmax())
    assert "features" not in policy.recommend(arms, effects=False).advice


# -- votes by pair of arms ---------------------------------------------------------------


def online(name="UniformPair", **settings):
    return getattr(dl, name)(random_state=0, estimator="online", **settings)


def learned(name, estimator, pairs, arms):
    policy = getattr(dl, name)(random_state=0, estimator=estimator)
    policy.initialize(arms)
    for pair, outcome, weight in pairs:
        policy.learn(arms[pair], outcome, weight, layer=0)
    return policy


def some_votes(n_arms, count, seed=2):
    """In both orders, with ties and weights."""
    rng = np.random.default_rng(seed)
    return [
        (rng.choice(n_arms, 2, replace=False), rng.choice([0.0, 0.3, 0.5, 1.0]), rng.choice([0.5, 1.0, 3.0]))
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", ["UniformPair", "BestArmPair", "LocalPairUCB", "MaxPairUCB"])
def test_one_pass_counts_the_votes_that_the_exact_estimator_counts(name):
    """So where arms have effects of their own both say the same, up to rounding."""
    arms = np.random.default_rng(2).standard_normal((9, 3))
    exact, online = (learned(name, estimator, some_votes(9, 400), arms) for estimator in ("exact", "online"))
    assert exact.snapshot()["pair_counts"] == online.snapshot()["pair_counts"]
    one, other = (policy.recommend(arms, effects=True) for policy in (exact, online))
    assert one.best == other.best
    assert one.candidates == other.candidates
    np.testing.assert_allclose(one.interval, other.interval, rtol=1e-5)


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_the_counts_are_what_was_told(estimator):
    """Ask, ask in batches, and learn; the policy gives the arms ids."""
    rng = np.random.default_rng(3)
    arms, expected = rng.integers(0, 3, size=(7, 3)).astype(float), {}
    arms = np.unique(arms, axis=0)
    policy = dl.UniformPair(random_state=0, estimator=estimator)

    def count(i, j, outcome, weight):
        low, high = sorted((i, j))
        won = weight * (outcome if i == low else 1.0 - outcome)
        mass, wins = expected.get((low, high), (0.0, 0.0))
        expected[low, high] = (mass + weight, wins + won)

    for outcome in rng.choice([0.0, 0.5, 1.0], 60):
        duel = policy.ask(-0.0 * arms + arms)
        policy.tell(duel, outcome)
        count(duel.first, duel.second, outcome, 1.0)
        for _, duel in policy.ask_batch([arms, arms[::-1]]):
            policy.forget(duel)
        i, j = rng.choice(len(arms), 2, replace=False)
        policy.learn(arms[[i, j]], outcome, 2.0)
        count(i, j, outcome, 2.0)
    found = {name: decode(entry) for name, entry in policy.snapshot()["pair_counts"].items()}
    votes: Any = match_votes(arms, PairCounts(**found))
    counted = {}
    for i, j, mass, wins in zip(votes.first.tolist(), votes.second.tolist(), votes.mass, votes.wins, strict=True):
        counted[min(i, j), max(i, j)] = (mass, wins if i < j else mass - wins)
    assert counted == expected


def test_one_pass_notices_that_features_do_not_explain_the_votes():
    rng = np.random.default_rng(1)
    arms = rng.standard_normal((10, 2))
    utilities = arms @ [1.0, 0.5] + rng.standard_normal(10)
    found = told(online(), arms, utilities, 2000).recommend(arms)
    assert "the features do not explain the votes" in found.advice
    assert found.best == int(utilities.argmax())


def test_what_one_pass_counts_comes_back_with_a_snapshot():
    arms = np.random.default_rng(0).standard_normal((10, 2))
    policy = told(online("BestArmPair"), arms, arms @ [2.0, 1.0], 200)
    copy: Any = dl.restore_policy(json.loads(json.dumps(policy.snapshot())))
    assert copy.recommend(arms) == policy.recommend(arms)
    assert copy.snapshot() == policy.snapshot()


def test_more_pairs_than_are_counted_are_dropped_for_good():
    rng = np.random.default_rng(3)
    arms = rng.standard_normal((70, 2))
    policy = online()
    policy.initialize(arms)
    for k, (i, j) in enumerate(itertools.combinations(range(70), 2)):
        assert (policy.snapshot()["pair_counts"] is not None) == (k <= MAX_COUNTED_PAIRS)
        policy.learn(arms[[i, j]], float(arms[i, 0] > arms[j, 0]))
        if k > MAX_COUNTED_PAIRS + 1:
            break
    with pytest.raises(dl.InvalidInput, match="too many pairs"):
        policy.recommend(arms, effects=True)
    assert "2,048 pairs" in policy.recommend(arms, tolerance=3.0).advice


def test_votes_that_were_learned_as_differences_are_nobodys():
    arms = np.random.default_rng(0).standard_normal((10, 2))
    policy = told(dl.BestArmPair(random_state=0), arms, arms @ [2.0, 1.0], 300)
    assert "was not tested" not in policy.recommend(arms).advice
    policy.learn(arms[0] - arms[1], 0.5)
    assert "learned as differences" in policy.recommend(arms).advice


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize(("n_arms", "warned"), [(4, True), (3, False)])
def test_an_announcement_among_some_of_the_arms_says_what_nobody_tested(estimator, n_arms, warned):
    # Three arms in a plane can have any utilities at all, up to a constant: features always explain those.
    arms = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.1], [1.3, 1.2], [2.0, 5.0]])
    policy = told(dl.UniformPair(random_state=0, estimator=estimator), arms, arms @ [3.0, 1.0], 1500)
    found = policy.recommend(arms[:n_arms])
    assert found.decided
    assert ("was not tested" in found.advice) == warned
    assert "tested" not in policy.recommend(arms[:n_arms], effects=False).advice
    assert "tested" not in policy.recommend(arms).advice
    with pytest.raises(dl.InvalidInput, match="some votes are on arms that were not given"):
        policy.recommend(arms[:n_arms], effects=True)


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_pairs_with_the_same_difference_are_told_apart(estimator):
    """Of the corners of a square, a difference alone does not say which of two sides a vote was on."""
    arms = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    policy = told(dl.UniformPair(random_state=0, estimator=estimator), arms, np.array([0.0, 2.0, 2.5, 1.0]), 1000)
    found = policy.recommend(arms)
    assert "the features do not explain the votes" in found.advice
    assert found.best == 2


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_a_grid_with_effects_is_announced_wrong_no_more_often_than_was_said(estimator):
    """Two features of three levels each, as in a conjoint study: most pairs have the difference of another."""
    arms, wrong, runs = np.array(list(itertools.product(range(3), repeat=2)), float), 0, 60
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        utilities = arms @ rng.standard_normal(2) + rng.standard_normal(9)
        policy = dl.UniformPair(random_state=seed, estimator=estimator)
        for _ in range(30):
            told(policy, arms, utilities, 20, seed=int(rng.integers(2**31)))
            if (best := policy.decided_arm(arms, 0.1)) is not None:
                wrong += bool(utilities[best] < utilities.max())
                break
    assert wrong <= stats.binom.ppf(1.0 - 1e-6, runs, 0.1)


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_arms_that_are_the_same_or_were_never_asked_about_change_no_test(estimator):
    rng = np.random.default_rng(4)
    arms = rng.standard_normal((8, 3))
    policy = told(
        dl.UniformPair(random_state=0, estimator=estimator), arms, arms @ [1.0, 2.0, 0.5] + rng.standard_normal(8), 300
    )
    others = {
        "twice": np.vstack([arms, arms[:2]]),
        "never asked": np.vstack([arms, rng.standard_normal((4, 3))]),
        "another order": arms[::-1],
    }
    odd = policy.recommend(arms).advice
    assert "do not explain" in odd
    for shown in others.values():
        assert policy.recommend(shown).advice.split(";")[0] == odd.split(";")[0]


def test_as_few_arms_as_features_are_always_explained_whoever_else_is_given():
    """Three arms in a plane can have any utilities at all; of others given with them there are no votes."""
    arms, rng = np.array([[0.0, 0.0], [1.0, 0.1], [0.2, 1.0]]), np.random.default_rng(5)
    shown = np.vstack([arms, arms[1], rng.standard_normal((2, 2))])
    for seed in range(10):
        policy = told(dl.UniformPair(random_state=seed), arms, arms @ [4.0, 2.0], 400, seed)
        assert "do not explain" not in policy.recommend(shown).advice


DAMAGE = {
    "more wins than votes": lambda t: {**t, "wins": 50.0 * t["mass"]},
    "has no votes": lambda t: {**t, "mass": 0.0 * t["mass"], "wins": 0.0 * t["mass"]},
    "Array 'mass' contains": lambda t: {**t, "mass": -t["mass"]},
    "Pair counts consist of": lambda t: {**t, "x": t["mass"]},
    "twice": lambda t: {**t, "first": np.full_like(t["first"], 3), "second": np.full_like(t["second"], 4)},
    "has invalid arms": lambda t: {**t, "first": t["second"], "second": t["first"]},
    "invalid arms": lambda t: {**t, "second": t["second"] + 100},
    "counted arm is there twice": lambda t: {**t, "arms": 0.0 * t["arms"]},
    "Array 'arms' has": lambda t: {**t, "arms": t["arms"][:, :1]},
    "wrong shape": lambda t: {**t, "wins": t["wins"][1:]},
}


@pytest.mark.parametrize("reason", DAMAGE)
def test_damaged_counts_are_refused(reason):
    arms = np.random.default_rng(0).standard_normal((10, 2))
    snapshot = told(online(), arms, arms @ [2.0, 1.0], 60).snapshot()
    tally = {name: decode(entry) for name, entry in snapshot["pair_counts"].items()}
    damaged = {name: encode(array) for name, array in DAMAGE[reason](tally).items()}
    body = {name: value for name, value in snapshot.items() if name != "checksum"} | {"pair_counts": damaged}
    with pytest.raises(dl.InvalidSnapshot, match=reason):
        dl.restore_policy({**body, "checksum": checksum(body)})


def test_any_weight_comes_back_with_a_snapshot():
    arms = np.random.default_rng(0).standard_normal((4, 2))
    policy = online()
    policy.initialize(arms)
    for weight, share in ((5e-324, 1.0), (1e-200, 1e-200), (1e15, 1.0), (1.0, 40.0)):
        policy.learn(arms[:2], 1.0, weight, layer=0, share=share)
        copy: Any = dl.restore_policy(json.loads(json.dumps(policy.snapshot())))
        assert copy.snapshot() == policy.snapshot()


# -- going on with arm effects -----------------------------------------------------


def test_a_verdict_that_waits_for_arms_that_nobody_asks_about_goes_on_with_the_votes():
    """Six easy arms: at random features seem not to explain the votes, and the policy, which believes in them, asks about two pairs."""
    arms = np.array([[1989, 1.8], [2003, 3.1], [2018, 1.8], [2007, 2.1], [2016, 4.0], [2001, 3.2]])
    utilities, changed = arms @ [0.05, 0.6], 0
    for seed in range(25):
        policy = told(dl.BestArmPair(random_state=seed), arms, utilities, 100, seed)
        found = policy.recommend(arms)
        if found.decided:
            continue
        if "policy.with_arm_effects(arms)" not in found.advice:
            assert "keep asking" in found.advice
            continue
        policy, table, changed = policy.with_arm_effects(arms), dl.ArmTable(6, arms), changed + 1
        policy = told(policy, table, utilities, 400, seed + 100)
        assert policy.decided_arm(table) == 4
        break
    assert changed > 0


def test_with_arm_effects_the_votes_are_those_that_were_told():
    arms = np.random.default_rng(0).normal(size=(4, 2))
    policy = told(dl.LocalPairUCB(random_state=0), arms, arms @ [2.0, 0.0], 40)
    again, table = policy.with_arm_effects(arms), dl.ArmTable(4, arms)
    directly = dl.LocalPairUCB(random_state=0, estimator="online")
    directly.initialize(table)
    votes: Any = match_votes(arms, PairCounts(**policy._player.pair_counts()))
    for first, second, mass, wins in zip(votes.first, votes.second, votes.mass, votes.wins, strict=True):
        directly.learn(table[[first, second]], wins / mass, mass)
    np.testing.assert_array_equal(again.posterior(table).utilities, directly.posterior(table).utilities)
    assert votes.mass.sum() == 40.0
    with pytest.raises(dl.InvalidInput, match="arms that were not given"):
        policy.with_arm_effects(arms[:2])
    with pytest.raises(dl.InvalidInput, match="cannot learn arm effects"):
        told(dl.VACDB(horizon=100, random_state=0), arms, arms @ [2.0, 0.0], 5).with_arm_effects(arms)


def test_with_arm_effects_of_other_beginnings():
    """A ridge is in the units of features there, and the precision of arm effects here; a table of arms will do; no votes are no error."""
    arms = np.random.default_rng(0).normal(size=(6, 3))
    policy = told(dl.BestArmPair(random_state=0, ridge=1e-6), 1e3 * arms, arms @ [1.0, 0.0, 0.0], 60)
    table = dl.ArmTable(6, 1e3 * arms)
    low, high = policy.with_arm_effects(table).recommend(table).interval
    assert high - low < 10.0
    new = dl.BestArmPair(random_state=0)
    new.initialize(arms)
    assert new.with_arm_effects(arms).recommend(dl.ArmTable(6, arms)).candidates == tuple(range(6))


# -- features alone never decide ---------------------------------------------------------

PRICES = np.arange(1.0, 10.0)[:, None]


def test_features_alone_never_decide_where_the_ideal_is_in_the_middle():
    """Of 100 runs with features alone, 37 decided within 300 votes, all of them wrong."""
    utilities, alone, confirmed = -0.25 * (PRICES[:, 0] - 6.0) ** 2, 0, []
    for seed in range(4):
        policy = dl.BestArmPair(random_state=seed)
        for votes in range(16):
            told(policy, PRICES, utilities, 8, 100 * seed + votes)
            if alone == seed and policy.decided_arm(PRICES, 0.1, effects=False) is not None:
                alone += 1
            confirmed.append(policy.decided_arm(PRICES, 0.1))
    assert alone > 0
    assert set(confirmed) <= {None, 5}


def test_votes_on_the_arms_confirm_what_features_say():
    """`BestArmPair` asks about arms that features alone had ruled out, and decides."""
    utilities = PRICES[:, 0] - 5.0
    policy = told(dl.BestArmPair(random_state=0), PRICES, utilities, 20)
    by_features = policy.recommend(PRICES, 0.1, effects=False)
    assert by_features.decided
    found = policy.recommend(PRICES, 0.1)
    assert not found.decided
    assert "votes on the arms themselves do not yet: keep asking" in found.advice
    told(policy, PRICES, utilities, 200)
    found = policy.recommend(PRICES, 0.1)
    assert (found.best, found.decided) == (8, True)
    assert policy.decided_arm(PRICES, 0.1) == 8


def test_arms_that_features_cannot_misrepresent_are_decided_by_features():
    """Three arms in a plane can have any utilities; the decision is that of features alone."""
    arms = np.array([[0.0, 0.0], [1.0, 0.1], [0.2, 1.0]])
    policy = told(dl.UniformPair(random_state=0), arms, arms @ [4.0, 2.0], 60)
    assert policy.recommend(arms) == policy.recommend(arms, effects=False)


def test_the_evidence_of_effect_sizes_is_that_of_the_votes():
    """Against numerical integration over a feature and two effects."""
    arms, shares = np.array([[0.0], [1.0]]), {0.5: 0.25, 2.0: 0.75}
    one = np.array([0]), np.array([1]), np.array([3.0]), np.array([1.0])
    known = LinearPosterior(np.zeros(1), np.eye(1), np.array([1.0]), 3.0)
    models = fit_effect_sizes(arms, PairVotes(*one), known, "logistic", shares)
    gaps, step = np.linspace(-40.0, 40.0, 20_001, retstep=True)
    for model, (size, share) in zip(models, shares.items(), strict=True):
        density = stats.norm.pdf(gaps, scale=np.sqrt(1.0 + 2.0 * size**2))
        exact = np.log((density * special.expit(gaps) * special.expit(-gaps) ** 2).sum() * step)
        assert model.log_weight - np.log(share) == pytest.approx(exact, abs=0.15)  # Laplace


def test_a_pair_that_confirms_respects_what_is_excluded_and_pending():
    policy = told(dl.BestArmPair(random_state=0), PRICES, PRICES[:, 0] - 5.0, 20)
    asked = [policy.ask(PRICES) for _ in range(6)]
    assert len({frozenset(duel) for duel in asked}) > 1
    first = asked[0]
    duel = policy.ask(PRICES, exclude=[tuple(first)])
    assert frozenset(duel) != frozenset(first)
    copy: Any = dl.restore_policy(json.loads(json.dumps(policy.snapshot())))
    assert tuple(copy.ask(PRICES)) == tuple(policy.ask(PRICES))
