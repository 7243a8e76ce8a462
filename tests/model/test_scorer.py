"""Scorers: what they say against the model, that files bring them back, and that they need NumPy alone."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.model.fit import fit_scorer
from duelist.model.scorer import MEANS, Scorer, load_scorer

DIM = 3
THETA = np.array([1.5, -0.5, 0.0])


def some(**fields):
    return Scorer(**{"theta": THETA, "centre": np.array([1.0, 2.0, 3.0]), "votes": 12.0, "source": "here", **fields})


def learned(estimator="exact", votes=400, link="logistic"):
    rng = np.random.default_rng(0)
    policy = dl.UniformPair(random_state=0, estimator=estimator, link=link)
    for _ in range(votes):
        arms = rng.normal(size=(4, DIM)) * [1.0, 10.0, 0.1]
        duel = policy.ask(arms)
        margin = (arms[duel.first] - arms[duel.second]) / [1.0, 10.0, 0.1] @ THETA
        policy.tell(duel, float(rng.random() < dl.get_link(link).mean(margin)))
    return policy


def test_scores_are_linear_and_preferences_follow_from_them():
    scorer, rng = some(), np.random.default_rng(1)
    one, other = rng.normal(size=(2, 5, 7, DIM))
    np.testing.assert_allclose(scorer.score(one), (one - [1.0, 2.0, 3.0]) @ THETA)
    np.testing.assert_allclose(scorer.prefer(one, other), special.expit((one - other) @ THETA))
    np.testing.assert_allclose(scorer.prefer(one, other) + scorer.prefer(other, one), 1.0)
    assert scorer.score(one[0, 0]).shape == ()
    assert scorer.score(np.array([1.0, 2.0, 3.0])) == 0.0


def test_features_as_they_were_before_they_were_scaled_score_alike():
    rng = np.random.default_rng(4)
    mean, scale, x = rng.normal(size=3), rng.uniform(0.1, 100.0, 3), rng.normal(size=(5, 3)) * 50.0
    np.testing.assert_allclose(some().unstandardized(mean, scale).score(x), some().score((x - mean) / scale))


@pytest.mark.parametrize("link", MEANS)
def test_chances_are_those_of_the_link(link):
    v = np.concatenate([np.linspace(-30.0, 30.0, 61), [-1e4, 1e4, 0.0]])
    independent = {
        "logistic": special.expit,
        "probit": stats.norm.cdf,
        "exponential": lambda v: np.where(
            v < 0, 0.5 * np.exp(np.minimum(v, 0.0)), 1 - 0.5 * np.exp(-np.maximum(v, 0.0))
        ),
    }
    scorer = Scorer(np.ones(1), link)
    np.testing.assert_allclose(scorer.prefer(v[:, None], np.zeros((len(v), 1))), independent[link](v), atol=1e-15)
    np.testing.assert_allclose(MEANS[link](v), dl.get_link(link).mean(v), atol=1e-15)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_file_brings_it_back_to_the_bit(tmp_path, suffix):
    named = {"columns": ("price", "stars", "größe"), "feature_note": "columns"}
    scorer = some(theta=THETA / 3.0, scale=np.array([0.1, 1e-9, 0.0]), ridge=np.full(3, np.pi), link="probit", **named)
    path = scorer.save(tmp_path / f"scorer{suffix}")
    again = load_scorer(path)
    for name in ("theta", "centre", "scale", "ridge"):
        np.testing.assert_array_equal(getattr(again, name), getattr(scorer, name))
    assert (again.link, again.votes, again.source) == ("probit", 12.0, "here")
    assert {"columns": again.columns, "feature_note": again.feature_note} == named
    assert load_scorer(some().save(path)).columns == ()
    assert path.stat().st_size < 2500


def test_a_json_file_is_plain(tmp_path):
    plain = json.loads(some().save(tmp_path / "scorer.json").read_text())
    assert plain["format"] == "duelist.scorer"
    assert plain["version"] == 1
    assert plain["theta"] == THETA.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "is not a scorer"),
        ("{", "is not a scorer"),
        ('{"format": "duelist.simulation.runs"}', "is not a scorer"),
        ('{"format": "duelist.scorer", "version": 2}', "has version 2, but this duelist reads 1"),
        ('{"format": "duelist.scorer", "version": 1, "theta": [1]}', "has no 'centre'"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "scorer.json").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_scorer(tmp_path / "scorer.json")
    (tmp_path / "scorer.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(InvalidInput, match="is not a scorer"):
        load_scorer(tmp_path / "scorer.npz")


def test_objects_in_an_npz_are_not_loaded(tmp_path):
    with (tmp_path / "scorer.npz").open("wb") as file:
        np.savez(file, format=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InvalidInput, match="is not a scorer"):
        load_scorer(tmp_path / "scorer.npz")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"theta": np.zeros((2, 2))}, r"theta has shape \(2, 2\)"),
        ({"theta": [np.nan]}, "theta"),
        ({"link": "cauchy"}, "link is 'cauchy'\\. Choose one of logistic, probit, exponential"),
        ({"columns": ("a", "b")}, "columns are a, b\\. Give 3 names"),
        ({"centre": np.zeros(2)}, r"centre has shape \(2,\)\. Give 3 numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, message):
    with pytest.raises(InvalidInput, match=message):
        some(**fields)


@pytest.mark.parametrize("features", [np.zeros(2), np.zeros((3, 4)), 1.0, [[np.nan] * 3]])
def test_features_that_do_not_fit_are_refused(features):
    with pytest.raises(InvalidInput, match="features"):
        some().score(features)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"ends in \.json or \.npz"):
        some().save(tmp_path / "scorer.pickle")


@pytest.mark.parametrize("link", MEANS)
def test_a_policy_hands_out_what_it_learned(link):
    policy = learned(link=link)
    scorer = policy.scorer()
    np.testing.assert_allclose(scorer.theta, policy.reward_theta_, rtol=1e-12)
    assert (scorer.link, scorer.votes, scorer.source) == (link, 400.0, "UniformPair")
    np.testing.assert_allclose(scorer.scale / [1.0, 10.0, 0.1], 1.0, rtol=0.15)  # each within 15 % after 400 votes
    assert (scorer.ridge > 0.0).all()


def test_the_one_pass_estimator_gives_its_own_estimate():
    policy = learned("online")
    np.testing.assert_allclose(policy.scorer().theta, policy.theta_, rtol=1e-9)
    assert policy.scorer().votes == 400.0


def test_a_policy_without_votes_prefers_nothing():
    policy = dl.UniformPair()
    with pytest.raises(InvalidInput, match="has seen no arms yet"):
        policy.scorer()
    policy.initialize(np.eye(3))
    assert (policy.scorer().theta == 0.0).all()
    assert policy.scorer().votes == 0.0


def test_a_fit_with_weights():
    rng = np.random.default_rng(2)
    z, won = rng.normal(size=(50, DIM)), (rng.random(50) < 0.5).astype(float)
    twice = fit_scorer(np.repeat(z, 2, axis=0), np.repeat(won, 2), votes=100.0)
    weighted = fit_scorer(z, won, np.full(50, 2.0), votes=100.0)
    np.testing.assert_allclose(weighted.theta, twice.theta, rtol=1e-8)
    np.testing.assert_allclose(weighted.scale, np.sqrt(np.square(z).mean(axis=0) / 2.0))


def test_it_needs_neither_the_engine_nor_scipy(tmp_path):
    some().save(tmp_path / "scorer.json")
    program = (
        "import sys, duelist as dl; scorer = dl.load_scorer(sys.argv[1]); assert scorer.prefer([1, 0, 0], [0, 0, 0]) > 0.5; "
        "assert not {'duelist.native', 'scipy', 'duelist.policies.engine'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "scorer.json")], check=True)


@pytest.mark.parametrize(
    "body", [b"", b"garbage", b"PK\x03\x04 and no more", b"\x93NUMPY\x01\x00", b"\x80\x04K\x01.", b"\x00" * 400]
)
@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_garbage_is_no_scorer(tmp_path, body, suffix):
    path = tmp_path / f"scorer{suffix}"
    path.write_bytes(body)
    with pytest.raises(dl.InvalidInput, match=r"is not a scorer.*\. Give a file that `Scorer.save` wrote"):
        dl.load_scorer(path)


def test_a_scorer_that_was_cut_or_turned_into_something_else_is_refused(tmp_path):
    path = dl.Scorer(np.array([1.0, 2.0])).save(tmp_path / "scorer.npz")
    whole = path.read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:cut])
        with pytest.raises(dl.InvalidInput, match="is not a scorer"):
            dl.load_scorer(path)
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            dl.load_scorer(path)
        except dl.InvalidInput:
            continue
    np.save(tmp_path / "plain.npy", np.ones(3))
    (tmp_path / "plain.npz").write_bytes((tmp_path / "plain.npy").read_bytes())
    with pytest.raises(dl.InvalidInput, match="is not a scorer"):
        dl.load_scorer(tmp_path / "plain.npz")
    with pytest.raises(dl.InvalidInput, match="There is no file"):
        dl.load_scorer(tmp_path / "missing.npz")


def played(policy, rounds=150):
    """A layered policy and its votes: differences, outcomes, and what each was counted with."""
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(rounds):
        arms = rng.normal(size=(6, 3))
        share = policy.suggest(arms).share
        duel = policy.ask(arms)
        won = float(rng.random() < 1 / (1 + np.exp(-(arms[duel.first] - arms[duel.second]) @ [1.0, -1.0, 0.5])))
        policy.tell(duel, won)
        rows.append((arms[duel.first] - arms[duel.second], won, share))
    return tuple(map(np.array, zip(*rows, strict=True)))


def test_a_scorer_of_a_layered_policy_counts_votes_as_the_policy_does():
    """VACDB's weights w^2 are part of its estimator, and not to be had back; a study counts every vote once."""
    policy = dl.VACDB(horizon=150, random_state=0)
    z, won, share = played(policy)
    assert share.min() < 1.0
    learned = share > 0.0
    weighted = dl.fit_mle(z[learned], won[learned], share[learned], ridge="auto").theta
    alike = dl.fit_mle(z, won, ridge="auto").theta
    assert policy.scorer().theta == pytest.approx(weighted, rel=1e-6)
    assert not np.allclose(weighted, alike, rtol=1e-3)
