"""Policies of somebody else's in studies: two plain verbs are enough."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.study import create_study, load_study
from tests.helpers.policy_state import policy_of

EXAMPLES = Path(__file__).parents[2] / "examples"
ARMS = np.random.default_rng(0).normal(size=(6, 3))
IDS = [f"arm {k}" for k in range(6)]


@pytest.fixture(autouse=True)
def examples_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


def rate(study, count):
    """A rater a vote, who prefers what has a larger first feature; the pairs they were asked."""
    asked = []
    for k in range(count):
        rater = f"rater {len(study)} {k}"
        duel = study.ask(rater)
        first, second = (study.features([arm.id])[0, 0] for arm in (duel.first, duel.second))
        study.tell(duel.id, "first" if first > second else "second", rater)
        asked.append((duel.first.id, duel.second.id))
    return asked


@pytest.mark.parametrize("spelled", ["plain_policy:EpsilonGreedy", "plain_policy:EpsilonGreedy:epsilon=0.5"])
def test_a_class_by_its_name(spelled, tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = create_study("own", url, policy=spelled)
    study.add_arms(IDS, ARMS)
    asked = rate(study, 30)
    assert all(first != second for first, second in asked)
    again = load_study("own", url)  # learns the log again
    np.testing.assert_allclose(policy_of(again)._theta, policy_of(study)._theta)
    assert again.settings.policy == "plain_policy:EpsilonGreedy"
    assert again.settings.policy_settings == ({"epsilon": 0.5} if "=" in spelled else {})
    rate(again, 5)


def test_a_policy_itself(tmp_path):
    from plain_policy import EpsilonGreedy

    study = create_study("own", f"sqlite:///{tmp_path / 's.db'}", policy=EpsilonGreedy(epsilon=0.3))
    study.add_arms(IDS, ARMS)
    rate(study, 10)
    assert study.settings.policy_settings == {"epsilon": 0.3}
    assert study.leaderboard().standings


def test_a_built_in_policy_itself_and_in_one_word():
    by_object = create_study("a", "memory", policy=dl.LocalPairUCB(scale=0.7))
    by_name = create_study("b", "memory", policy="local-pair-ucb:scale=0.7")
    assert by_object.settings.policy == by_name.settings.policy == "LocalPairUCB"
    assert by_object.settings.policy_settings == by_name.settings.policy_settings == {"scale": 0.7}


def test_duels_that_are_out_are_not_asked_again():
    from plain_policy import EpsilonGreedy

    study = create_study("own", "memory", policy=EpsilonGreedy(epsilon=0.0))
    study.add_arms(IDS, ARMS)
    pairs = {frozenset((duel.first.id, duel.second.id)) for duel in (study.ask(f"rater {k}") for k in range(15))}
    assert len(pairs) == 15


def test_a_class_that_nobody_could_find_again_is_refused():
    class Hidden(dl.Policy):
        def ask(self, arms):
            return dl.Duel(0, 1)

        def tell(self, duel, outcome, weight=1.0):
            pass

    with pytest.raises(InvalidInput, match="cannot be found again by name"):
        create_study("own", "memory", policy=Hidden())


def test_a_policy_that_begins_but_keeps_no_snapshot_is_refused(tmp_path, monkeypatch):
    (tmp_path / "beginner.py").write_text(
        "import plain_policy\n"
        "class Beginner(plain_policy.EpsilonGreedy):\n"
        "    def initialize(self, arms):\n"
        "        self.seen = arms\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidInput, match="no `snapshot` and `restore`"):
        create_study("own", "memory", policy="beginner:Beginner")


def test_the_example_runs(capsys):
    runpy.run_path(str(EXAMPLES / "plain_policy.py"), run_name="__main__")
    assert "EpsilonGreedy" in capsys.readouterr().out
