"""A simulation cut by policies and by runs, and joined again, is the simulation, to the bit; curves are the sums of its duels."""

import itertools
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.simulation.environments import FlippedVotes, Hypercube, Noiseless, PreferenceMatrix, RandomArms
from duelist.simulation.run_log import SUMS, Curves
from duelist.simulation.runs import Runs

WORLDS = {
    "fixed": Hypercube(dim=3),
    "changing": RandomArms(dim=3, n_arms=(2, 6), kind="clustered"),
    "noiseless": Noiseless(Hypercube(dim=2)),
    "flipped": FlippedVotes(RandomArms(dim=2, n_arms=4), first=300, share=0.1),
    "table": PreferenceMatrix([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]]),
}
HORIZON, RUNS = 1100, 7  # longer than a stretch of rounds


class Stubborn(dl.Policy):
    """In plain Python: the arms that won last, against a random one."""

    def __init__(self, random_state=None):
        self.random_state = random_state
        self._rng = np.random.default_rng(random_state)
        self._last = 0

    def ask(self, arms):
        return dl.Duel(min(self._last, len(arms) - 1), int(self._rng.integers(len(arms))), 0)

    def tell(self, duel, outcome, weight=1.0):
        self._last = duel.first if outcome else duel.second


def policies():
    return {"VACDB": dl.VACDB(horizon=HORIZON), "Thompson": dl.ThompsonPair(horizon=HORIZON), "Stubborn": Stubborn()}


def assert_same(a: Runs, b: Runs) -> None:
    assert (a.labels, a.settings, a.first_run, a.keeps) == (b.labels, b.settings, b.first_run, b.keeps)
    for label in a.labels:
        for mine, theirs in zip(map(np.asarray, a.kept(label)), map(np.asarray, b.kept(label)), strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("keep", ["duels", "curves"])
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_however_it_is_cut_the_whole_is_the_same(world, keep):
    chosen = policies()
    whole = dl.simulate(chosen, world, HORIZON, RUNS, seed=3, keep=keep)
    cuts = {"VACDB": (0, 1, 5, 7), "Thompson": (0, 7), "Stubborn": (0, 4, 6, 7)}
    parts = [
        dl.simulate({label: chosen[label]}, world, HORIZON, range(first, stop), seed=3, keep=keep, threads=1)
        for label, marks in cuts.items()
        for first, stop in itertools.pairwise(marks)
    ]
    assert_same(Runs.join(parts), whole)
    backwards = Runs.join(parts[::-1])
    assert_same(backwards.only(whole.labels), whole)


def test_a_part_is_what_is_simulated_of_those_runs():
    whole = dl.simulate(policies(), WORLDS["changing"], 50, RUNS, seed=3)
    assert_same(whole.part(range(2, 5)), dl.simulate(policies(), WORLDS["changing"], 50, range(2, 5), seed=3))
    assert whole.part(range(2, 5)).first_run == 2


def test_a_part_survives_its_file(tmp_path):
    for keep in ("duels", "curves"):
        part = dl.simulate(dl.MaxInP(), WORLDS["fixed"], 50, range(2, 5), keep=keep)
        assert_same(Runs.load(part.save(tmp_path / f"{keep}.npz")), part)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_curves_are_the_running_sums_of_the_duels(world):
    chosen = policies()
    duels = dl.simulate(chosen, world, HORIZON, 3, seed=5, keep="duels")
    curves = dl.simulate(chosen, world, HORIZON, 3, seed=5, keep="curves", points=23)
    assert curves.rounds[0] == 1
    assert curves.horizon == HORIZON
    assert len(curves.rounds) == 23
    for label in chosen:
        log = duels.log(label)
        for kind in ("average", "weak", "strong"):
            at = curves.rounds - 1
            np.testing.assert_array_equal(curves.regret(label, kind), duels.regret(label, kind)[:, at])
            np.testing.assert_array_equal(curves.final(label, kind), duels.final(label, kind))
        kept: Any = curves.kept(label)
        counts = np.stack([np.bincount(run, minlength=32) for run in log.layer])
        np.testing.assert_array_equal(kept.layers, counts)


def test_variances_are_those_of_the_outcomes():
    runs = dl.simulate(dl.VACDB(horizon=300, scale=0.01), WORLDS["fixed"], 300, 4, keep="duels").log("VACDB")
    kept: Any = dl.simulate(dl.VACDB(horizon=300, scale=0.01), WORLDS["fixed"], 300, 4, keep="curves").kept("VACDB")
    chance = 1.0 / (1.0 + np.exp(runs.first_gap - runs.second_gap))
    each = chance * (1.0 - chance)
    np.testing.assert_allclose(kept.variance[:, -1], each.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(kept.learned_variance[:, -1], (each * (runs.layer > 0)).sum(axis=1), rtol=1e-12)


def test_curves_take_the_same_room_however_long_the_runs_are():
    sizes = []
    for horizon in (1000, 4000):
        runs = dl.simulate(dl.UniformPair(), WORLDS["fixed"], horizon, 2, keep="curves", points=50)
        sizes.append(sum(array.nbytes for array in runs.kept("UniformPair")))
    assert sizes[0] == sizes[1] < 2 * (50 * len(SUMS) * 8 + 32 * 8) + 50 * 8 + 1


def test_very_many_duels_are_not_kept_unless_asked(monkeypatch):
    from duelist.simulation import run_log as recording

    monkeypatch.setattr(recording, "MOST_BYTES", 26 * 40 * 3)
    assert dl.simulate(dl.UniformPair(), WORLDS["fixed"], 40, 3).keeps == "duels"
    assert dl.simulate(dl.UniformPair(), WORLDS["fixed"], 41, 3).keeps == "curves"
    assert dl.simulate(dl.UniformPair(), WORLDS["fixed"], 41, 3, keep="duels").keeps == "duels"


def test_the_limit_is_as_documented():
    from duelist.simulation import run_log as recording

    assert recording.MOST_BYTES == 2**30
    assert sum(array.dtype.itemsize for array in recording.blank_log(1, 1)) == recording.BYTES_PER_DUEL


def test_what_is_not_kept_is_refused_with_the_way_to_keep_it():
    runs = dl.simulate(dl.UniformPair(), WORLDS["fixed"], 20, 2, keep="curves")
    for ask in (runs.log, runs.duels, runs.outcomes, runs.layers, lambda x: runs.regret(x, cumulative=False)):
        with pytest.raises(dl.InvalidInput, match="keep='duels'"):
            ask("UniformPair")


def test_summary_and_plot_of_curves_are_those_of_the_duels():
    import matplotlib as mpl

    mpl.use("Agg")
    duels, curves = (dl.simulate(policies(), WORLDS["fixed"], 60, 5, keep=keep) for keep in ("duels", "curves"))
    assert duels.summary() == curves.summary()
    drawn = [runs.plot().get_lines()[0].get_xydata() for runs in (duels, curves)]
    np.testing.assert_array_equal(drawn[0], drawn[1])  # 60 rounds are fewer than 201 points


@pytest.mark.parametrize("runs", [range(0), range(3, 3), range(0, 6, 2), range(-1, 3)])
def test_a_range_of_no_runs_is_named(runs):
    with pytest.raises(dl.InvalidInput, match=r"range\("):
        dl.simulate(dl.UniformPair(), WORLDS["fixed"], 20, runs)


def part(label="a", runs=range(3), **changes):
    settings = {"environment": WORLDS["fixed"], "horizon": 20, "seed": 0, **changes}
    return dl.simulate({label: dl.UniformPair()}, runs=runs, **settings)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "No parts"),
        ([part(), part(runs=range(4, 6))], "have a gap"),
        ([part(), part(runs=range(2, 6))], "overlap"),
        ([part(), part("b", runs=range(3, 6))], "runs 0 to 2 of 'a' and runs 3 to 5 of 'b'"),
        ([part(), part(runs=range(3, 6), seed=1)], "seed"),
        ([part(), part(runs=range(3, 6), horizon=21)], "horizon"),
        ([part(), part(runs=range(3, 6), environment=Hypercube(dim=2))], "environment"),
        ([part(), part(runs=range(3, 6), keep="curves")], "same keep and points"),
        ([part(keep="curves"), part(runs=range(3, 6), keep="curves", points=7)], "same keep and points"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(dl.InvalidInput, match=message):
        Runs.join(parts)


def test_one_label_of_two_policies_is_refused():
    other = dl.simulate({"a": dl.MaxInP()}, WORLDS["fixed"], 20, range(3, 6))
    with pytest.raises(dl.InvalidInput, match="different labels"):
        Runs.join([part(), other])


def test_a_part_that_is_not_there_is_refused():
    with pytest.raises(dl.InvalidInput, match="runs 0 to 2"):
        part().part(range(2, 4))


def test_a_curve_has_two_points_at_least():
    with pytest.raises(dl.InvalidInput, match="points is 1"):
        part(keep="curves", points=1)


def test_curves_have_a_value_for_every_run_and_round():
    kept = part(keep="curves").kept("a")
    assert isinstance(kept, Curves)
    assert {getattr(kept, name).shape for name in SUMS} == {(3, 20)}


@pytest.mark.parametrize("keep", ["duels", "curves"])
def test_runs_are_tidy_frames(keep):
    runs = dl.simulate(policies(), WORLDS["fixed"], 30, range(2, 5), keep=keep, points=4)
    pandas, polars = runs.to_pandas(), runs.to_polars()
    assert list(pandas.columns) == polars.columns == ["policy", "run", "round", "average", "weak", "strong"]
    assert len(pandas) == len(polars) == 3 * 3 * (30 if keep == "duels" else 4)
    for label in runs.labels:
        mine = pandas[(pandas["policy"] == label) & (pandas["run"] == 4) & (pandas["round"] == 30)]
        assert float(mine["weak"].iloc[0]) == runs.final(label, "weak")[2]
    np.testing.assert_array_equal(pandas["average"].to_numpy(), polars["average"].to_numpy())
