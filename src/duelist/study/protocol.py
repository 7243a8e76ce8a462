"""What every study offers, whether it is in a storage (`Study`) or on a server (`RemoteStudy`)."""

# ruff: noqa: D102 - `Study` documents the methods

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack, overload

from numpy.typing import ArrayLike

from duelist.core.arrays import Floats
from duelist.core.tables import RecordList
from duelist.model.scorer import Scorer
from duelist.policies import Policy
from duelist.study import analysis
from duelist.study.administration.raters import Erasure
from duelist.study.analysis.goal_stopping import CanStop
from duelist.study.analysis.stopping import StudyRecommendation
from duelist.study.asking.explain import Explanation
from duelist.study.formats import ExportReport
from duelist.study.imports import ItemPlan, VotePlan
from duelist.study.imports.apply import ItemImportReport
from duelist.study.imports.votes.plan import VoteImportReport
from duelist.study.log import LogPage, Queue, RaterProgress, StudyRevision
from duelist.study.options import (
    CalibrationOptions,
    ChanceOptions,
    EstimateOptions,
    FitOptions,
    GoodnessOptions,
    HistoryOptions,
    LeaderboardOptions,
    RaterOptions,
    StoppingOptions,
    VoteOptions,
    lists,
)
from duelist.study.participation.entry import Admission, Departure
from duelist.study.participation.steps import Step
from duelist.study.records import (
    Arm,
    DuelKind,
    GoldPair,
    Outcome,
    Rater,
    Source,
    StudyDuel,
    StudySettings,
    StudyState,
    Vote,
)
from duelist.study.storage import MediaRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StudyProtocol(Protocol):
    """A study; `Study` documents the methods, and a study on a server raises NotOnRemoteStudy for those it lacks."""

    def __len__(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    # -- the study -----------------------------------------------------------------------

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> StudySettings: ...
    @property
    def state(self) -> StudyState: ...
    def open(self) -> None: ...
    def pause(self) -> None: ...
    def end(self) -> None: ...
    def archive(self) -> None: ...
    def rename(self, name: str) -> None: ...
    def change(self, **settings: Any) -> StudySettings: ...
    def limit(
        self, total: int | None = ..., per_pair: int | None = ..., per_rater: int | None = ...
    ) -> StudySettings: ...
    def revision(self) -> StudyRevision: ...
    def policy(self) -> Policy: ...
    def close(self) -> None: ...

    # -- arms ----------------------------------------------------------------------------

    def add_arms(
        self,
        ids: Sequence[str],
        features: ArrayLike | None = None,
        payloads: Sequence[Any] | None = None,
        contexts: Sequence[str | None] | str | None = None,
        context_payloads: Mapping[str, Any] | None = None,
        systems: Sequence[str | None] | None = None,
        categories: Sequence[str | None] | None = None,
    ) -> int: ...
    def retire(self, ids: Sequence[str]) -> None: ...
    def activate(self, ids: Sequence[str]) -> None: ...
    def arms(self, context: str | None = None) -> RecordList[Arm]: ...
    def features(self, ids: Sequence[str] | None = None, version: int | None = None) -> Floats: ...
    def update_features(self, ids: Sequence[str], features: ArrayLike) -> None: ...
    def systems(self) -> list[str]: ...
    def contexts(self) -> list[str]: ...
    def context_payload(self, name: str) -> Any: ...
    def set_context(self, name: str, payload: Any) -> None: ...
    def add_media(self, files: list[tuple[str, str, bytes]]) -> list[str]: ...
    def media(self, key: str) -> MediaRow: ...

    # -- ask and tell --------------------------------------------------------------------

    def ask(
        self,
        rater: str,
        candidates: Sequence[str] | None = None,
        context: str | None = None,
        in_progress: Sequence[StudyDuel | int] = (),
    ) -> StudyDuel: ...
    def tell(
        self,
        duel: StudyDuel | int,
        outcome: Outcome | str | float,
        rater: str,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
        criterion: str | None = None,
    ) -> Vote: ...
    def tell_all(
        self,
        duel: StudyDuel | int,
        outcomes: Mapping[str, Outcome | str | float],
        rater: str,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
    ) -> list[Vote]: ...
    def tell_batch(
        self,
        votes: Iterable[tuple[StudyDuel | int, Outcome | str | float, str]],
        revise: bool = False,
        source: Source | str = Source.HUMAN,
    ) -> list[Vote]: ...
    def undo(self, duel: StudyDuel | int, rater: str, criterion: str | None = None) -> Vote: ...
    def release(self, duel: StudyDuel | int, rater: str) -> None: ...

    # -- the log -------------------------------------------------------------------------

    def votes(self) -> RecordList[Vote]: ...
    def log(
        self,
        before: int | None = None,
        limit: int = 100,
        *,
        rater: str | None = None,
        arm: str | None = None,
        outcome: Outcome | str | None = None,
        context: str | None = None,
        criterion: str | None = None,
        kind: DuelKind | str | None = None,
    ) -> LogPage: ...
    def pending(self) -> list[StudyDuel]: ...
    def queue(self) -> Queue: ...
    def explain(self, duel: StudyDuel | int, labels: bool = False) -> Explanation: ...

    # -- analyses ------------------------------------------------------------------------

    @lists(LeaderboardOptions)
    def leaderboard(
        self, context: str | None = None, *, top: int | None = None, **options: Unpack[LeaderboardOptions]
    ) -> analysis.Leaderboard: ...
    @lists(LeaderboardOptions)
    def leaderboard_by_category(self, **options: Unpack[LeaderboardOptions]) -> analysis.LeaderboardByCategory: ...
    @lists(StoppingOptions)
    def recommend(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> StudyRecommendation: ...
    @lists(StoppingOptions)
    def progress(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> analysis.Progress: ...
    @lists(FitOptions)
    def can_stop(
        self,
        context: str | None = None,
        *,
        goal: str | None = None,
        top: int | None = None,
        delta: float = 0.05,
        tolerance: float = 0.0,
        unit: str = "utility",
        **options: Unpack[FitOptions],
    ) -> CanStop: ...
    @lists(VoteOptions)
    def win_matrix(self, context: str | None = None, **options: Unpack[VoteOptions]) -> analysis.WinMatrix: ...
    @lists(ChanceOptions)
    def win_chances(self, context: str | None = None, **options: Unpack[ChanceOptions]) -> analysis.WinChances: ...
    @lists(HistoryOptions)
    def history(self, context: str | None = None, **options: Unpack[HistoryOptions]) -> analysis.History: ...
    @lists(CalibrationOptions)
    def calibration(
        self, context: str | None = None, **options: Unpack[CalibrationOptions]
    ) -> analysis.Calibration: ...
    @lists(RaterOptions)
    def raters(self, context: str | None = None, **options: Unpack[RaterOptions]) -> analysis.Raters: ...
    @lists(GoodnessOptions)
    def goodness_of_fit(
        self, context: str | None = None, **options: Unpack[GoodnessOptions]
    ) -> analysis.GoodnessOfFit: ...
    @lists(EstimateOptions)
    def regret(self, context: str | None = None, **options: Unpack[EstimateOptions]) -> analysis.RegretEstimate: ...
    @lists(VoteOptions)
    def scorer(self, context: str | None = None, **options: Unpack[VoteOptions]) -> Scorer: ...
    @lists(LeaderboardOptions)
    def plot_leaderboard(
        self,
        context: str | None = None,
        *,
        top: int | None = 40,
        path: str | Path | None = None,
        **options: Unpack[LeaderboardOptions],
    ) -> Figure: ...
    @lists(VoteOptions)
    def plot_win_matrix(
        self, context: str | None = None, *, path: str | Path | None = None, **options: Unpack[VoteOptions]
    ) -> Figure: ...
    @lists(HistoryOptions)
    def plot_history(
        self,
        context: str | None = None,
        *,
        most: int = 8,
        path: str | Path | None = None,
        **options: Unpack[HistoryOptions],
    ) -> Figure: ...
    @lists(CalibrationOptions)
    def plot_calibration(
        self, context: str | None = None, *, path: str | Path | None = None, **options: Unpack[CalibrationOptions]
    ) -> Figure: ...
    @lists(RaterOptions)
    def plot_raters(
        self,
        context: str | None = None,
        *,
        most: int = 40,
        path: str | Path | None = None,
        **options: Unpack[RaterOptions],
    ) -> Figure: ...

    # -- raters and gold pairs -----------------------------------------------------------

    def rater(self, name: str) -> Rater: ...
    def rater_records(self) -> RecordList[Rater]: ...
    def has_rater(self, name: str) -> bool: ...
    def rater_progress(self, rater: str) -> RaterProgress: ...
    def block(self, rater: str, exclude_votes: bool = False) -> Rater: ...
    def reinstate(self, rater: str) -> Rater: ...
    def describe_rater(self, name: str, /, **attributes: Any) -> Rater: ...
    def erase_rater(self, name: str) -> Erasure: ...
    def entry(self, parameters: Mapping[str, str] | None = None) -> Admission: ...
    def enter(self, rater: str, parameters: Mapping[str, str] | None = None, invited: bool = False) -> None: ...
    def departure(self, rater: str) -> Departure | None: ...
    def next_step(self, rater: str) -> Step | None: ...
    def check_steps(self, rater: str) -> None: ...
    def consent(self, rater: str, version: str, agrees: bool = True) -> None: ...
    def answer(self, rater: str, answers: Mapping[str, Any]) -> None: ...
    def finish_practice(self, rater: str) -> None: ...
    def add_gold(self, first: str, second: str, outcome: Outcome | str | float) -> None: ...
    def remove_gold(self, first: str, second: str) -> None: ...
    def gold(self) -> list[GoldPair]: ...

    # -- files ---------------------------------------------------------------------------

    def export(
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        **options: Any,
    ) -> ExportReport: ...
    def add_votes(self, votes: Iterable[Vote]) -> int: ...
    @overload
    def apply(self, plan: ItemPlan) -> ItemImportReport: ...
    @overload
    def apply(self, plan: VotePlan) -> VoteImportReport: ...

    def apply(self, plan: ItemPlan | VotePlan) -> ItemImportReport | VoteImportReport:
        """Carry out a plan in one transaction."""
        ...

    def import_votes(
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        *,
        skip_duplicates: bool = True,
        **options: Any,
    ) -> VoteImportReport: ...
    def save(self, path: str | Path) -> Path: ...
