"""The contract, on every policy of the registry and on one written in plain Python; and that it has teeth."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist import policies
from duelist.model.links import LINKS
from duelist.policies import POLICIES, NativePolicy, Policy
from duelist.policies.engine.radius_policy import RADIUS_NAMES
from duelist.testing import NativePolicyContract, PolicyContract, RuleContract
from duelist.testing.native_policies import SHIFT
from duelist.testing.policies import draw_arms, draw_outcome, play
from tests.helpers.policy_state import known, pending, throw_dice

EXAMPLE = Path(__file__).parents[2] / "examples" / "plain_policy.py"
example: Any = SimpleNamespace(**runpy.run_path(str(EXAMPLE)))

HORIZON = 200
NO_EXPERIMENT = {"VACDB", "StaD", "SupCoLSTIM", "LocalPairUCB"}  # the experiments' radius is not defined for them
LOOKS_AT_NORMS = {
    "CoLSTIM",
    "SupCoLSTIM",
}  # the first only as published: with a ridge that is given, or the published radius
NARROW = {"horizon": HORIZON, "radius": 0.02}  # soon done with exploring
EXTRA: dict[str, list[dict[str, Any]]] = {
    "VACDB": [
        {"horizon": HORIZON, "explore": "widest"},
        {"horizon": HORIZON, "explore": "random"},
        {"horizon": HORIZON, "variance": "high", "scale": 0.01},
        {"horizon": HORIZON, "radius": "theory", "variance": "all", "kappa": 0.1},
        {"alpha": 2.0**-4, "radius": 0.05},
        {"horizon": HORIZON, "first_layer": 0},
        {"first_layer": -2, "radius": "theory", "scale": 0.01},
    ],
    "CoLSTIM": [{"horizon": HORIZON, "warmup": None}, {"warmup": 10, "clip": 0.5}],
    "StaD": [NARROW],
    "SupCoLSTIM": [NARROW],
    "RCDB": [{"horizon": HORIZON, "trust": 0.1}, {"corruption": 20.0}],
    "ThompsonPair": [{"scale": 0.5}, {"feel_good": 0.3}, {"allow_self_duel": False}],
    "BestArmPair": [{"ridge": 0.01}],
    "RankingPair": [{"top": 1}, {"top": 2, "ridge": 0.01}],
    "RewardDesign": [{"coverage": 0.0}, {"coverage": 1.0}],
    "MaxMinLCB": [{"horizon": HORIZON, "scale": 0.3}],
    "DRTS": [{"scale": 2.0}],
    "DeltaUCB": [{"scale": 2.0}],
    "InfoMax": [{"scale": 0.3}],
    "DesignPair": [{"criterion": "A"}],
}


def settings_of(name):
    """The settings to try a policy with: the default (horizon None), a ridge, every radius."""
    tried: list[dict[str, Any]] = [{}, {"ridge": 0.5}]
    if "radius" in POLICIES[name]().params:
        radii = [r for r in RADIUS_NAMES if not (r == "experiment" and name in NO_EXPERIMENT)]
        tried += [{"horizon": HORIZON, "radius": r} for r in [*radii, 0.3]]
        tried += [{"horizon": 1}, {"horizon": None, "radius": "theory", "delta": 0.2, "theta_bound": 0.5}]
    return tried + EXTRA.get(name, [])


CASES = [(name, settings) for name in POLICIES for settings in settings_of(name)]
# Every setting with one link and one estimator, which go round; the defaults with all of them.
LINKED = [(name, {**settings, "link": [*LINKS][k % 3]}) for k, (name, settings) in enumerate(CASES) if settings]
DEFAULTS = [(name, {"link": link, "estimator": e}) for name in POLICIES for link in LINKS for e in ("exact", "online")]
DICE = {
    "VACDB": {"horizon": HORIZON, "explore": "random"},
    "CoLSTIM": {"horizon": HORIZON},
    "SupCoLSTIM": NARROW,
    "UniformPair": {},
    "GreedyUniform": {},
    "ThompsonPair": {},
    "RewardDesign": {},
    "DRTS": {},
}


def is_equivariant(name, settings):
    """Whether the rule goes by the arms alone."""
    if name == "VACDB":
        return settings.get("explore") != "random"
    # A narrow Sta'D reaches layers that have learned nothing, where all arms look the same: the first one plays.
    return name not in DICE and not (name == "StaD" and settings.get("radius") == NARROW["radius"])


def forgets_origins(name, settings):
    """Whether adding a constant to a feature changes no duel."""
    as_published = "ridge" in settings or settings.get("radius") in ("tight", "theory")
    return name not in LOOKS_AT_NORMS or (name == "CoLSTIM" and not as_published)


class TestEveryPolicy(NativePolicyContract):
    @pytest.fixture(autouse=True, params=POLICIES)
    def _every_policy(self, request):
        self.name = request.param
        self.settings = DICE.get(self.name, {})
        self.translation_invariant = forgets_origins(self.name, self.settings)
        self.label_equivariant = is_equivariant(self.name, self.settings)

    def make(self, random_state):
        return POLICIES[self.name](**self.settings, random_state=random_state)


class TestEverySetting(RuleContract):
    @pytest.fixture(autouse=True, params=[*LINKED, *DEFAULTS], ids=lambda case: f"{case[0]}({case[1]})")
    def _every_setting(self, request):
        self.name, self.settings = request.param
        self.translation_invariant = forgets_origins(self.name, self.settings)
        self.label_equivariant = is_equivariant(self.name, self.settings)

    def make(self, random_state):
        return POLICIES[self.name](**self.settings, random_state=random_state)


class TestPlain(PolicyContract):
    @pytest.fixture(autouse=True, params=[0.0, 0.3, 1.0])
    def _every_epsilon(self, request):
        self.epsilon = request.param

    def make(self, random_state):
        return example.EpsilonGreedy(epsilon=self.epsilon, random_state=random_state)


def test_no_policy_escapes():
    assert POLICIES
    public = {cls for cls in vars(policies).values() if isinstance(cls, type) and issubclass(cls, Policy)}
    assert set(POLICIES.values()) == public - {Policy, NativePolicy, dl.FGTS}
    assert {name for name, _ in CASES} == set(POLICIES) == {cls.__name__ for cls in POLICIES.values()}


@pytest.mark.parametrize("name", sorted(NO_EXPERIMENT))
def test_layered_policies_refuse_the_radius_of_the_experiments(name):
    with pytest.raises(dl.InvalidInput, match=r"Radius 'experiment' .* 'practical', 'tight', 'theory', or a number"):
        POLICIES[name](radius="experiment")


@pytest.mark.parametrize("name", sorted(LOOKS_AT_NORMS))
def test_exemption_from_translation_is_earned(name):
    shown = draw_arms(80)
    one, other = (POLICIES[name](**NARROW, ridge=1.0, random_state=0) for _ in range(2))
    assert play(one, shown) != play(other, [arms + SHIFT for arms in shown])


def test_dice_are_declared():
    assert set(DICE) == {name for name, cls in POLICIES.items() if cls(**DICE.get(name, {})).make_rule().is_randomized}
    assert not dl.VACDB().make_rule().is_randomized


@pytest.mark.parametrize("name", DICE)
def test_dice_follow_the_random_state(name):
    shown = draw_arms(80)
    one, other = (POLICIES[name](**DICE[name], random_state=seed) for seed in (0, 1))
    assert play(one, shown) != play(other, shown)


@pytest.mark.parametrize(("name", "settings"), [c for c in CASES if is_equivariant(*c)], ids=str)
def test_without_dice_the_random_state_does_not_matter(name, settings):
    shown = draw_arms(80)
    one, other = (POLICIES[name](**settings, random_state=seed) for seed in (0, 1))
    assert play(one, shown) == play(other, shown)


# -- the contract is published -------------------------------------------------------------------

THEIR_TESTS = """
from plain_policy import EpsilonGreedy
from duelist.testing import PolicyContract
from typing import Any

class TestTheirs(PolicyContract):
    def make(self, random_state):
        return EpsilonGreedy(random_state=random_state)

class OutOfRange(EpsilonGreedy):
    def ask(self, arms):
        super().ask(arms)
        return 0, len(arms)

class TestBroken(PolicyContract):
    def make(self, random_state):
        return OutOfRange(random_state=random_state)
"""


def test_in_the_tests_of_someone_else(tmp_path):
    (tmp_path / "test_theirs.py").write_text(THEIR_TESTS)
    (tmp_path / "plain_policy.py").write_text(EXAMPLE.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    rules = sum(name.startswith("test_") for name in dir(PolicyContract))
    assert "TestTheirs" not in told  # nothing to report: all passed
    assert "TestBroken::test_positions_are_in_range" in told
    assert re.search(r"assert (\d+) < \1$", told, re.MULTILINE)  # a failure shows the values
    assert int(told.split(" passed")[0].split()[-1]) >= rules


def test_importing_duelist_does_not_need_pytest():
    code = "import duelist, sys; sys.exit('pytest' in sys.modules or 'duelist.testing' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- the contract catches what it should: one broken policy a rule -------------------------------


class OutOfRange(example.EpsilonGreedy):
    def ask(self, arms):
        duel = super().ask(arms)
        return dl.Duel(duel.first, len(arms), duel.id)


class FloatPositions(example.EpsilonGreedy):
    def ask(self, arms):
        duel = super().ask(arms)
        return dl.Duel(float(duel.first), duel.second, duel.id)


class OwnDice(example.EpsilonGreedy):
    def __init__(self, random_state=None):
        super().__init__(1.0, random_state=np.random.SeedSequence())
        self.random_state = random_state


class StaleCopy(example.EpsilonGreedy):
    def clone(self, random_state):
        return self


class Scribbler(example.EpsilonGreedy):
    def ask(self, arms):
        arms -= arms.mean(axis=0)
        return super().ask(arms)


class TwoArmsOnly(example.EpsilonGreedy):
    def ask(self, arms):
        duel = super().ask(arms)
        return dl.Duel(duel.first, 1 - duel.first, duel.id)


class SharedMemory(example.EpsilonGreedy):
    told = 0

    def tell(self, duel, outcome, weight=1.0):
        super().tell(duel, outcome, weight)
        SharedMemory.told += 1

    def ask(self, arms):
        duel = super().ask(arms)
        return dl.Duel(duel.first, SharedMemory.told % len(arms), duel.id)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (OutOfRange, "test_positions_are_in_range"),
        (FloatPositions, "test_positions_are_in_range"),
        (OwnDice, "test_same_random_state_gives_the_same_duels"),
        (StaleCopy, "test_clone_starts_anew"),
        (StaleCopy, "test_clone_keeps_hyperparameters"),
        (StaleCopy, "test_clone_does_not_change_the_original"),
        (StaleCopy, "test_simulate_does_not_change_the_policy"),
        (Scribbler, "test_arms_are_not_modified"),
        (TwoArmsOnly, "test_one_arm_meets_itself"),
        (SharedMemory, "test_clone_does_not_change_the_original"),
    ],
)
def test_contract_catches(broken, rule):
    check = type("Check", (PolicyContract,), {"make": lambda self, random_state: broken(random_state=random_state)})
    with pytest.raises(AssertionError):
        getattr(check(), rule)()


class LearnsFromAsk(dl.MaxPairUCB):
    def ask(self, arms, **how):
        self.tell(super().ask(arms, **how), 1.0)
        return super().ask(arms, **how)


class ForgivesUnknown(dl.MaxPairUCB):
    def tell(self, duel, outcome, weight=1.0):
        if (duel.id if isinstance(duel, dl.Duel) else duel) in self.pending_:
            super().tell(duel, outcome, weight)


class IgnoresWeight(dl.MaxPairUCB):
    def tell(self, duel, outcome, weight=1.0):
        super().tell(duel, outcome)


class FirstMostlyWins(dl.MaxPairUCB):
    def tell(self, duel, outcome, weight=1.0):
        super().tell(duel, 0.5 + 0.5 * outcome, weight)


class LooksAtFeatures(dl.MaxPairUCB):
    def ask(self, arms, **how):
        duel = super().ask(arms, **how)
        first = int(np.argmax(np.linalg.norm(arms, axis=1)))
        return dl.Duel(first, duel.second, duel.id)

    def tell(self, duel, outcome, weight=1.0):
        super().tell(duel.id, outcome, weight)


class PrefersLowLabels(dl.MaxPairUCB):
    def ask(self, arms, **how):
        return dl.Duel(0, super().ask(arms, **how).second, self.pending_[-1])

    def tell(self, duel, outcome, weight=1.0):
        super().tell(duel.id, outcome, weight)


class LosesPending(dl.UniformPair):
    @classmethod
    def restore(cls, snapshot):
        policy = super().restore(snapshot)
        for number in policy.pending_:
            policy.forget(number)
        return policy


class LosesDice(dl.UniformPair):
    @classmethod
    def restore(cls, snapshot):
        policy = super().restore(snapshot)
        if policy.dim_ is not None:
            throw_dice(policy, known(policy).words ^ np.array([1, 0, 0, 0], np.uint64))
        return policy


class ArraysInSnapshot(dl.UniformPair):
    def snapshot(self):
        return {**super().snapshot(), "extra": (1.0, 2.0)}


IN_THE_MIDDLE = ("in the middle, four pending",)


@pytest.mark.parametrize(
    ("broken", "rule", "arguments"),
    [
        (LearnsFromAsk, "test_ask_learns_nothing", ()),
        (ForgivesUnknown, "test_told_twice_is_an_error", ()),
        (ForgivesUnknown, "test_never_asked_is_an_error", ()),
        (ForgivesUnknown, "test_forget", ()),
        (IgnoresWeight, "test_weight_two_equals_two_outcomes", ()),
        (FirstMostlyWins, "test_swapping_the_arms_changes_no_bit", ()),
        (LooksAtFeatures, "test_shifting_all_arms_changes_no_duel", ()),
        (PrefersLowLabels, "test_relabelled_arms_relabel_the_duel", ()),
        (LosesPending, "test_restored_policy_continues_bit_for_bit", ()),
        (LosesDice, "test_restored_policy_continues_bit_for_bit", ()),
        (ArraysInSnapshot, "test_snapshot_is_json", IN_THE_MIDDLE),
    ],
)
def test_native_contract_catches(broken, rule, arguments):
    made = {"make": lambda self, random_state: broken(random_state=random_state)}
    check = type("Check", (NativePolicyContract,), made)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(check(), rule)(*arguments)


@pytest.mark.parametrize("explore", ["value", "widest"])
def test_a_walk_starts_again_from_a_layer_that_has_learned_late(explore):
    # A walk through the layers is remembered while the arms stay; an outcome for a layer above it comes late.
    policy = dl.VACDB(alpha=2.0**-6, radius=4.0, explore=explore, random_state=0)  # drops some arms, not all
    (arms,) = draw_arms(1, least=6)
    rng, late, layers = np.random.default_rng(0), [], set()
    for _ in range(400):
        copy = dl.VACDB.restore(policy.snapshot())
        duel = policy.ask(arms)
        assert copy.ask(arms) == duel
        layers.add(pending(policy)[duel.id].layer)
        late.append(duel)
        if len(late) > 30:
            told = late.pop(int(rng.integers(len(late))))
            policy.tell(told, draw_outcome(arms, told, rng.random()))
    assert {0, 1} <= layers
