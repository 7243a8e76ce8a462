"""What no policy could make sense of: the right error with the value and a hint, and no change."""

import math
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.policies import POLICIES
from duelist.policies.engine import RadiusPolicy
from duelist.simulation.environments import FixedArms, Hypercube
from duelist.testing.policies import DIM, draw_arms, play

ARMS = draw_arms(1, least=5)[0]
WORLD = Hypercube(dim=2)
NAN, INF = math.nan, math.inf
WITH_RADIUS = [name for name, cls in POLICIES.items() if issubclass(cls, RadiusPolicy)]


@pytest.fixture(params=POLICIES)
def name(request):
    return request.param


@pytest.fixture(params=["new", "played"])
def policy(request, name):
    """A policy before its first arms, and one that has played and has a duel pending."""
    made = POLICIES[name](random_state=0)
    if request.param == "played":
        play(made, draw_arms(8))
        made.ask(ARMS)
    return made


def refuses(policy, says, verb, *args, error=dl.InvalidInput, **kwargs):
    """The call raises, tells what it should, and leaves the policy as it was."""
    before = policy.snapshot()
    raises(says, verb, *args, error=error, **kwargs)
    assert policy.snapshot() == before


def raises(says, call, *args, error=dl.InvalidInput, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert isinstance(caught.value, dl.DuelistError)
    for words in says:
        assert words in str(caught.value)


# -- arms ----------------------------------------------------------------------------------------


def with_entry(value, at=(2, 1)):
    arms = ARMS.copy()
    arms[at] = value
    return arms


def test_arms_that_went_bad_since_the_last_round(name):
    policy, arms = POLICIES[name](random_state=0), ARMS.copy()
    policy.tell(policy.ask(arms), 1.0)
    arms[2, 1] = NAN
    refuses(policy, ["arms[2, 1] is nan"], policy.ask, arms)
    arms[2, 1] = 0.5
    assert policy.ask(arms).id == 1


BAD_ARMS = {
    "nan": (with_entry(NAN), ["arms[2, 1] is nan", "Replace missing and infinite features"]),
    "inf": (with_entry(INF), ["arms[2, 1] is inf", "Replace missing and infinite features"]),
    "-inf": (with_entry(-INF, (0, 2)), ["arms[0, 2] is -inf", "Replace missing and infinite features"]),
    "all nan": (np.full((3, DIM), NAN), ["arms[0, 0] is nan", "Replace missing and infinite features"]),
    "inf and -inf": ([[INF, -INF, 0.0]], ["arms[0, 0] is inf", "Replace missing and infinite features"]),
    "none in a row": ([[None, 1.0, 2.0]], ["arms[0, 0] is nan", "Replace missing and infinite features"]),
    "no arms": (np.zeros((0, DIM)), ["(0, 3)", "at least one arm"]),
    "no features": (np.zeros((4, 0)), ["(4, 0)", "at least one arm and one feature"]),
    "nothing": ([], ["(0,)", "(n_arms, dim)"]),
    "one number": (3.0, ["()", "(n_arms, dim)"]),
    "one vector": (ARMS[0], ["(3,)", "one feature vector per row"]),
    "three axes": (ARMS[None], [str((1, *ARMS.shape)), "one feature vector per row"]),
    "words": ([["red", "green", "blue"]], ["'red'", "(n_arms, dim)"]),
    "ragged": ([[1.0, 2.0, 3.0], [1.0]], ["not numbers", "(n_arms, dim)"]),
    "complex": ([[1j, 2.0, 3.0]], ["'complex'", "(n_arms, dim)"]),
    "objects": ([[object()] * DIM], ["'object'", "(n_arms, dim)"]),
    "dict": ({"red": 1.0}, ["'dict'", "(n_arms, dim)"]),
}


@pytest.mark.parametrize("kind", BAD_ARMS)
def test_arms(policy, kind):
    arms, says = BAD_ARMS[kind]
    refuses(policy, says, policy.ask, arms)
    policy.ask(ARMS)


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_other_number_of_features_than_before(name, dim):
    policy = POLICIES[name](random_state=0)
    play(policy, draw_arms(5))
    refuses(policy, [f"{dim} features", "with 3", "start a new policy"], policy.ask, np.ones((4, dim)))


@pytest.mark.parametrize("size", [1e155, 1e200, 1e308])
def test_features_too_large_to_square(policy, size):
    refuses(policy, ["Rescale"], policy.ask, ARMS * size)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e50, 1e-6, 1e-50])
def test_large_and_small_features_play_with_the_default_radius(name, size):
    policy = POLICIES[name](random_state=0)
    play(policy, [arms * size for arms in draw_arms(30)])
    assert np.isfinite(policy.theta_).all()
    assert np.isfinite(policy.precision_).all()


# -- outcomes, weights, duels --------------------------------------------------------------------


@pytest.fixture
def asked(name):
    policy = POLICIES[name](random_state=0)
    play(policy, draw_arms(8))
    return policy, policy.ask(ARMS)


BAD_OUTCOMES = [2, -1, 1.0001, -1e-9, NAN, INF, None, "first", [1], (1, 0), {}, 1j, 10**400]
BAD_WEIGHTS = [0, 0.0, -1, -0.5, NAN, INF, -INF, None, "heavy", [1], 10**400]
UNKNOWN_DUELS = [99, -1, None, "first", (0, 1), [0, 1], {}, NAN, dl.Duel(0, 1), dl.Duel(0, 1, 99)]


def short(value):
    return repr(value)[:30]


@pytest.mark.parametrize("outcome", BAD_OUTCOMES, ids=short)
def test_outcome(asked, outcome):
    policy, duel = asked
    says = [f"outcome is {outcome!r}", "1 if the first arm won", "0 if the second won", "0.5 for a tie"]
    refuses(policy, says, policy.tell, duel, outcome)
    policy.tell(duel, 1)


@pytest.mark.parametrize("weight", BAD_WEIGHTS, ids=short)
def test_weight(asked, weight):
    policy, duel = asked
    refuses(
        policy,
        [f"weight is {weight!r}", "positive finite number", "do not tell the duel"],
        policy.tell,
        duel,
        1,
        weight,
    )
    policy.tell(duel, 1)


@pytest.mark.parametrize("weight", [1.01e15, 1e200, 10**16])
def test_a_weight_too_large_to_learn(asked, weight):
    policy, _ = asked
    refuses(policy, [f"weight is {weight!r}. Give at most 1e+15"], policy.learn, ARMS[:2], 1.0, weight)


@pytest.mark.parametrize("unknown", UNKNOWN_DUELS, ids=short)
@pytest.mark.parametrize("verb", ["tell", "forget"])
def test_unknown_duel(policy, verb, unknown):
    key = unknown.id if isinstance(unknown, dl.Duel) else unknown
    arguments = [unknown, 1] if verb == "tell" else [unknown]
    says = [f"Duel {key!r} was never asked", "Tell each duel that `ask` returned once"]
    refuses(policy, says, getattr(policy, verb), *arguments, error=dl.UnknownDuel)


def test_duel_told_already(asked):
    policy, duel = asked
    policy.tell(duel, 1)
    says = [f"Duel {duel.id} was told or forgotten before", "Tell each duel that `ask` returned once"]
    refuses(policy, says, policy.tell, duel, 1, error=dl.UnknownDuel)


def test_bad_outcome_of_an_unknown_duel_changes_nothing(policy):
    refuses(policy, [], policy.tell, 99, 2, error=dl.DuelistError)


@pytest.mark.parametrize("attribute", ["theta_", "precision_", "main_layer_"])
def test_estimate_before_the_first_arms(name, attribute):
    policy = POLICIES[name]()
    refuses(policy, [name, "has seen no arms", "`ask` first"], getattr, policy, attribute)


# -- settings ------------------------------------------------------------------------------------

ANY_POLICY: dict[str, tuple[list[Any], str]] = {
    "link": (["cauchit", None, 3, "", ["logistic"]], "Choose one of logistic, probit, exponential"),
    "ridge": ([0, 0.0, -1, NAN, INF, "big"], "Give a positive finite number"),
    "random_state": ([-1, 2.5, "lucky"], "Give"),
}
ANY_RADIUS: dict[str, tuple[list[Any], str]] = {
    "horizon": ([0, -5, 2.5, True, "10", NAN, INF], "at least 1), or leave it out"),
    "kappa": ([0, -0.25, NAN, INF, "flat"], "leave it out to derive it"),
    "delta": ([0, 1, -0.1, 1.5, NAN, "small", None], "between 0 and 1"),
    "radius": (["wide", ""], "Give a number or one of practical, tight, theory"),
    "scale": ([0, -1, NAN, INF, None, "big"], "Give a positive finite number"),
    "theta_bound": ([0, -1, NAN, INF, None], "Give a positive finite number"),
}
BAD_SETTINGS = [
    *((n, s, v, way) for n in POLICIES for s, (values, way) in ANY_POLICY.items() for v in values),
    *((n, s, v, way) for n in WITH_RADIUS for s, (values, way) in ANY_RADIUS.items() for v in values),
    *((n, "radius", v, "number") for n in WITH_RADIUS for v in (0, -1, NAN, INF, None, [1.0])),
    *(("VACDB", "explore", v, "Choose one of value, widest, random") for v in ("boldly", None, "")),
    *(("VACDB", "variance", v, "Choose one of high, all, or leave it out") for v in ("low", 3, "")),
    *(("VACDB", "alpha", v, "between 0 and 1, or leave it out") for v in (0, 1, -0.1, 2, NAN, "fine")),
    *(("VACDB", "first_layer", v, "Give a whole number from -8 to 1") for v in (2, -9, 1.5, 1.0, True, "1", None, NAN)),
    *(("CoLSTIM", "clip", v, "Give a positive finite number") for v in (0, -1, NAN, INF, "short")),
    *(("CoLSTIM", "warmup", v, "Give a number of rounds, or no value for d K of them") for v in (-1, 2.5, NAN, "long")),
]


@pytest.mark.parametrize(("name", "setting", "value", "way_out"), BAD_SETTINGS, ids=short)
def test_setting(name, setting, value, way_out):
    raises([f"{setting} is {value!r}", way_out], POLICIES[name], **{setting: value})


@pytest.mark.parametrize("name", ["ucb", "", "VACDB2"])
def test_unknown_policy(name):
    raises([f"policy is {name!r}", "Choose one of", *POLICIES], dl.make_policy, name)


def test_unknown_setting(name):
    raises([name, "no setting 'dim'", "It takes horizon, link, ridge"], dl.make_policy, name, horizon=10, dim=5)


def test_setting_of_another_policy():
    raises(["MaxInP", "no setting 'explore'", "It takes"], dl.make_policy, "maxinp", explore="widest")


# -- a link that is flat over the reach of the features ------------------------------------------


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
@pytest.mark.parametrize("name", WITH_RADIUS)
def test_flat_link_stops_the_published_radius(name, link):
    arms = np.array([[1000.0, 0.0], [-1000.0, 0.0], [0.0, 0.0]])
    policy = POLICIES[name](radius="theory", link=link, random_state=0)
    says = ["kappa is ", f"the {link} link is flat", "2000", "Rescale the features", "lower theta_bound", "give kappa"]
    refuses(policy, says, policy.ask, arms)
    policy.ask(arms / 1000.0)  # the hint


@pytest.mark.parametrize(("link", "reach"), [("logistic", 360.0), ("probit", 19.0), ("exponential", 360.0)])
@pytest.mark.parametrize("name", WITH_RADIUS)
def test_nearly_flat_link_stops_the_published_radius(name, link, reach):
    # kappa is about 1e-313 here: not zero, but 1/kappa is beyond floating point, so no radius is left.
    arms = np.array([[reach, 0.0], [-reach, 0.0], [0.0, reach / 2.0], [0.0, -reach / 2.0]])
    policy = POLICIES[name](radius="theory", link=link, random_state=0)
    refuses(policy, ["kappa is", link, "Rescale the features"], policy.ask, arms)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("size", [10.0, 30.0, 80.0, 120.0, 160.0, 200.0, 400.0])
def test_what_the_published_radius_takes_it_can_compute_with(size, estimator):
    """A kappa of 1e-200 is a number, but its square is none, and neither was theta."""
    arms = size * np.random.default_rng(0).normal(size=(6, 3))
    for kind in (dl.VACDB, dl.MaxPairUCB):
        policy = kind(horizon=500, radius="theory", estimator=estimator, random_state=0)
        try:
            policy.initialize(arms)
        except dl.InvalidInput:
            continue
        policy.learn(arms[:2], 1.0, layer=0)
        assert np.isfinite(policy.theta_).all()


@pytest.mark.parametrize("settings", [{"theta_bound": 1e-3}, {"kappa": 0.1}], ids=str)
@pytest.mark.parametrize("name", WITH_RADIUS)
def test_ways_out_of_a_flat_link(name, settings):
    policy = POLICIES[name](radius="theory", random_state=0, **settings)
    play(policy, [arms * 1000.0 for arms in draw_arms(20)])
    assert np.isfinite(policy.theta_).all()


@pytest.mark.parametrize("name", WITH_RADIUS)
def test_flat_link_stops_a_simulation_with_the_published_radius(name):
    world = FixedArms(ARMS * 1000.0, theta=[1e-3, 0.0, 0.0])
    theory = POLICIES[name](radius="theory")
    raises(["kappa is ", "link is flat", "Rescale the features"], dl.simulate, theory, world, horizon=5, runs=2, seed=0)
    runs = dl.simulate(POLICIES[name](), world, horizon=5, runs=2, seed=0)
    assert np.isfinite(runs.regret(name)).all()


# -- simulate ------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["horizon", "runs"])
@pytest.mark.parametrize("value", [0, -3, 2.5, True, None, "ten"])
def test_simulate_sizes(setting, value):
    sizes = {"horizon": 5, "runs": 2, setting: value}
    raises([f"{setting} is {value!r}", "at least 1"], dl.simulate, dl.UniformPair(), WORLD, **sizes)


@pytest.mark.parametrize("seed", [None, -1, 2.5, "lucky"])
def test_simulate_seed(seed):
    says = [f"seed is {seed!r}", "at least 0", "repeated"]
    raises(says, dl.simulate, dl.UniformPair(), WORLD, horizon=5, runs=2, seed=seed)


@pytest.mark.parametrize("threads", [-1, 2.5, "two"])
def test_simulate_threads(threads):
    says = [f"threads is {threads!r}", "leave it out to use all cores"]
    raises(says, dl.simulate, dl.UniformPair(), WORLD, horizon=5, runs=2, threads=threads)


@pytest.mark.parametrize("nowhere", [None, "hipercube", Hypercube], ids=repr)
def test_simulate_something_that_is_no_environment(nowhere):
    raises([repr(nowhere), "nvironment"], dl.simulate, dl.UniformPair(), nowhere, horizon=5, runs=2)


@pytest.mark.parametrize("nobody", [[], (), {}], ids=repr)
def test_simulate_without_policies(nobody):
    raises(["No policies", "Give at least one"], dl.simulate, nobody, WORLD, horizon=5, runs=2)


@pytest.mark.parametrize("twin", [dl.UniformPair(), dl.VACDB(horizon=9)], ids=repr)
def test_simulate_with_two_policies_of_one_label(twin):
    raises([repr(twin), "twice", "mapping"], dl.simulate, [twin, twin.clone(None)], WORLD, horizon=5, runs=2)


@pytest.mark.parametrize("impostor", [3, "vacbd", None, dl.UniformPair], ids=repr)
@pytest.mark.parametrize("wrap", [lambda p: [p], lambda p: {"it": p}], ids=["list", "mapping"])
def test_simulate_something_that_is_no_policy(impostor, wrap):
    raises([repr(impostor)], dl.simulate, wrap(impostor), WORLD, horizon=5, runs=2)


class Says(dl.Policy):
    """Answers every ask with the same thing."""

    def __init__(self, answer=None):
        self.answer = answer

    def ask(self, arms):
        return self.answer

    def tell(self, duel, outcome, weight=1.0):
        pass


@pytest.mark.parametrize(
    "answer",
    [None, 3, (), (0,), (0, 1, 2), ("a", "b"), (None, None), (NAN, 0), (INF, 0), (0.7, 1.2), "01"],
    ids=repr,
)
def test_plain_policy_that_answers_nonsense(answer):
    says = ["Says.ask", f"{answer!r}", "Return a Duel or a pair of positions"]
    raises(says, dl.simulate, Says(answer), WORLD, horizon=5, runs=2)


@pytest.mark.parametrize("answer", [(0, 4), (-1, 0), (4, 4), dl.Duel(1, 99)], ids=repr)
def test_plain_policy_that_points_beside_the_arms(answer):
    says = ["Says.ask", str(tuple(answer)), "4 arms", ". Return positions"]
    raises(says, dl.simulate, Says(answer), WORLD, horizon=5, runs=2)


class Forgetful(Says):
    """Does not keep its settings under their names."""

    def __init__(self, patience=3):
        self.answer = (0, 1)


def test_plain_policy_that_does_not_keep_its_settings():
    raises(["Forgetful", "patience"], dl.simulate, Forgetful(), WORLD, horizon=5, runs=2)


def test_a_duel_told_the_other_way_round_is_refused_and_kept():
    policy = dl.MaxPairUCB(random_state=0)
    duel = policy.ask(np.eye(3))
    before = policy.snapshot()
    with pytest.raises(dl.UnknownDuel, match=r"was asked as \(\d, \d\), not .* in the order asked"):
        policy.tell(dl.Duel(duel.second, duel.first, duel.id), 1)
    assert policy.snapshot() == before


@pytest.mark.parametrize("name", POLICIES)
def test_the_units_of_the_features_do_not_matter_by_default(name):
    """Powers of two scale exactly, so the duels are the same, not only alike."""
    rng = np.random.default_rng(5)
    arms, theta = rng.normal(size=(9, 3)), rng.normal(size=3)
    small, large = (dl.make_policy(name, horizon=200, random_state=0) for _ in range(2))
    for _ in range(200):
        duel, same = small.ask(arms), large.ask(arms * 1024.0)
        assert tuple(duel) == tuple(same)
        outcome = float(rng.random() < 1 / (1 + np.exp(-(arms[duel.first] - arms[duel.second]) @ theta)))
        small.tell(duel, outcome)
        large.tell(same, outcome)
