"""What another policy would have found, from random duels: estimates whose intervals hold the truth as often as they say."""

import os
import sys

import numpy as np
import pytest

import duelist as dl
from duelist.study.analysis.off_policy import off_policy, replay
from tests.helpers.random_logs import World

LOGS = int(os.environ.get("DUELIST_LOGS", "60"))
"""`make off-policy` looks at 1,000."""
LEVEL = 0.9
WORLD = World()
TARGET = {("arm 0", "arm 1"): 0.5, ("arm 3", "arm 0"): 0.3, ("arm 4", "arm 5"): 0.2}


def within(covered: int, level: float = LEVEL) -> bool:
    """Four standard deviations of how often intervals of that level hold: 1 in 16,000 by chance."""
    return abs(covered / LOGS - level) <= 4.0 * np.sqrt(level * (1.0 - level) / LOGS)


def say(held: str) -> None:
    sys.stdout.write(f"{LEVEL:.0%} intervals held the truth in {LOGS} logs: {held}\n")


def wins(matrix):
    return sum(chance * matrix[int(i[-1]), int(j[-1])] for (i, j), chance in TARGET.items())


def strength(matrix):
    n = len(matrix)
    shown = np.zeros(n)
    for (i, j), chance in TARGET.items():
        shown[int(i[-1])] += chance / 2
        shown[int(j[-1])] += chance / 2
    against_others = (matrix.sum(axis=1) - 0.5) / (n - 1)
    return float(shown @ against_others)


@pytest.mark.parametrize(("measure", "truth"), [("wins", wins(WORLD.matrix())), ("strength", strength(WORLD.matrix()))])
def test_intervals_hold_the_truth_as_often_as_they_say(measure, truth):
    rng = np.random.default_rng(1)
    chances = rng.dirichlet(np.full(15, 8.0))  # pairs need not be equally likely, only known
    covered = {"inverse_propensity": 0, "doubly_robust": 0}
    values = {kind: [] for kind in covered}
    widths = dict.fromkeys(covered, 0.0)
    for _ in range(LOGS):
        log = WORLD.log(900, rng, share=0.2, chances=chances)
        found = off_policy(
            log, WORLD.arms, WORLD.features, TARGET, random_share=0.2, measure=measure, level=LEVEL, folds=2
        )
        for kind in covered:
            estimate = getattr(found, kind)
            covered[kind] += estimate.low <= truth <= estimate.high
            values[kind].append(estimate.value)
            widths[kind] += estimate.high - estimate.low
    say(f"{measure}: {', '.join(f'{kind} {count / LOGS:.1%}' for kind, count in covered.items())}")
    assert all(within(count) for count in covered.values()), covered
    for kind in covered:  # and they are right on average: within four standard errors
        assert abs(np.mean(values[kind]) - truth) < 4.0 * np.std(values[kind]) / np.sqrt(LOGS)
    assert widths["doubly_robust"] < 0.75 * widths["inverse_propensity"]


class Follower(dl.Policy):
    """Learns fast and draws: an arm in proportion to its wins so far, against a random other one."""

    def __init__(self, random_state=None):
        self.random_state = random_state
        self._wins = np.ones(6)
        self._rng = np.random.default_rng(random_state)

    def ask(self, arms):
        first = int(self._rng.choice(6, p=self._wins / self._wins.sum()))
        return dl.Duel(first, int((first + 1 + self._rng.integers(5)) % 6), 0)

    def suggest(self, arms, pending=(), *, seed=None, rounds=None, distinct=True, exclude=()):
        rng = np.random.default_rng((self.random_state, seed))
        first = int(rng.choice(6, p=self._wins / self._wins.sum()))
        return dl.policies.base.Choice(first, int((first + 1 + rng.integers(5)) % 6))

    def learn(self, seen, outcome, weight=1.0, *, layer=None, share=1.0):
        winner = seen[0] if outcome > 0.5 else seen[1]
        self._wins[int(np.flatnonzero((WORLD.features == winner).all(axis=1))[0])] += 2.0

    def tell(self, duel, outcome, weight=1.0):
        pass


def online(rounds, rng):
    """The same policy in the world itself: what share of its duels the first arm of the pair wins."""
    wins, found = np.ones(6), 0.0
    for _ in range(rounds):
        first = int(rng.choice(6, p=wins / wins.sum()))
        second = int((first + 1 + rng.integers(5)) % 6)
        won = rng.random() < WORLD.chance(first, second)
        wins[first if won else second] += 2.0
        found += won
    return found / rounds


def test_replays_hold_what_a_learning_policy_finds():
    rng = np.random.default_rng(2)
    rounds, runs = 5, 8000
    truths = [online(rounds, rng) for _ in range(runs)]
    truth = np.mean(truths)
    covered, values = 0, []
    for number in range(LOGS):
        log = WORLD.log(700, rng)
        found = replay(log, WORLD.arms, WORLD.features, Follower(), rounds=rounds, level=LEVEL, seed=1000 * number)
        covered += found.value.low <= truth <= found.value.high
        values.append(found.value.value)
    say(f"wins of a policy that learns: replay {covered / LOGS:.1%}")
    assert within(covered), covered
    error = np.hypot(np.std(values) / np.sqrt(LOGS), np.std(truths) / np.sqrt(runs))
    assert abs(np.mean(values) - truth) < 4.0 * error


def test_votes_of_one_rater_are_not_independent():
    """Few raters with tastes of their own: only intervals over raters hold."""
    world = World(leaning=1.0)
    rng = np.random.default_rng(3)
    tastes = world.utilities + rng.standard_normal((200_000, 6))
    truth = float(np.mean(1.0 / (1.0 + np.exp(tastes[:, 1] - tastes[:, 0]))))
    held = {False: 0, True: 0}
    logs = LOGS // 3
    for _ in range(logs):
        log = world.log(2000, rng, raters=25)
        for by_rater in held:
            found = off_policy(
                log, world.arms, world.features, {("arm 0", "arm 1"): 1.0}, random_share=1.0, by_rater=by_rater, folds=2
            ).doubly_robust
            held[by_rater] += found.low <= truth <= found.high
    assert held[True] > held[False]
    assert held[True] >= (0.95 - 4.0 * np.sqrt(0.95 * 0.05 / logs)) * logs


def test_what_a_policy_would_ask_is_what_it_asks():
    policy = dl.MaxPairUCB(horizon=100)
    policy.initialize(WORLD.features)
    rng = np.random.default_rng(4)
    for _ in range(60):
        duel = policy.ask(WORLD.features)
        policy.tell(duel, float(rng.random() < WORLD.chance(*duel)))
    choice = policy.suggest(WORLD.features)
    found = off_policy(WORLD.log(3000, rng), WORLD.arms, WORLD.features, policy, random_share=1.0)
    assert found.asked == ((WORLD.arms[choice.first], WORLD.arms[choice.second], 1.0),)
    assert found.inverse_propensity.low < WORLD.chance(choice.first, choice.second) < found.inverse_propensity.high
    assert f"{found.matched} of 3000 random votes" in str(found)
    assert list(found.to_pandas()["estimate"]) == ["inverse_propensity", "doubly_robust"]


def test_a_policy_that_draws_has_chances():
    found = off_policy(
        WORLD.log(500, np.random.default_rng(5)), WORLD.arms, None, dl.UniformPair(), random_share=1.0, draws=3000
    )
    assert sum(chance for _, _, chance in found.asked) == pytest.approx(1.0)
    pairs = {frozenset(pair[:2]) for pair in found.asked}
    assert len(pairs) == 15
    assert max(chance for _, _, chance in found.asked) < 0.1


def test_estimates_are_the_formulas():
    """Three votes by hand, one of them on a pair that says nothing."""
    log = WORLD.log(3, np.random.default_rng(0), share=0.5)
    log.first[:], log.second[:], log.outcome[:] = [0, 1, 2], [1, 0, 5], [0, 0, 1]
    log.propensity[:] = [0.1, 0.05, 0.2]
    found = off_policy(log, WORLD.arms, None, {("arm 0", "arm 1"): 1.0}, random_share=0.5, folds=3)
    terms = np.array([1.0 / 0.2, 0.0 / 0.1, 0.0])
    assert found.inverse_propensity.value == pytest.approx(terms.mean(), rel=1e-12)
    assert (found.matched, found.votes) == (2, 3)
    half = 4.302652729749464 * terms.std(ddof=1) / np.sqrt(3)  # Student's 97.5 % point with 2 degrees of freedom
    assert found.inverse_propensity.high - found.inverse_propensity.value == pytest.approx(half, rel=1e-9)


@pytest.fixture
def study(tmp_path):
    study = dl.create_study("s", storage=f"sqlite:///{tmp_path / 's.db'}", random_share=0.5, repeat_pairs=1)
    study.add_arms(WORLD.arms, WORLD.features)
    rng = np.random.default_rng(6)
    for _ in range(150):
        duel = study.ask(rater="ana")
        i, j = (WORLD.arms.index(arm.id) for arm in (duel.first, duel.second))
        study.tell(duel, "first" if rng.random() < WORLD.chance(i, j) else "second", rater="ana")
    yield study
    study.close()


def test_a_studys_own_log_is_enough(study):
    ids = [arm.id for arm in study.arms()]
    found = off_policy(
        study.votes(), ids, study.features(), TARGET, random_share=study.settings.random_share, measure="strength"
    )
    random = [vote for vote in study.votes() if vote.chosen_by == "random"]
    assert found.votes == len(random)
    assert 40 < len(random) < 110
    assert found.doubly_robust.low < strength(WORLD.matrix()) < found.doubly_robust.high


def test_contexts_count_alike():
    """Two contexts of three arms each; what is known of one says nothing of the other."""
    rng = np.random.default_rng(7)
    groups = ["a", "a", "a", "b", "b", "b"]
    log = WORLD.log(4000, rng)
    inside = np.array([groups[i] == groups[j] for i, j in zip(log.first, log.second, strict=True)])
    log = log.of(inside)
    log.propensity[:] = 1.0 / (2 * 3)
    target = {("arm 0", "arm 1"): 1.0, ("arm 4", "arm 3"): 1.0}
    found = off_policy(log, WORLD.arms, WORLD.features, target, groups=groups, random_share=1.0)
    truth = (WORLD.chance(0, 1) + WORLD.chance(4, 3)) / 2
    assert found.doubly_robust.low < truth < found.doubly_robust.high
    assert found.inverse_propensity.low < truth < found.inverse_propensity.high
    assert found.doubly_robust.high - found.doubly_robust.low < 0.2


LOG = WORLD.log(50, np.random.default_rng(8))
NOTHING = LOG.of(slice(0, 0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"votes": NOTHING}, "random_share above 0"),
        ({"target": {("arm 0", "me"): 1.0}}, "'me'"),
        ({"target": {("arm 0", "arm 1"): 0.5}}, "add up to 1"),
        ({"target": {("arm 0", "arm 0"): 1.0}}, "two different arms"),
        ({"random_share": 0.01}, "random_share 0.01"),
        ({"random_share": 2.0}, "random_share is 2.0"),
        ({"measure": "luck"}, "measure is 'luck'"),
        ({"level": 1.0}, "level is 1.0"),
        ({"folds": 1}, "folds is 1"),
        ({"groups": ["a"]}, "groups has 1"),
        ({"votes": LOG.of((LOG.first == 2) & (LOG.second == 5)), "target": {("arm 0", "arm 1"): 1.0}}, "None of"),
    ],
)
def test_what_cannot_be_estimated_is_named(changes, message):
    told = {"votes": LOG, "target": TARGET, "random_share": 1.0, **changes}
    with pytest.raises(dl.InvalidInput, match=message):
        off_policy(told.pop("votes"), WORLD.arms, WORLD.features, told.pop("target"), **told)


def test_a_replay_needs_equal_chances_and_enough_votes():
    uneven = WORLD.log(50, np.random.default_rng(9), chances=np.arange(1, 16) / 120.0)
    with pytest.raises(dl.InvalidInput, match="needs equal ones"):
        replay(uneven, WORLD.arms, WORLD.features, dl.UniformPair(), rounds=3)
    with pytest.raises(dl.InvalidInput, match="Ask for fewer rounds"):
        replay(LOG, WORLD.arms, WORLD.features, dl.UniformPair(), rounds=40)
    with pytest.raises(dl.InvalidInput, match="rounds is 0"):
        replay(LOG, WORLD.arms, WORLD.features, dl.UniformPair(), rounds=0)


def test_few_votes_are_said_to_be_few():
    told = str(off_policy(LOG, WORLD.arms, WORLD.features, {("arm 0", "arm 1"): 1.0}, random_share=1.0))
    assert "with so few votes the intervals are rough" in told
    shown = str(replay(WORLD.log(900, np.random.default_rng(10)), WORLD.arms, None, dl.UniformPair(), rounds=4))
    assert "replays of 4 rounds, with 900 random votes" in shown
