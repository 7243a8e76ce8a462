"""What a study says of itself, and its way through files: the study side; the numbers are tested with `reading`."""

import numpy as np
import pytest

import duelist as dl
from duelist.datasets import load_llmfao
from duelist.study import Imported, Outcome, create_study, load_study
from duelist.study.formats import FORMATS, Comparison, write


def filled(name="captions", votes=120, random_share=0.3, contexts=None):
    rng = np.random.default_rng(0)
    study = create_study(name, storage="memory", policy="LocalPairUCB", random_share=random_share)
    arms = rng.standard_normal((6, 3))
    study.add_arms([f"a{k}" for k in range(6)], arms, [f"text {k}" for k in range(6)], contexts)
    utilities = {f"a{k}": float(arms[k] @ [2.0, -1.0, 0.5]) for k in range(6)}
    for _ in range(votes):
        duel = study.ask(rater="ana")
        first = rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second.id] - utilities[duel.first.id]))
        study.tell(duel.id, "first" if first else "second", rater="ana")
    return study, max(utilities, key=utilities.get)


def test_the_best_arm_leads_and_is_recommended():
    study, best = filled()
    board = study.leaderboard()
    assert board.standings[0].arm == best
    assert sum(s.votes for s in board.standings) == 2 * 120
    found = study.recommend()
    assert found.best == best
    assert best in str(found)
    assert study.progress().leader == best
    assert study.win_matrix().votes.sum() == 2 * 120
    assert [row.rater for row in study.raters().rows] == ["ana"]
    assert study.calibration().votes == 120
    assert study.regret() is not None


def test_contexts_are_read_one_at_a_time():
    study, _ = filled(contexts=["one"] * 3 + ["two"] * 3)
    assert {s.arm for s in study.leaderboard("two").standings} == {"a3", "a4", "a5"}
    with pytest.raises(dl.InvalidInput, match="context is 'three', which has no arms; there are: 'one', 'two'"):
        study.leaderboard("three")
    with pytest.raises(dl.InvalidInput, match="context is 'three'"):
        study.recommend("three")


def test_regret_is_against_the_best_of_the_context():
    """Arms of another context, however good, are no alternative."""
    study, _ = filled(contexts=["one"] * 3 + ["two"] * 3, random_share=0.5, votes=200)
    own = study.regret()
    assert own == study.regret(groups=["one"] * 3 + ["two"] * 3)
    assert own.random.value < study.regret(groups=None).random.value


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.read is not None])
def test_what_is_exported_can_be_imported_into_an_empty_study(tmp_path, name):
    study, best = filled(contexts="Which caption?")  # some formats want a prompt
    path = tmp_path / "votes"
    written = study.export(name, path)
    assert written.rows == 120
    again = create_study("again", storage="memory", policy="LocalPairUCB")
    assert again.import_votes(name, path) == Imported(added=120, known=0)
    board = again.leaderboard()
    assert board.votes == 120
    leader = board.standings[0].arm
    assert leader == best or name in ("trl", "openai")  # those know arms by their text only
    assert again.policy().rounds_ == 120


def test_the_whole_log_goes_through_our_own_format(tmp_path):
    study, _ = filled(votes=5)
    study.tell(study.votes()[0].duel_id, "tie", rater="ana", revise=True)
    study.undo(study.votes()[1].duel_id, rater="ana")
    assert study.export("jsonl", tmp_path / "log").rows == 7
    again = create_study("again", storage="memory", policy="LocalPairUCB")
    assert again.import_votes("jsonl", tmp_path / "log").added == 4
    assert [v.outcome for v in again.votes()] == [v.outcome for v in dl.study.standing(study.votes())]


def test_history_warms_the_policy(tmp_path):
    """llmfao: models as arms, a feature each; the study's policy and its leaderboard agree on the best."""
    votes = list(load_llmfao())
    write("arena", votes, tmp_path / "battles.json")
    study = create_study("arena", storage="memory", policy="LocalPairUCB")
    assert study.import_votes("arena", tmp_path / "battles.json").added == len(votes) == 8931
    assert len(study.arms()) == 59
    policy = study.policy()
    assert policy.rounds_ == 8931
    assert study.recommend().best in [s.arm for s in study.leaderboard().standings[:3]]


def test_too_many_arms_for_a_feature_each(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("left,right,winner\n" + "".join(f"a{k},b{k},left\n" for k in range(1001)))
    study = create_study("many", storage="memory", policy="LocalPairUCB")
    with pytest.raises(dl.InvalidInput, match="2002 arms"):
        study.import_votes("csv", path)
    assert study.arms() == []


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.read is not None])
def test_a_file_that_is_imported_twice_counts_once(tmp_path, name, url):
    """Whether its votes have times or not; by another process too; and again only if that is asked for."""
    study, _ = filled(contexts="Which caption?", votes=30)
    study.export(name, tmp_path / "votes")
    again = create_study("again", storage=url, policy="LocalPairUCB")
    assert again.import_votes(name, tmp_path / "votes") == Imported(added=30, known=0)
    before = again.policy().snapshot()
    repeated = load_study("again", url).import_votes(name, tmp_path / "votes")
    assert repeated == Imported(added=0, known=30)
    assert str(repeated) == "0 votes added; 30 were in the log already, and are not counted again"
    assert again.policy().snapshot() == before
    assert again.import_votes(name, tmp_path / "votes", again=True) == Imported(added=30, known=0)
    assert again.import_votes(name, tmp_path / "votes") == Imported(added=0, known=30)
    assert len(again) == 60


@pytest.mark.parametrize("name", ["jsonl", "csv"])
def test_a_file_that_has_grown_brings_what_is_new(tmp_path, name):
    study, _ = filled(votes=20)
    again = create_study("again", storage="memory", policy="LocalPairUCB")
    again.add_arms([arm.id for arm in study.arms()], study.features())
    for votes in (0, 5, 5):
        for _ in range(votes):
            study.tell(study.ask("ben").id, "first", "ben")
        study.export(name, tmp_path / "votes")
        imported = again.import_votes(name, tmp_path / "votes")
        assert imported == Imported(added=votes or 20, known=len(study) - (votes or 20))
    assert study.import_votes(name, tmp_path / "votes") == Imported(added=0, known=30)  # back where it came from


def test_equal_votes_of_one_file_all_count(tmp_path):
    """The same rater may say the same of the same pair in the same second: what repeats within a file is meant."""
    path = tmp_path / "votes.csv"
    timed = "a,b,left,ana,2026-01-01T00:00:00+00:00\n"
    study = create_study("s", storage="memory", policy="LocalPairUCB")
    for rows, added in ((2, 2), (3, 1), (1, 0)):
        path.write_text("left,right,winner,rater,told_at\n" + timed * rows)
        assert study.import_votes("csv", path).added == added
    path.write_text("left,right,winner\na,b,left\na,b,left\n")
    assert [study.import_votes("csv", path).added for _ in range(2)] == [2, 0]
    path.write_text("left,right,winner\na,b,left\n")
    assert study.import_votes("csv", path).added == 1  # without times, another file is another file


def test_an_import_that_fails_leaves_no_arms_behind(tmp_path, url):
    path = tmp_path / "votes.jsonl"
    votes = [Comparison("a", "b", Outcome.FIRST), Comparison("a", "c", Outcome.FIRST, rater="\ud800")]
    write("jsonl", votes, path)
    study = create_study("s", storage=url, policy="LocalPairUCB")
    with pytest.raises(dl.InvalidInput, match="rater is"):
        study.import_votes("jsonl", path)
    assert study.arms() == load_study("s", url).arms() == []
    write("jsonl", votes[:1], path)
    assert study.import_votes("jsonl", path).added == 1
    assert [arm.id for arm in study.arms()] == ["a", "b"]


def test_a_study_without_votes_is_a_study():
    study = create_study("s", storage="memory")
    assert len(study) == 0
    assert study
