"""The scorer of a study: the fit to its votes, for arms that nobody has seen; and the command that writes it."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.study import create_study

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
def test_it_is_the_fit_to_the_votes_that_stand(policy: str | None) -> None:
    """Each counted once, whatever the policy makes of it."""
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


def test_what_it_needs() -> None:
    study = create_study("empty", "memory")
    study.add_arms(["a", "b"], np.eye(2)[:, :1] + [[0.0], [0.5]])
    with pytest.raises(dl.InvalidInput, match="there is none yet"):
        study.scorer()
    without = create_study("without", "memory")
    without.add_arms(["a", "b"])
    with pytest.raises(dl.InvalidInput, match="these arms have none"):
        without.scorer()


def test_a_command_writes_it(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    study = voted(storage, 40)
    out = tmp_path / "learned.npz"
    done = CliRunner().invoke(app, ["study", "scorer", "captions", "--out", str(out), "--storage", storage])
    assert done.exit_code == 0, done.output
    assert "3 features, 40 votes" in " ".join(done.output.split())
    np.testing.assert_array_equal(dl.load_scorer(out).theta, study.scorer().theta)
    refused = CliRunner().invoke(app, ["study", "scorer", "captions", "--out", "x.txt", "--storage", storage])
    assert refused.exit_code != 0
