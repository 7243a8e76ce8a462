"""An unchanged study is analysed once."""

import pytest

from duelist.core.serialization import to_plain
from duelist.model.posterior import Posterior
from duelist.study import Study, load_study
from duelist.study.analysis.fit import utilities
from tests.study.conftest import filled

OUTCOMES = ("first", "second", "tie")
ANALYSES = (
    "leaderboard", "recommend", "progress", "can_stop", "win_matrix", "win_chances", "history", "calibration", "raters", "regret",
)  # fmt: skip


def vote(study: Study, count: int) -> None:
    for k in range(count):
        rater = f"rater {k % 3}"
        study.tell(study.ask(rater).id, OUTCOMES[k % 3], rater)


def nothing(*_: object, **__: object) -> None:
    raise AssertionError("computed again")


@pytest.mark.parametrize("name", ANALYSES)
def test_an_analysis_of_an_unchanged_study_fits_and_draws_nothing(
    sqlite_url: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = filled(storage=sqlite_url, random_share=0.5)
    vote(study, 60)
    first = to_plain(getattr(study, name)())
    with monkeypatch.context() as patched:
        patched.setattr(utilities, "fit", nothing)
        patched.setattr(Posterior, "sampler", nothing)
        assert to_plain(getattr(study, name)()) == first


@pytest.mark.parametrize("name", ["win_matrix", "calibration", "leaderboard"])
def test_a_new_vote_is_not_missed(sqlite_url: str, name: str) -> None:
    study = filled(storage=sqlite_url, random_share=0.5)
    vote(study, 60)
    first = to_plain(getattr(study, name)())
    vote(load_study("study", sqlite_url), 1)
    second = to_plain(getattr(study, name)())
    assert second != first
    study.block("rater 0", exclude_votes=True)
    assert to_plain(getattr(study, name)()) != second


def test_results_that_are_shared_cannot_be_changed() -> None:
    study = filled()
    vote(study, 6)
    with pytest.raises(ValueError, match="read-only"):
        study.win_matrix().wins[0, 0] = 7
