"""The scorer of a study, fitted to its votes and applicable to new items, and the command that writes it."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.study import create_study
from duelist.study.imports import plan_items
from duelist.study.items.features import apply_recipe

FEATURES = np.random.default_rng(0).normal(size=(12, 3))
UTILITY = FEATURES @ [2.0, 0.0, -1.0]


def voted(storage: str = "memory", votes: int = 150, **settings: object) -> dl.study.Study:
    study = create_study("captions", storage, goal="learn", **settings)
    study.add_arms([f"c{k}" for k in range(12)], FEATURES)
    rng = np.random.default_rng(1)
    for _ in range(votes):
        duel = study.ask(rater="ana")
        one, other = (int(arm.id[1:]) for arm in (duel.first, duel.second))
        chance = 1.0 / (1.0 + np.exp(UTILITY[other] - UTILITY[one]))
        study.tell(duel, "tie" if rng.random() < 0.1 else ("first" if rng.random() < chance else "second"), rater="ana")
    return study


@pytest.mark.parametrize("policy", [None, "VACDB"])
def test_a_scorer_is_fitted_to_the_current_votes(policy: str | None) -> None:
    """Each vote counts once, whatever the policy's weights are."""
    study = voted(repeat_pairs=9, policy=policy)
    scorer = study.scorer()
    z, won = [], []
    for vote in study.votes():
        one, other = (int(arm[1:]) for arm in (vote.first, vote.second))
        z.append(FEATURES[one] - FEATURES[other])
        won.append({"first": 1.0, "second": 0.0, "tie": 0.5}[vote.outcome])
    np.testing.assert_allclose(scorer.theta, dl.fit_mle(z, won, ridge="auto").theta, rtol=1e-6)
    np.testing.assert_allclose(scorer.score(FEATURES).mean(), 0.0, atol=1e-6)  # features are kept in single precision
    assert (scorer.votes, scorer.source, scorer.link) == (150.0, "study captions", "logistic")
    assert np.corrcoef(scorer.score(FEATURES), UTILITY)[0, 1] > 0.9


def test_requirements_of_a_scorer() -> None:
    study = create_study("empty", "memory")
    study.add_arms(["a", "b"], np.eye(2)[:, :1] + [[0.0], [0.5]])
    with pytest.raises(dl.InvalidInput, match="there are none between these arms yet"):
        study.scorer()
    without = create_study("without", "memory")
    without.add_arms(["a", "b"])
    with pytest.raises(dl.InvalidInput, match="these arms have none"):
        without.scorer()


def test_a_command_writes_a_scorer(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    study = voted(storage, 40)
    out = tmp_path / "learned.npz"
    done = CliRunner().invoke(app, ["study", "scorer", "captions", "--out", str(out), "--storage", storage])
    assert done.exit_code == 0, done.output
    assert "3 features, 40 votes" in " ".join(done.output.split())
    np.testing.assert_array_equal(dl.load_scorer(out).theta, study.scorer().theta)
    refused = CliRunner().invoke(app, ["study", "scorer", "captions", "--out", "x.txt", "--storage", storage])
    assert refused.exit_code != 0


RAW = np.column_stack([np.linspace(60.0, 390.0, 20), np.tile([1.5, 3.0, 4.5, 2.0], 5), np.arange(1990.0, 2010.0)])


def voted_table(folder: Path, storage: str = "memory") -> dl.study.Study:
    """Return a study created from a table, with votes that follow its columns."""
    rows = [f"H{k},{price},{stars},{opened}" for k, (price, stars, opened) in enumerate(RAW)]
    (folder / "hotels.csv").write_text("\n".join(["name,price,stars,opened", *rows]))
    study = create_study("hotels", storage, goal="learn", items=plan_items(folder / "hotels.csv"))
    utility, rng = RAW @ [-0.01, 1.0, 0.02], np.random.default_rng(2)
    for _ in range(150):
        duel = study.ask(rater="ana")
        one, other = (int(arm.id[1:]) for arm in (duel.first, duel.second))
        first = rng.random() < 1.0 / (1.0 + np.exp(utility[other] - utility[one]))
        study.tell(duel, "first" if first else "second", rater="ana")
    return study


def test_a_scorer_takes_the_columns_of_the_file_in_their_units(tmp_path: Path) -> None:
    """The study stores standardized columns, and a scorer's file does not have their means and scales."""
    study = voted_table(tmp_path)
    scorer = study.scorer()
    kept = (RAW - RAW.mean(axis=0)) / RAW.std(axis=0)
    z, won = [], []
    for vote in study.votes():
        one, other = (int(arm[1:]) for arm in (vote.first, vote.second))
        z.append(kept[one] - kept[other])
        won.append(float(vote.outcome == "first"))
    fit = dl.fit_mle(z, won, ridge="auto")
    np.testing.assert_allclose(scorer.score(RAW), kept @ fit.theta, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scorer.scale, np.sqrt(np.square(z).mean(axis=0) / 2.0) * RAW.std(axis=0))
    again = dl.fit_mle(np.array(z) * RAW.std(axis=0), won, ridge=scorer.ridge)
    np.testing.assert_allclose(scorer.theta, again.theta, rtol=1e-5)
    assert scorer.columns == ("price", "stars", "opened")
    with pytest.raises(dl.InvalidInput, match=r"the features it was fitted with \(price, stars, opened\)"):
        scorer.score(RAW[:, :2])


def test_a_scorer_keeps_the_names_of_columns(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("id,x,y\na,1,20\nb,3,10\nc,2,50\n")
    study = create_study("given", "memory", goal="learn")
    study.apply(plan_items(tmp_path / "arms.csv"))
    study.tell(study.ask(rater="ana"), "first", rater="ana")
    scorer = study.scorer()
    assert scorer.columns == ("x", "y")
    np.testing.assert_allclose(scorer.centre, [2.0, 80.0 / 3.0])


def test_a_scorer_of_text_features_describes_them(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("id,text\na,less is more\nb,more is more\nc,enough is enough\n")
    study = create_study(
        "slogans",
        "memory",
        goal="learn",
        items=plan_items(tmp_path / "arms.csv", features={"kind": "hashed", "size": 8}),
    )
    study.tell(study.ask(rater="ana"), "first", rater="ana")
    scorer = study.scorer()
    assert scorer.columns == ()
    assert scorer.feature_note.startswith("8 features that the study made from texts (kind 'hashed': parts of words")
    made = apply_recipe(study.settings.feature_recipe or {}, ["less is more"], None)
    np.testing.assert_allclose(scorer.score(np.asarray(made)), scorer.score(study.features()[:1]), rtol=1e-6)


def test_the_command_names_the_columns(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    study = voted_table(tmp_path, storage)
    out = tmp_path / "learned.json"
    done = CliRunner().invoke(app, ["study", "scorer", "hotels", "--out", str(out), "--storage", storage])
    assert "it uses these columns, in the units of the file: price, stars, opened" in " ".join(done.output.split())
    np.testing.assert_array_equal(dl.load_scorer(out).score(RAW), study.scorer().score(RAW))
