"""Studies whose arms have no features, or features and arm effects."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from duelist import ArmTable
from duelist.cli import app
from duelist.core.errors import InvalidInput, NoPairsLeft
from duelist.study import GOALS, copy_study, create_study, load_study, restore_study
from duelist.study.imports import plan_items
from duelist.study.storage import open_storage
from tests.helpers.policy_state import policy_of


def vote(study, votes, utility, seed=0, rater="ana"):
    """Ask and tell, by Bradley and Terry's model."""
    rng = np.random.default_rng(seed)
    for k in range(votes):
        duel = study.ask(rater=f"{rater} {k}")
        gap = utility[duel.first.id] - utility[duel.second.id]
        study.tell(duel, "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second", rater=f"{rater} {k}")


@pytest.mark.parametrize("goal", GOALS)
def test_ids_are_enough_for_every_goal(goal):
    storage = open_storage("memory")
    study = create_study("s", storage, goal=goal)
    ids = [f"arm {k}" for k in range(6)]
    assert study.add_arms(ids) == 6
    assert study.add_arms(ids) == 0  # the same ones again
    utility = dict(zip(ids, [2.0, 1.0, 0.0, 0.0, -1.0, -2.0], strict=True))
    vote(study, 60, utility)
    assert study.features().shape == (6, 0)
    board = study.leaderboard()
    assert board.standings[0].arm in ids[:2]
    assert study.recommend().best == board.standings[0].arm
    assert str(study.explain(study.ask("ben"))).startswith("Duel 61")
    assert policy_of(study).posterior(ArmTable(6)).utilities.argmax() in (0, 1)
    # Whoever opens the study folds the same bits from the log.
    assert load_study("s", storage).policy().snapshot() == study.policy().snapshot()


def test_every_database_keeps_them(url):
    study = create_study("s", url, goal="best")
    study.add_arms(["a", "b", "c"])
    vote(study, 4, {"a": 1.0, "b": 0.0, "c": 0.0})
    study.add_arms(["d"])
    vote(study, 3, {"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0}, rater="ben")
    again = load_study("s", url)
    assert again.features().shape == (4, 0)
    assert again.policy().snapshot() == study.policy().snapshot()


@pytest.mark.parametrize("goal", ["best", "serve", "rank"])
def test_arms_join_late(goal):
    """They are asked about, nothing is learned again, and who opens the study later knows the same."""
    storage = open_storage("memory")
    study = create_study("s", storage, goal=goal)
    ids = [f"arm {k}" for k in range(8)]
    utility = dict(zip(ids, np.linspace(-1, 1, 8), strict=True))
    study.add_arms(ids[:4])
    vote(study, 40, utility)
    before = study.policy().snapshot()
    study.add_arms(ids[4:])
    assert study.policy().snapshot() == before
    vote(study, 80, utility, seed=1, rater="ben")
    voted_on = {arm for each in study.votes() for arm in (each.first, each.second)}
    assert voted_on == set(ids)
    assert load_study("s", storage).policy().snapshot() == study.policy().snapshot()


def test_two_thousand_arms_do_not_keep_anybody_waiting():
    """A tenth of a second of CPU for each ask and tell is twenty times what it takes; it was 31 seconds when each arm had a feature."""
    study = create_study("s", "memory", goal="best")
    study.add_arms([f"arm {k}" for k in range(2000)])
    study.tell(study.ask("nobody"), "first", rater="nobody")
    start = time.process_time()
    vote(study, 10, {f"arm {k}": k / 1000 for k in range(2000)})
    assert time.process_time() - start < 1.0


def test_a_pair_is_asked_once_of_a_rater_and_never_twice_at_a_time():
    study = create_study("s", "memory")
    study.add_arms(["a", "b", "c", "d"])
    out = [study.ask(rater=f"rater {k}") for k in range(6)]
    assert len({frozenset((duel.first.id, duel.second.id)) for duel in out}) == 6
    for duel in out:
        study.tell(duel, "tie", rater=duel.rater)
    seen = set()
    for _ in range(5):
        duel = study.ask("rater 0")
        seen.add(frozenset((duel.first.id, duel.second.id)))
        study.tell(duel, "skip", rater="rater 0")
    assert len(seen) == 5
    with pytest.raises(NoPairsLeft, match="all 6 pairs"):
        study.ask("rater 0")


def test_revisions_undone_votes_and_blocked_raters_are_folded():
    """The policy of a log is the policy of the votes that stand, told to another study in their order."""
    storage = open_storage("memory")
    study, plain = create_study("s", storage, goal="best"), create_study("t", storage, goal="best")
    for each in (study, plain):
        each.add_arms([f"arm {k}" for k in range(5)])
    vote(study, 20, {f"arm {k}": float(k) for k in range(5)})
    study.tell(3, "tie", rater="ana 2", revise=True)
    study.undo(5, "ana 4")
    study.block("ana 9", exclude_votes=True)
    plain.add_votes([each for each in study.votes() if each.rater != "ana 9"])
    mine, theirs = study.policy().snapshot(), plain.policy().snapshot()
    assert mine["arm_effects"] == theirs["arm_effects"]
    study.reinstate("ana 9")
    assert load_study("s", storage).policy().snapshot() == study.policy().snapshot()


def test_archives_and_copies(url, tmp_path):
    study = create_study("s", url, goal="serve")
    study.add_arms(["a", "b", "c"], payloads=["A", "B", "C"])
    vote(study, 12, {"a": 1.0, "b": 0.0, "c": -1.0})
    study.save(tmp_path / "s.duelist")
    again = restore_study(tmp_path / "s.duelist", f"sqlite:///{tmp_path / 'other.db'}")
    copied = copy_study("s", url, to_name="copy")
    for each in (again, copied):
        assert each.votes() == study.votes()
        assert each.policy().snapshot() == study.policy().snapshot()
        assert each.features().shape == (3, 0)


def test_contexts():
    """Arms of a context are compared with one another only."""
    study = create_study("s", "memory")
    study.add_arms([f"{c}{k}" for c in "xy" for k in range(3)], contexts=[c for c in "xy" for _ in range(3)])
    for k in range(12):
        duel = study.ask(rater=f"rater {k}")
        assert duel.first.id[0] == duel.second.id[0] == duel.context
        study.tell(duel, "first", rater=f"rater {k}")


def test_what_does_not_fit_is_refused():
    storage = open_storage("memory")
    study = create_study("s", storage)
    study.add_arms(["a", "b"])
    with pytest.raises(InvalidInput, match=r"the arms of this study have none\. Leave them out"):
        study.add_arms(["c"], [[1.0, 2.0]])
    with pytest.raises(InvalidInput, match="Leave them out"):
        study.update_features(["a"], [[1.0]])
    described = create_study("t", storage)
    described.add_arms(["a", "b"], [[1.0], [2.0]])
    with pytest.raises(InvalidInput, match="the arms of this study have 1 each"):
        described.add_arms(["c"])
    layered = create_study("u", storage, policy="VACDB")
    layered.add_arms(["a", "b"])  # it knows arms by features alone: each has one of its own
    layered.add_arms(["c"])
    features = layered.features(["a", "b", "c"])
    assert (features[:, :3] == np.eye(3)).all()
    assert not features[:, 3:].any()
    with pytest.raises(InvalidInput, match="arm_effects is on, and VACDB"):
        create_study("v", storage, policy="VACDB", arm_effects=True)
    with pytest.raises(InvalidInput, match="arm_effects is 'yes'"):
        create_study("v", storage, arm_effects="yes")
    with pytest.raises(InvalidInput, match="arm_effects is fixed"):
        described.change(arm_effects=True)


def test_imports_bring_as_many_arms_as_they_have(sqlite_url, tmp_path):
    """More than 2,000, which a feature each was too much for; a policy that wants features still says so."""
    rows = [{"first": f"a{k}", "second": f"a{k + 1}", "outcome": "first", "rater": "ana"} for k in range(2500)]
    path = tmp_path / "votes.jsonl"
    header = {"format": "duelist.votes", "version": 1}
    path.write_text("".join(json.dumps(row) + "\n" for row in [header, *rows]))
    study = create_study("s", sqlite_url)
    assert study.import_votes(path, "jsonl").added == 2500
    assert len(study.arms()) == 2501
    duel = study.ask("ben")
    study.tell(duel, "first", rater="ben")
    with pytest.raises(InvalidInput, match=r"2501 items, too many for .*choose a policy that does not need features"):
        create_study("t", sqlite_url, policy="VACDB").import_votes(path, "jsonl")


# -- features and arm effects ---------------------------------------------------------


def test_arm_effects_beside_features():
    """Utilities that no feature explains are found, and the first snapshot fixes the units."""
    features = np.random.default_rng(0).normal(size=(6, 2)) * [1.0, 100.0]
    ids = [f"arm {k}" for k in range(6)]
    utility = dict(zip(ids, [3.0, 1.0, 0.0, 0.0, -1.0, -3.0], strict=True))
    storage = open_storage("memory")
    study = create_study("s", storage, arm_effects=True, goal="best")
    study.add_arms(ids, features)
    vote(study, 100, utility)
    assert study.leaderboard().standings[0].arm == "arm 0"
    study.add_arms(["late"], [[0.5, 20.0]])
    vote(study, 5, {**utility, "late": 0.0}, seed=4, rater="ben")
    study.update_features(["arm 3"], [[0.1, 0.2]])
    vote(study, 5, {**utility, "late": 0.0}, seed=5, rater="cat")
    assert load_study("s", storage).policy().snapshot() == study.policy().snapshot()
    assert "arm_effects" in study.policy().snapshot()
    assert str(study.explain(3))


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ({"goal": "best"}, True),
        ({"goal": "rank"}, True),
        ({"goal": "learn"}, False),
        ({"goal": "serve"}, True),
        ({}, False),
        ({"goal": "best", "arm_effects": False}, False),
        ({"goal": "learn", "arm_effects": True}, True),
        ({"goal": "best", "policy": "LocalPairUCB"}, True),
        ({"goal": "best", "policy": "ThompsonPair"}, True),
        (
            {"goal": "best", "policy": "VACDB", "policy_settings": {"horizon": 100}},
            False,
        ),  # which knows arms by their features alone
        ({"goal": "best", "policy_settings": {"estimator": "exact"}}, False),
    ],
)
def test_goals_about_these_arms_give_them_terms_of_their_own(given, own):
    assert create_study("s", "memory", **given).settings.arm_effects is own


def test_a_study_from_before_keeps_what_it_has(sqlite_url):
    create_study("s", sqlite_url, goal="best", arm_effects=False)
    assert not create_study("s", sqlite_url, goal="best", load_if_exists=True).settings.arm_effects


def test_the_shell_says_whether_arms_have_terms_of_their_own(tmp_path):
    arms = tmp_path / "arms.csv"
    arms.write_text("id,price,stars\na,900,4.5\nb,120,3\nc,450,4\n")

    def own(name: str, *words: str) -> bool:
        storage = f"sqlite:///{tmp_path / 'studies.db'}"
        done = CliRunner().invoke(app, ["study", "create", name, *words, "--storage", storage])
        assert done.exit_code == 0, done.output
        return load_study(name, storage).settings.arm_effects

    assert own("a", "--goal", "best")
    assert not own("b", "--goal", "best", "--no-arm-effects")
    assert own("c", "--arm-effects")
    assert own("d", str(arms), "--goal", "rank")
    assert not own("e", str(arms), "--goal", "rank", "--no-arm-effects")


def test_without_arm_effects_nothing_has_changed():
    study = create_study("s", "memory")
    study.add_arms(["a", "b", "c"], np.eye(3))
    study.tell(study.ask("ana"), "first", rater="ana")
    assert "state" in study.policy().snapshot()


# -- the shell -------------------------------------------------------------------------------


def test_the_shell_takes_ids_only(tmp_path: Path) -> None:
    storage = ["--storage", f"sqlite:///{tmp_path / 'shell.db'}"]
    (tmp_path / "arms.csv").write_text("id,payload\nred,Red\ngreen,Green\nblue,Blue\n")
    (tmp_path / "more.jsonl").write_text('{"id": "black"}\n{"id": "white", "payload": "White"}\n')
    (tmp_path / "only.csv").write_text("id\nxanadu\n")
    (tmp_path / "mixed.jsonl").write_text('{"id": "u"}\n{"id": "v", "features": [1]}\n')

    def shell(*words: str) -> str:
        result = CliRunner().invoke(app, ["study", *words, *storage])
        return result.output

    assert "study 'colours'" in shell("create", "colours", "--goal", "rank")
    assert "colours, with no features per item: 3 items added" in shell(
        "add-items", "colours", str(tmp_path / "arms.csv")
    )
    assert "2 items added" in shell("add-items", "colours", str(tmp_path / "more.jsonl"))
    assert "1 item added" in shell("add-items", "colours", str(tmp_path / "only.csv"))
    asked = shell("ask", "colours", "--rater", "ana")
    assert "1" in asked
    shell("tell", "colours", "1", "first", "--rater", "ana")
    assert "white" in shell("leaderboard", "colours")
    assert "The setting arm_effects is on" in shell("create", "layered", "--policy", "VACDB", "--arm-effects")
    with pytest.raises(InvalidInput, match="Some items have 0 features and others 1"):
        plan_items(tmp_path / "mixed.jsonl")
