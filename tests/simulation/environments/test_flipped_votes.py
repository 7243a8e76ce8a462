"""FlippedVotes: which votes are turned round, for whom, and how it is written."""

import json
import math

import numpy as np
import pytest

import duelist as dl
from duelist.reference.links import link_mean
from duelist.simulation.environments import (
    FixedArms,
    FlippedVotes,
    Hypercube,
    Noiseless,
    PreferenceMatrix,
    RandomArms,
    Truth,
)
from duelist.simulation.environments.registry import make_environment

LINKS = ("logistic", "probit", "exponential")
SIX_SIGMA = 6.0


class SameDuel(dl.Policy):
    """Asks the same duel in every round."""

    def __init__(self, first=0, second=1):
        self.first, self.second = first, second

    def ask(self, arms):
        return dl.Duel(self.first, self.second)

    def tell(self, duel, outcome, weight=1.0):
        pass


class PlainUniform(dl.Policy):
    """UniformPair behind a plain Python face."""

    def __init__(self, random_state=None):
        self.random_state = random_state
        self.inner = dl.UniformPair(random_state=random_state)

    def ask(self, arms):
        return self.inner.ask(arms, distinct=False)

    def tell(self, duel, outcome, weight=1.0):
        self.inner.tell(duel, outcome, weight)


# -- the chance of a vote ----------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_the_chance_of_a_vote(link):
    utilities = np.array([0.3, -1.1, 2.0])
    for first, share in ((0, 0.0), (5, 0.0), (0, 0.25), (3, 1.0), (2, 0.5)):
        truth = FlippedVotes(Hypercube(dim=2, link=link), first=first, share=share).truth()
        for t in range(1, 8):
            for i, j in ((0, 1), (2, 1), (1, 1)):
                honest = link_mean(link, utilities[i] - utilities[j])
                turned = 1.0 if t <= first else share
                expected = turned * (1.0 - honest) + (1.0 - turned) * honest
                assert truth.vote_model().vote_probability(utilities, i, j, t) == pytest.approx(expected, rel=1e-13)


def test_noiseless_votes_are_turned_round_whichever_is_inside():
    utilities = np.array([1.0, 0.0])
    for environment in (
        FlippedVotes(Noiseless(Hypercube(dim=2)), first=2),
        Noiseless(FlippedVotes(Hypercube(dim=2), first=2)),
    ):
        assert [environment.truth().vote_model().vote_probability(utilities, 0, 1, t) for t in (1, 2, 3)] == [
            0.0,
            0.0,
            1.0,
        ]


def test_flipping_twice_is_refused():
    with pytest.raises(dl.InvalidInput, match="Give one FlippedVotes both"):
        FlippedVotes(FlippedVotes(Hypercube(dim=2), first=10), share=0.2)


# -- simulated votes ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "compiled"])
@pytest.mark.parametrize("first", [0, 1, 7, 1003, 5000])
def test_the_first_votes_are_all_turned_round_and_no_other(first, kind):
    # More rounds than a stretch, so that the count goes on across stretches; noiseless, so that votes tell.
    arms = np.array([[1.0], [0.0]])
    policy = SameDuel() if kind == "plain" else dl.UniformPair()
    inside = Noiseless(FixedArms(arms, theta=[1.0]))
    runs = dl.simulate({"p": policy}, FlippedVotes(inside, first=first), 2100, runs=3, seed=1)
    log = runs.log("p")
    said = log.outcome == 1
    honest = log.first < log.second
    for run in range(3):
        real = log.first[run] != log.second[run]
        turned = said[run] != honest[run]
        assert turned[:first][real[:first]].all()
        assert not turned[first:][real[first:]].any()
        assert real.sum() > 500


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.93, 1.0])
def test_so_many_votes_are_turned_round(share):
    arms = np.array([[1.0], [0.0]])
    environment = FlippedVotes(Noiseless(FixedArms(arms, theta=[1.0])), share=share)
    said = dl.simulate({"p": SameDuel()}, environment, 2000, runs=5, seed=2).outcomes("p")
    n = said.size
    assert abs((said == 0).sum() - n * share) <= SIX_SIGMA * math.sqrt(n * share * (1.0 - share))


def test_votes_are_turned_round_with_the_chance_of_a_noisy_vote():
    arms = np.array([[1.0], [0.0]])
    environment = FlippedVotes(FixedArms(arms, theta=[1.3]), first=1000, share=0.2)
    said = dl.simulate({"p": SameDuel()}, environment, 4000, runs=8, seed=3).outcomes("p").astype(float)
    p = float(link_mean("logistic", 1.3))
    for part, chance in ((said[:, :1000], 1.0 - p), (said[:, 1000:], 0.8 * p + 0.2 * (1.0 - p))):
        assert abs(part.mean() - chance) <= SIX_SIGMA * math.sqrt(chance * (1.0 - chance) / part.size)


@pytest.mark.parametrize(
    "inside",
    [Hypercube(dim=3), RandomArms(dim=3, n_arms=(2, 5)), Noiseless(Hypercube(dim=2)), FixedArms(np.eye(3), scale=2.0)],
    ids=lambda e: type(e).__name__,
)
def test_a_plain_policy_and_a_compiled_one_meet_the_same_votes(inside):
    environment = FlippedVotes(inside, first=150, share=0.3)
    policies = {"plain": PlainUniform(), "compiled": dl.UniformPair()}
    runs = dl.simulate(policies, environment, 1200, runs=3, seed=4)
    plain, compiled = runs.log("plain"), runs.log("compiled")
    for name in ("first", "second", "outcome", "first_gap", "second_gap"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(compiled, name))
    honest = dl.simulate(dl.UniformPair(), inside, 1200, runs=3, seed=4).log("UniformPair")
    np.testing.assert_array_equal(honest.first, compiled.first)
    np.testing.assert_array_equal(honest.first_gap, compiled.first_gap)  # regret is measured by the truth inside
    assert (honest.outcome != compiled.outcome).any()


def test_without_an_adversary_nothing_changes():
    runs = [dl.simulate(dl.MaxPairUCB(), e, 300, runs=2, seed=5) for e in (Hypercube(3), FlippedVotes(Hypercube(3)))]
    for one, other in zip(*(r.log("MaxPairUCB") for r in runs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_table_of_chances_is_turned_round():
    table = np.array([[0.5, 0.9], [0.1, 0.5]])
    truth = FlippedVotes(PreferenceMatrix(table), first=1, share=0.25).truth()
    assert isinstance(truth, Truth)
    chances = [truth.vote_model().vote_probability(np.zeros(2), 0, 1, t) for t in (1, 2)]
    assert chances == pytest.approx([0.1, 0.75 * 0.9 + 0.25 * 0.1])


# -- how it is written -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "first", "share", "inside"),
    [
        ("FlippedVotes:first=400:Hypercube:dim=5", 400, 0.0, {"environment": "Hypercube", "dim": 5}),
        ("flipped-votes:share=0.1,first=3:random-arms:dim=4,n_arms=(2,6)", 3, 0.1, {"environment": "RandomArms"}),
        ("FlippedVotes:Hypercube:dim=3,scale=2", 0, 0.0, {"environment": "Hypercube", "scale": 2.0}),
        ("FlippedVotes:Hypercube", 0, 0.0, {"environment": "Hypercube"}),
        ("FlippedVotes:first=2", 2, 0.0, {"environment": "Hypercube"}),
        ("FlippedVotes", 0, 0.0, {"environment": "Hypercube"}),
        ("FlippedVotes:first=2:Noiseless:Hypercube:dim=2", 2, 0.0, {"environment": "Noiseless"}),
    ],
)
def test_specs(spec, first, share, inside):
    environment = make_environment(spec)
    assert isinstance(environment, FlippedVotes)
    assert (environment.first, environment.share) == (first, share)
    described = environment.inside.describe()
    assert {key: described[key] for key in inside} == inside
    assert environment.dim == environment.inside.dim
    assert json.loads(json.dumps(environment.describe()))["first"] == first


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("FlippedVotes:last=3:Hypercube", "'last'"),
        ("FlippedVotes:environment=3:Hypercube", "environment"),
        ("FlippedVotes:first=-1:Hypercube", "first is -1"),
        ("FlippedVotes:share=1.5:Hypercube", "share is 1.5"),
        ("FlippedVotes:first=2:Nowhere", "environment is 'Nowhere'"),
        ("FlippedVotes:first=:Hypercube", "first"),
    ],
)
def test_specs_that_say_nonsense(spec, message):
    with pytest.raises(dl.InvalidInput, match=message):
        make_environment(spec)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first": -1}, "first is -1"),
        ({"first": 1.5}, "first is 1.5"),
        ({"share": -0.1}, "share is -0.1"),
        ({"share": math.nan}, "share is nan"),
        ({"share": [0.1, 0.2]}, "share is"),
        ({"environment": "Hypercube"}, "'Hypercube' is not an environment"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(dl.InvalidInput, match=message):
        FlippedVotes(**{"environment": Hypercube(dim=2), **settings})
