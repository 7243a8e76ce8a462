"""The loop: same worlds and luck for every policy, whatever else is simulated, and an honest log."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import duelist as dl
from duelist.policies import POLICIES
from duelist.simulation import simulate as simulation
from duelist.simulation.environments import FixedArms, Hypercube, Noiseless, PreferenceMatrix, RandomArms
from duelist.simulation.run_log import DuelLog
from tests.helpers.policy_state import pending

WORLDS: dict[str, Any] = {
    "fixed": Hypercube(3),
    "changing": RandomArms(3, n_arms=(1, 9)),
    "clustered": Noiseless(RandomArms(2, n_arms=6, kind="clustered")),
    "table": PreferenceMatrix([[0.5, 0.6, 0.9], [0.4, 0.5, 0.7], [0.1, 0.3, 0.5]]),
}
THREE = (dl.VACDB(horizon=300), dl.CoLSTIM(horizon=300), dl.UniformPair())


def named(name, **settings):
    settings = {"horizon": 300, **settings} if "horizon" in POLICIES[name]().params else settings
    return POLICIES[name](**settings)


def assert_same_log(a, b, runs=slice(None), rounds=slice(None), fields=DuelLog._fields):
    for name in fields:
        np.testing.assert_array_equal(getattr(a, name)[runs, rounds], getattr(b, name)[runs, rounds], err_msg=name)


# -- the same world by hand --------------------------------------------------------------


class World:
    """Run r of a simulation, drawn here from the documented streams: world, arms, outcomes, policy."""

    def __init__(self, environment, seed, run):
        streams = [np.random.SeedSequence(seed, spawn_key=(run, purpose)) for purpose in range(4)]
        self.environment = environment
        self.world = environment.draw_world(np.random.default_rng(streams[0]))
        self.arm_rng, self.luck = np.random.default_rng(streams[1]), np.random.default_rng(streams[2])
        self.policy_seed = int(streams[3].generate_state(1, np.uint64)[0])

    def arms(self):
        if self.world.arms is not None:
            return self.world.arms
        arms, count = self.environment.draw_arms(self.world, self.arm_rng, 1)
        return arms[0, : count[0]]

    def utilities(self, arms):
        return self.world.utilities if self.world.utilities is not None else arms @ self.world.theta


def play_by_hand(template, environment, horizon, seed, run, chance):
    """One run asked and told in a plain loop; `chance(first, second, utilities)` draws the outcomes."""
    world = World(environment, seed, run)
    policy = template.clone(world.policy_seed)
    rows = []
    for _ in range(horizon):
        arms = world.arms()
        utilities = world.utilities(arms)
        duel = policy.ask(arms, distinct=False)
        out = pending(policy)[duel.id]
        outcome = float(world.luck.random() < chance(duel.first, duel.second, utilities))
        policy.tell(duel, outcome)
        gaps = utilities.max() - utilities[[duel.first, duel.second]]
        rows.append((duel.first, duel.second, out.layer + 1, outcome, *gaps))
    return DuelLog(*(np.array(column)[None] for column in zip(*rows, strict=True)))


def link_chance(first, second, utilities):
    return special.expit(utilities[first] - utilities[second])


def better_wins(first, second, utilities):
    gap = utilities[first] - utilities[second]
    return 0.5 if gap == 0.0 else float(gap > 0.0)


def table_chance(first, second, _):
    return WORLDS["table"].matrix[first, second]


CHANCES = {"fixed": link_chance, "changing": link_chance, "clustered": better_wins, "table": table_chance}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("policy", POLICIES)
def test_simulated_runs_are_what_a_live_loop_plays(policy, world):
    """Longer than a stretch of 250 rounds, and than the first doubling of the room for rows."""
    template = named(policy)
    runs = dl.simulate(template, WORLDS[world], horizon=260, runs=2, seed=3)
    for run in range(2):
        expected = play_by_hand(template, WORLDS[world], 260, 3, run, CHANCES[world])
        log = DuelLog(*(a[run : run + 1] for a in runs.log(policy)))
        assert_same_log(log, expected, fields=("first", "second", "outcome"))
        apart = log.first != log.second
        np.testing.assert_array_equal(log.layer[apart], expected.layer[apart])
        np.testing.assert_allclose(log.first_gap, expected.first_gap, atol=1e-12)
        np.testing.assert_allclose(log.second_gap, expected.second_gap, atol=1e-12)


@pytest.mark.parametrize("policy", ["VACDB", "StaD", "SupCoLSTIM", "MaxInP"])
def test_an_unknown_horizon_is_played_as_live(policy):
    """Layers are added as the guessed horizon doubles, ahead of time in a simulation."""
    template = POLICIES[policy](horizon=None)
    runs = dl.simulate(template, WORLDS["changing"], horizon=600, runs=1, seed=4, tell_horizon=False)
    expected = play_by_hand(template, WORLDS["changing"], 600, 4, 0, link_chance)
    assert_same_log(runs.log(policy), expected, fields=("first", "second", "outcome"))


@pytest.mark.parametrize(
    "settings", [{"explore": "random"}, {"explore": "widest"}, {"radius": "theory"}, {"radius": 1}]
)
def test_settings_of_vacdb_reach_the_simulation(settings):
    template = dl.VACDB(horizon=300, **settings)
    runs = dl.simulate(template, WORLDS["fixed"], horizon=200, runs=1)
    expected = play_by_hand(template, WORLDS["fixed"], 200, 0, 0, link_chance)
    assert_same_log(runs.log("VACDB"), expected, fields=("first", "second", "outcome"))


# -- what a run does not depend on -------------------------------------------------------


@pytest.mark.parametrize("world", WORLDS)
def test_two_labels_of_one_policy_meet_the_same_world_and_luck(world):
    for policy in THREE:
        runs = dl.simulate({"a": policy, "b": policy}, WORLDS[world], horizon=120, runs=5)
        assert_same_log(runs.log("a"), runs.log("b"))


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("world", WORLDS)
def test_threads_do_not_change_the_results(world, threads):
    one, several = (dl.simulate(THREE, WORLDS[world], horizon=120, runs=20, threads=n) for n in (1, threads))
    for label in one.labels:
        assert_same_log(one.log(label), several.log(label))


@pytest.mark.parametrize("world", WORLDS)
def test_other_policies_do_not_change_the_results(world):
    together = dl.simulate(THREE, WORLDS[world], horizon=120, runs=4)
    for policy in THREE:
        alone = dl.simulate(policy, WORLDS[world], horizon=120, runs=4)
        assert_same_log(alone.log(alone.labels[0]), together.log(alone.labels[0]))


@pytest.mark.parametrize("world", WORLDS)
def test_more_runs_do_not_change_the_first_ones(world):
    few, many = (dl.simulate(THREE, WORLDS[world], horizon=120, runs=n) for n in (3, 10))
    for label in few.labels:
        assert_same_log(few.log(label), many.log(label), runs=slice(3))


@pytest.mark.parametrize("world", WORLDS)
def test_more_rounds_do_not_change_the_first_ones(world):
    short, long = (dl.simulate(THREE, WORLDS[world], horizon=n, runs=3) for n in (70, 300))
    for label in short.labels:
        assert_same_log(short.log(label), long.log(label), rounds=slice(70))


@pytest.mark.parametrize(("longest", "most_bytes"), [(1, 1 << 26), (37, 1 << 26), (250, 20_000)])
@pytest.mark.parametrize("world", ["fixed", "changing"])
def test_the_cut_into_stretches_does_not_change_the_results(monkeypatch, world, longest, most_bytes):
    policies = (*THREE[:2], dl.VACDB(horizon=None))
    labels = dict(zip("abc", policies, strict=True))
    expected = dl.simulate(labels, WORLDS[world], horizon=300, runs=4)
    monkeypatch.setattr(simulation, "_MAX_BLOCK_ROUNDS", longest)
    monkeypatch.setattr(simulation, "_MAX_BLOCK_BYTES", most_bytes)
    cut = dl.simulate(labels, WORLDS[world], horizon=300, runs=4)
    for label in labels:
        assert_same_log(cut.log(label), expected.log(label))


@pytest.mark.parametrize("world", WORLDS)
def test_same_seed_repeats_and_another_seed_differs(world):
    first, again, other = (dl.simulate(dl.UniformPair(), WORLDS[world], 80, runs=3, seed=s) for s in (5, 5, 6))
    assert_same_log(first.log("UniformPair"), again.log("UniformPair"))
    for field in ("first", "second", "outcome"):
        mine, theirs = (getattr(r.log("UniformPair"), field) for r in (first, other))
        assert not np.array_equal(mine, theirs)


def test_runs_differ_from_each_other():
    log = dl.simulate(dl.UniformPair(), WORLDS["fixed"], horizon=80, runs=4).log("UniformPair")
    for field in ("first", "outcome", "first_gap"):
        assert len(np.unique(getattr(log, field), axis=0)) == 4


def test_all_policies_meet_the_same_uniform_number_in_a_round():
    """With one pair of equal arms every outcome is luck alone: the same for every policy."""
    world = FixedArms([[1.0, 0.0], [1.0, 0.0]], theta=[1.0, 1.0])
    runs = dl.simulate([named(p) for p in POLICIES], world, horizon=100, runs=3)
    for label in runs.labels:
        np.testing.assert_array_equal(runs.outcomes(label), runs.outcomes("VACDB"))
    assert 0 < runs.outcomes("VACDB").mean() < 1


def test_the_random_state_of_a_template_is_not_used():
    a, b = (dl.simulate(dl.CoLSTIM(random_state=s), WORLDS["fixed"], horizon=60, runs=2) for s in (1, 2))
    assert_same_log(a.log("CoLSTIM"), b.log("CoLSTIM"))


def test_a_template_is_left_as_it_was_and_what_it_learned_is_not_used():
    policy = dl.MaxInP(horizon=100, random_state=0)
    for _ in range(5):
        policy.tell(policy.ask(np.eye(3), distinct=False), 1)
    before = policy.snapshot()
    runs = dl.simulate(policy, WORLDS["fixed"], horizon=60, runs=2)
    assert policy.snapshot() == before
    fresh = dl.simulate(dl.MaxInP(horizon=100), WORLDS["fixed"], horizon=60, runs=2)
    assert_same_log(runs.log("MaxInP"), fresh.log("MaxInP"))


# -- what is written down ----------------------------------------------------------------


@pytest.mark.parametrize("world", WORLDS)
def test_gaps_and_outcomes_are_those_of_the_recorded_duels(world):
    environment, horizon = WORLDS[world], 270
    runs = dl.simulate(THREE, environment, horizon=horizon, runs=3, seed=1)
    for run in range(3):
        hand = World(environment, 1, run)
        shown = [hand.arms() for _ in range(horizon)]
        utilities = [hand.utilities(arms) for arms in shown]
        luck = hand.luck.random(horizon)
        for label in runs.labels:
            log = runs.log(label)
            for t in range(horizon):
                i, j = log.first[run, t], log.second[run, t]
                best = utilities[t].max()
                assert log.first_gap[run, t] == pytest.approx(best - utilities[t][i], abs=1e-12)
                assert log.second_gap[run, t] == pytest.approx(best - utilities[t][j], abs=1e-12)
                assert log.outcome[run, t] == (luck[t] < CHANCES[world](i, j, utilities[t]))


def test_positions_are_those_of_the_arms_on_the_table():
    environment = RandomArms(2, n_arms=(1, 3))
    runs = dl.simulate(THREE, environment, horizon=200, runs=2)
    for run in range(2):
        hand = World(environment, 0, run)
        counts = np.array([len(hand.arms()) for _ in range(200)])
        assert set(counts) == {1, 2, 3}
        for label in runs.labels:
            first, second = runs.duels(label)
            assert (np.maximum(first[run], second[run]) < counts).all()
            assert (runs.regret(label, cumulative=False)[run][counts == 1] == 0.0).all()


@pytest.mark.parametrize("world", WORLDS)
def test_regrets_are_ordered_and_add_up(world):
    runs = dl.simulate(THREE, WORLDS[world], horizon=150, runs=4)
    for label in runs.labels:
        weak, average, strong = (runs.regret(label, kind, cumulative=False) for kind in ("weak", "average", "strong"))
        assert (weak >= 0.0).all()
        assert (weak <= average).all()
        assert (average <= strong).all()
        np.testing.assert_allclose(weak + strong, 2.0 * average, rtol=1e-14)


def test_layers_count_what_vacdb_learned():
    runs = dl.simulate(dl.VACDB(horizon=1500), WORLDS["fixed"], horizon=1500, runs=4)
    layers = runs.layers("VACDB")
    first, second = runs.duels("VACDB")
    assert layers.min() == 0
    assert layers.max() >= 2
    assert (first != second)[layers > 0].all()  # explored pairs are wide, so they differ
    for row in layers:
        # A layer is only reached once the one above it has been explored.
        opened = [int(np.argmax(row == layer)) for layer in range(1, row.max() + 1)]
        assert opened == sorted(opened)


def test_policies_without_layers_learn_in_the_first():
    runs = dl.simulate(dl.UniformPair(), WORLDS["fixed"], horizon=20, runs=2)
    assert (runs.layers("UniformPair") == 1).all()


def test_a_duel_that_teaches_nothing_has_layer_zero():
    """Self-duels change no estimate: `DuelLog.layer` promises 0 where nothing was learned."""
    runs = dl.simulate(dl.MaxPairUCB(horizon=300, radius=1e-9), WORLDS["fixed"], horizon=60, runs=4)
    first, second = runs.duels("MaxPairUCB")
    itself = first == second
    assert itself.any()
    assert (runs.layers("MaxPairUCB")[itself] == 0).all()


# -- plain Python policies ---------------------------------------------------------------


class Delegate(dl.Policy):
    """A compiled policy behind a plain one, which the simulation must ask and tell itself."""

    def __init__(self, random_state=None):
        self.random_state = random_state
        self.inner = dl.CoLSTIM(horizon=300, random_state=random_state)

    def ask(self, arms):
        return self.inner.ask(arms, distinct=False)

    def tell(self, duel, outcome, weight=1.0):
        self.inner.tell(duel, outcome, weight)


@pytest.mark.parametrize("world", WORLDS)
def test_a_plain_policy_meets_the_same_world_and_luck(world):
    runs = dl.simulate([Delegate(), dl.CoLSTIM(horizon=300)], WORLDS[world], horizon=260, runs=3)
    fields = [f for f in DuelLog._fields if f != "layer"]
    assert_same_log(runs.log("Delegate"), runs.log("CoLSTIM"), fields=fields)


class Answers(dl.Policy):
    def __init__(self, answer=(0, 1)):
        self.answer = answer
        self.told = []

    def ask(self, arms):
        return self.answer

    def tell(self, duel, outcome, weight=1.0):
        self.told.append((duel, outcome))


def test_a_plain_policy_may_answer_with_a_pair_and_keeps_its_settings():
    runs = dl.simulate(Answers((2, 1)), WORLDS["fixed"], horizon=30, runs=2)
    first, second = runs.duels("Answers")
    assert (first == 2).all()
    assert (second == 1).all()


def test_a_plain_template_is_not_told_anything():
    policy = Answers()
    dl.simulate(policy, WORLDS["fixed"], horizon=5, runs=2)
    assert policy.told == []


class Scribbler(dl.Policy):
    """Works on the arms in place, as careless code does, and remembers what it was shown."""

    shown: Any = ()

    def ask(self, arms):
        self.shown.append(arms.copy())
        if arms.flags.writeable:
            arms *= 0.5
        return 0, 1

    def tell(self, duel, outcome, weight=1.0):
        pass


def test_a_plain_policy_cannot_change_the_arms_of_later_rounds_and_runs(monkeypatch):
    monkeypatch.setattr(Scribbler, "shown", [])
    dl.simulate(Scribbler(), WORLDS["fixed"], horizon=4, runs=2)
    corners = WORLDS["fixed"].draw_world(np.random.default_rng(0)).arms
    assert len(Scribbler.shown) == 8
    for arms in Scribbler.shown:
        np.testing.assert_array_equal(arms, corners)


@pytest.mark.parametrize("answer", [(0, 8), (-1, 0), (0, 1, 2), None, 3, "ab"])
def test_a_bad_answer_is_refused_with_the_policy_s_name(answer):
    with pytest.raises(dl.InvalidInput, match="Answers"):
        dl.simulate(Answers(answer), WORLDS["fixed"], horizon=5, runs=1)


# -- progress, labels, input -------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, 2, 250, 251, 777, 1000, 1001, 2500])
def test_progress_rises_to_the_total_for_every_policy(horizon):
    calls = []
    dl.simulate(THREE[1:], WORLDS["fixed"], horizon=horizon, runs=2, progress=lambda *call: calls.append(call))
    for label in ("CoLSTIM", "UniformPair"):
        done = [d for name, d, _ in calls if name == label]
        assert done == sorted(set(done))
        assert done[0] > 0
        assert done[-1] == horizon
    assert {total for *_, total in calls} == {horizon}


def test_stretches_are_long_also_where_arms_take_few_bytes():
    """One round first, to learn the size of the arms, then 1000 at a time: 5 stretches of 4001 rounds."""
    for environment in (Hypercube(1), Hypercube(5), RandomArms(2, n_arms=3)):
        calls = []
        dl.simulate(dl.UniformPair(), environment, 4001, runs=2, progress=lambda *call, to=calls: to.append(call))
        assert len(calls) == 5


def test_labels_are_names_and_settings_where_names_repeat():
    policies = [dl.UniformPair(), dl.MaxInP(scale=2.0), dl.MaxInP()]
    assert dl.simulate(policies, WORLDS["fixed"], horizon=5, runs=1).labels == [
        "UniformPair",
        "MaxInP(scale=2.0)",
        "MaxInP()",
    ]
    assert dl.simulate(policies[0], WORLDS["fixed"], horizon=5, runs=1).labels == ["UniformPair"]
    assert dl.simulate({"x": policies[0]}, WORLDS["fixed"], horizon=5, runs=1).labels == ["x"]
    assert dl.simulate(iter(policies[:2]), WORLDS["fixed"], horizon=5, runs=1).labels == ["UniformPair", "MaxInP"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"horizon": 0}, "horizon is 0"),
        ({"horizon": 2.5}, r"horizon is 2\.5"),
        ({"horizon": True}, "horizon is True"),
        ({"runs": 0}, "runs is 0"),
        ({"runs": "3"}, "runs is '3'"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
        ({"threads": -2}, "threads is -2"),
        ({"policies": []}, "No policies"),
        ({"policies": {}}, "No policies"),
        ({"policies": [dl.UniformPair(), dl.UniformPair()]}, r"UniformPair\(\) is given twice"),
        ({"policies": ["VACBD"]}, "'VACBD'"),
        ({"environment": "Hipercube"}, "'Hipercube'"),
    ],
)
def test_bad_input_is_refused_by_value(arguments, named):
    settings = {"policies": dl.UniformPair(), "environment": WORLDS["fixed"], "horizon": 5, "runs": 2, **arguments}
    with pytest.raises(dl.InvalidInput, match=named):
        dl.simulate(**settings)


def test_numbers_of_numpy_are_whole_numbers_too():
    a = dl.simulate(dl.UniformPair(), WORLDS["fixed"], horizon=np.int64(6), runs=np.int32(2), seed=np.uint8(3))
    b = dl.simulate(dl.UniformPair(), WORLDS["fixed"], horizon=6, runs=2, seed=3)
    assert_same_log(a.log("UniformPair"), b.log("UniformPair"))
    assert a.settings == b.settings


@pytest.mark.parametrize("environment", [RandomArms(2, n_arms=np.int64(3)), Hypercube(2, scale=np.float32(0.5))])
def test_an_environment_made_with_numbers_of_numpy_can_be_simulated(environment):
    assert dl.simulate(dl.UniformPair(), environment, horizon=5, runs=2).runs == 2


def test_settings_say_what_was_run():
    runs = dl.simulate([dl.MaxInP(scale=2.0)], Hypercube(2, scale=0.5), horizon=5, runs=2, seed=9)
    assert runs.settings["seed"] == 9
    assert runs.settings["environment"]["environment"] == "Hypercube"
    assert runs.settings["environment"]["scale"] == 0.5
    assert runs.settings["policies"] == {"MaxInP": "MaxInP(horizon=5, scale=2.0)"}
    assert runs.settings["versions"]["duelist"] == dl.__version__
    assert (runs.runs, runs.horizon) == (2, 5)
    assert repr(runs) == "Runs(MaxInP; 2 runs of 5 rounds)"
