"""Figure 2: the models fitted to real votes, what the votes leave open, and the whole experiment in small."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from duelist.research.datasets import load_eventtime, load_photos
from duelist.research.experiments import tuning
from duelist.research.experiments.lab import Lab, Result
from duelist.research.experiments.reports.findings import DOES_NOT_HOLD, HOLDS, HOLDS_HERE
from duelist.research.paper import figure_2, fitted_models
from duelist.research.paper.problems import ALL_POLICIES
from tests.helpers.policy_state import known


@pytest.fixture(scope="module")
def folder(data_folder):
    return data_folder


@pytest.fixture(scope="module")
def counts(folder):
    return load_eventtime(folder).counts


@pytest.fixture(scope="module")
def photos(folder):
    return load_photos(folder)


@pytest.fixture(scope="module")
def utilities(counts):
    return fitted_models.fit_utilities(counts)


def log_likelihood(counts, u):
    return (counts * np.log(expit(u[:, None] - u[None]))).sum()


# -- fits --------------------------------------------------------------------------------


def test_fitted_utilities_are_where_the_likelihood_is_flat(counts, utilities):
    chance = expit(utilities[:, None] - utilities[None])
    slope = counts.sum(axis=1) - ((counts + counts.T) * chance).sum(axis=1) - fitted_models.EVENT_RIDGE * utilities
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)
    assert utilities.sum() == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("criterion", [0, 1, 2])
def test_the_photo_model_is_where_its_likelihood_is_flat(photos, criterion):
    arms, wins = photos.standardised, photos.wins[criterion]
    theta = fitted_models.fit_theta(arms, wins, fitted_models.PHOTO_RIDGE)
    u = arms @ theta
    pull = wins.sum(axis=1) - ((wins + wins.T) * expit(u[:, None] - u[None])).sum(axis=1)
    np.testing.assert_allclose(arms.T @ pull, fitted_models.PHOTO_RIDGE * theta, atol=1e-7)


@pytest.mark.parametrize("dim", fitted_models.DIMS)
def test_every_dimension_fits_the_votes_alike(counts, utilities, dim):
    """The likelihood sees features and theta only through x . theta, so the dimension cannot be told from votes."""
    for seed in (0, 1):
        arms, theta = fitted_models.fit_jointly(counts, dim, np.random.default_rng(seed))
        assert arms.shape == (100, dim)
        u = arms @ theta
        np.testing.assert_allclose(u - u.mean(), utilities, atol=1e-4)
        assert log_likelihood(counts, u) == pytest.approx(log_likelihood(counts, utilities), abs=1e-4)


def test_held_out_votes_do_not_tell_the_dimension_either(folder, utilities, monkeypatch):
    monkeypatch.setattr(fitted_models, "DIMS", (1, 3, 5))
    monkeypatch.setattr(fitted_models, "FOLDS", 2)
    rows = fitted_models.dimension_rows(load_eventtime(folder), utilities)
    assert [row[:2] for row in rows] == [(1, 101), (3, 303), (5, 505)]
    for _, _, held_out, difference, change in rows:
        assert np.log(0.5) < held_out < 0.0
        assert abs(difference) <= 1e-5
        assert change <= 1e-3


@pytest.mark.parametrize("dim", [1, 2, 5, 10])
def test_features_give_back_the_utilities(utilities, dim):
    arms, theta = fitted_models.factorise(utilities, dim, seed=3)
    np.testing.assert_allclose(arms @ theta, utilities, atol=1e-9)
    np.testing.assert_allclose(arms.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(arms.std(axis=0), 1.0)


def test_features_depend_on_the_seed_alone(utilities):
    first, again, other = (fitted_models.factorise(utilities, 5, seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(("criterion", "percent"), [(0, 71), (1, 67), (2, 64)])
def test_the_linear_photo_model_predicts_as_many_held_out_votes_as_is_known(photos, criterion, percent):
    row = fitted_models.photo_row(photos, criterion)
    assert round(100 * row[3]) == percent
    assert row[1] == photos.wins[criterion].sum()


def test_photo_worlds_share_their_features(photos):
    simulated, replayed = fitted_models.photo_worlds(photos)
    np.testing.assert_array_equal(simulated.arms, replayed.arms)
    assert simulated.dim == replayed.dim == 23
    np.testing.assert_array_equal(replayed.matrix, photos.shares[0])


def test_the_published_scale_is_in_multiples_of_the_kappa_the_policy_derives(utilities):
    world = fitted_models.event_world(utilities)
    policy: Any = figure_2.publish("VACDB", {"scale": 3.0, "explore": "widest"}, world)
    policy.ask(world.arms)
    kappa = known(policy).kappa
    assert policy.scale == pytest.approx(3.0 * kappa)
    staged: Any = figure_2.publish("StaD", {"scale": 3.0}, world)
    assert staged.scale == 3.0


# -- conclusions ----------------------------------------------------------------------------


def result(mean, final):
    """A result with rounds 1000, 2000, .. and the given curve and final regrets."""
    rounds = 1000 * np.arange(1, len(mean) + 1)
    known = {"rounds": rounds, "mean": np.asarray(mean, float), "final": np.asarray(final, float)}
    return Result(**{name: known.get(name, np.zeros(1)) for name in Result.__dataclass_fields__})


@pytest.mark.parametrize(
    ("ours", "theirs", "round_"),
    [
        ([1, 2, 3], [2, 3, 4], 1000),
        ([5, 5, 5], [4, 5, 6], 3000),
        ([5, 5, 5, 5], [4, 6, 5, 6], 4000),
        ([5, 5, 9], [4, 6, 8], None),
        ([5, 5, 8], [4, 6, 8], None),
    ],
)
def test_the_crossing_is_the_round_from_which_vacdb_stays_below(ours, theirs, round_):
    assert figure_2.crossing({"VACDB": result(ours, [1, 2]), "MaxInP": result(theirs, [1, 2])}) == round_


LOW, HIGH = [1.0, 1.1, 0.9, 1.0], [5.0, 5.1, 4.9, 5.0]


@pytest.mark.parametrize(
    ("ours", "theirs", "conclusion", "named"),
    [
        (result([3, 3, 3, 3], LOW), result([2, 4, 6, 8], HIGH), HOLDS, "from round 2000 on the mean of VACDB is lower"),
        (result([5, 5, 5, 5], LOW), result([2, 3, 4, 8], HIGH), HOLDS_HERE, "only from round 4000 on"),
        (result([5, 5, 5, 9], HIGH), result([2, 3, 4, 8], LOW), DOES_NOT_HOLD, "ends with the higher mean"),
        (result([1, 1, 1, 1], LOW), result([2, 2, 2, 2], LOW), DOES_NOT_HOLD, r"\[0, 0\]"),
        (
            result([1, 1, 1, 1], [1.0] * 20),
            result([2, 2, 2, 2], [0.9] * 11 + [50.0] * 9),
            HOLDS_HERE,
            "only in the mean, not in most runs.*9 of 20 runs",
        ),
    ],
)
def test_the_conclusion_follows_from_the_numbers(ours, theirs, conclusion, named):
    claim = figure_2.crossing_claim("events, as published", {"VACDB": ours, "MaxInP": theirs})
    assert claim.conclusion == conclusion
    assert re.search(named, claim.figure)
    assert "as published" in claim.setting


# -- the whole experiment ----------------------------------------------------------------

SMALL = {
    "HORIZON": 30, "RUNS": 3, "TUNING_HORIZON": 10, "TUNING_RUNS": 1, "SCALE_RUNS": 2, "OTHER_RUNS": 2,
    "PHOTO_HORIZON": 12, "PHOTO_RUNS": 2, "PHOTO_TUNING_HORIZON": 6, "PHOTO_TUNING_RUNS": 1,
    "KAPPA_SCALES": (1e-3,), "LAYERED_SCALES": (1.0,),
}  # fmt: skip


@pytest.fixture
def small(folder, monkeypatch):
    for name, value in SMALL.items():
        monkeypatch.setattr(figure_2, name, value)
    monkeypatch.setattr(fitted_models, "DIMS", (1, 2))
    monkeypatch.setattr(fitted_models, "FOLDS", 2)
    monkeypatch.setattr(tuning, "SCALES", (0.5, 1.0))
    monkeypatch.setattr(tuning, "RIDGES", (1.0,))
    monkeypatch.setenv("DUELIST_DATA", str(folder))


def test_the_experiment_has_all_its_parts(small, tmp_path):
    labels = []
    outcome = figure_2.run(Lab(tmp_path, lambda label, _done, _total: labels.append(label)))
    assert outcome.name == figure_2.NAME == "figure-2"
    panels = {"events-as-published", "events-fairly-tuned", "photos-simulated", "photos-real-votes"}
    assert set(outcome.tables) == {"dimension", "photo-model", "other-features", *panels}
    for panel in panels:
        assert [row[0] for row in outcome.tables[panel].rows] == list(ALL_POLICIES)
        assert (
            f"{SMALL['PHOTO_HORIZON' if panel.startswith('photos') else 'HORIZON']} rounds"
            in outcome.tables[panel].title
        )
    for table in outcome.tables.values():
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(outcome.tables["other-features"].rows) == 8
    assert len(outcome.claims) == 4
    assert {claim.conclusion for claim in outcome.claims} <= {HOLDS, HOLDS_HERE, DOES_NOT_HOLD}
    assert set(outcome.figures) == set(outcome.captions) == {"regret", "runs"}
    assert outcome.settings["dropped from EventTime"]["gold pairs capped"] == 1
    assert {"figure 2: events, as published", "figure 2: photos, real votes"} <= set(labels)


def test_the_experiment_repeats_itself_from_its_folder(small, tmp_path):
    first, again = Lab(tmp_path), Lab(tmp_path)
    claims = figure_2.run(first).claims
    assert figure_2.run(again).claims == claims
    assert first.played > 0
    assert again.played == 0
