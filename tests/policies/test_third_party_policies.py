"""Policies that are not ours: a class in a module, an entry point of a package, live, simulated and in the shell."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.policies import ENTRY_POINT_GROUP, plugin_policies, policy_class, policy_name, registered_policy
from duelist.testing import PolicyContract

EXAMPLES = Path(__file__).parents[2] / "examples"
WORDS = ["-e", "Hypercube:dim=2", "-t", "30", "-r", "2", "-s", "4"]
WORLD = dl.environments.Hypercube(dim=2)


def run(*words, code=0):
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def path(monkeypatch):
    """The path, to be put back as it was, and modules that are found on it forgotten."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield sys.path
    for name in set(sys.modules) - before:
        if name in ("plain_policy", "brought"):
            del sys.modules[name]


@pytest.fixture
def in_examples(path, monkeypatch):
    """The shell, in the folder of the example."""
    monkeypatch.chdir(EXAMPLES)


@pytest.fixture
def brought(path, tmp_path):
    """A package on the path that brings two policies by entry points, one of which cannot be loaded."""
    (tmp_path / "brought.py").write_text((EXAMPLES / "plain_policy.py").read_text() + "\nNUMBER = 3\n")
    (tmp_path / "brought-1.0.dist-info").mkdir()
    info = tmp_path / "brought-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    lines = [
        "Bold = brought:EpsilonGreedy",
        "Gone = brought:Absent",
        "Number = brought:NUMBER",
        "VACDB = brought:EpsilonGreedy",
    ]
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n" + "\n".join(lines) + "\n")
    path.append(str(tmp_path))
    importlib.invalidate_caches()
    return "Bold"


# -- module:Class ----------------------------------------------------------------------------


def test_the_example_is_played_live(in_examples):
    run("list")  # the shell makes the current folder importable
    policy: Any = dl.make_policy("plain_policy:EpsilonGreedy:epsilon=0.2", random_state=0)
    assert policy.epsilon == 0.2
    assert policy_name(type(policy)) == "plain_policy:EpsilonGreedy"
    rng, theta = np.random.default_rng(0), np.array([3.0, -3.0])
    for _ in range(60):
        arms = rng.normal(size=(5, 2))
        duel = policy.ask(arms)
        policy.tell(duel, float((arms[duel.first] - arms[duel.second]) @ theta > 0))
    arms = rng.normal(size=(200, 2))
    assert arms[policy.ask(arms).first] @ theta > 0.9 * (arms @ theta).max()


def test_the_shell_simulates_the_example(in_examples):
    text = run("simulate", "plain_policy:EpsilonGreedy:epsilon=0.3", "UniformPair", *WORDS)
    mine = dl.make_policy("plain_policy:EpsilonGreedy", epsilon=0.3)
    policies = {"plain_policy:EpsilonGreedy:epsilon=0.3": mine, "UniformPair": dl.UniformPair(horizon=30)}
    assert str(dl.simulate(policies, WORLD, 30, 2, seed=4).summary()) in text


def test_the_command_itself_finds_it_in_the_current_folder(tmp_path):
    """In a separate process, whose path does not hold the folder it is called from."""
    shutil.copy(EXAMPLES / "plain_policy.py", tmp_path)
    code = "import sys; sys.path = [p for p in sys.path if p]; from duelist.cli import app; app()"
    words = ["simulate", "plain_policy:EpsilonGreedy", "-t", "5", "-r", "1"]
    for folder, works in ((tmp_path, True), (Path("/"), False)):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, *words], cwd=folder, capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) == works, done.stderr
        assert ("EpsilonGreedy" in done.stdout) == works
    assert "there is no module 'plain_policy'" in " ".join(done.stderr.split())


def test_no_file_of_the_current_folder_hides_an_installed_module(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("list")
    assert path[-1] == str(tmp_path)
    run("list")
    assert path.count(str(tmp_path)) == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("absent_module:Policy", "there is no module 'absent_module'"),
        ("plain_policy:Absent", "Absent"),
        ("plain_policy:main", "subclass of duelist.Policy"),
        ("plain_policy:EpsilonGreedy:delta=1", "no setting 'delta'"),
        ("plain_policy:EpsilonGreedy:0.2", "key=value"),
    ],
)
def test_what_cannot_be_had_is_named(in_examples, spec, message):
    text = " ".join(run("simulate", spec, *WORDS, code=2).split())
    assert message in text
    assert "Traceback" not in text


# -- entry points ----------------------------------------------------------------------------


def test_an_entry_point_makes_a_policy_known_by_name(brought):
    assert set(plugin_policies()) == {"Bold", "Gone", "Number"}
    policy: Any = dl.make_policy("bold:epsilon=0.5", random_state=1)
    assert (type(policy).__module__, policy.epsilon) == ("brought", 0.5)
    assert policy_name(type(policy)) == "Bold"
    assert registered_policy("bold") is type(policy)
    assert policy_class("VACDB") is dl.VACDB  # the built-in ones keep their names


def test_without_the_package_the_name_is_unknown():
    with pytest.raises(dl.InvalidInput, match=r"policy is 'Bold'\. Choose one of"):
        dl.make_policy("Bold")


@pytest.mark.parametrize(("name", "message"), [("Gone", "cannot be loaded"), ("Number", "Give a subclass")])
def test_an_entry_point_that_leads_nowhere_is_named(brought, name, message):
    with pytest.raises(dl.InvalidInput, match=f"{name}.*{message}"):
        dl.make_policy(name)


def test_the_shell_knows_brought_policies(brought):
    text = run("list")
    for word in ("Bold", "Gone", "epsilon"):
        assert word in text
    assert "Absent" in text.replace("\n", "")
    simulated = run("simulate", "Bold:epsilon=0.5", "VACDB", *WORDS)
    policies = {"Bold:epsilon=0.5": dl.make_policy("Bold:epsilon=0.5"), "VACDB": dl.VACDB(horizon=30)}
    assert str(dl.simulate(policies, WORLD, 30, 2, seed=4).summary()) in simulated


# -- classes made from ours ------------------------------------------------------------------


class Cautious(dl.VACDB):
    """A policy of ours with a habit of its own."""

    def ask(self, arms, **how):
        return super().ask(np.asarray(arms)[:3], **how)


class TestDerived(PolicyContract):
    def make(self, random_state):
        return Cautious(random_state=random_state)

    # A simulation of a native policy plays its rule, and asks nobody.
    test_simulated_and_live_play_agree = None


def test_a_class_derived_from_a_policy_plays_its_rule():
    shown = np.random.default_rng(0).normal(size=(30, 6, 3))
    derived, plain = Cautious(random_state=0), dl.VACDB(random_state=0)
    for arms in shown:
        one, other = derived.ask(arms), plain.ask(arms[:3])
        assert one == other
        derived.tell(one, 1)
        plain.tell(other, 1)
    copy = Cautious.restore(derived.snapshot())
    assert type(copy) is Cautious
    assert copy.ask(shown[0]) == derived.ask(shown[0])
