"""The keyword arguments of a study's analyses: one typed dictionary per kind of analysis.

Type checkers read them in signatures (`**options: Unpack[FitOptions]`). The decorator `lists` writes them into the
signature and the docstring that `help` shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypedDict, TypeVar, get_type_hints

from duelist.core.errors import InvalidInput
from duelist.core.seeds import RandomState
from duelist.core.settings import choose_from

Function = TypeVar("Function", bound=Callable[..., Any])


class VoteOptions(TypedDict, total=False):
    """Which votes an analysis uses, and what it compares; see `duelist.study.analysis.study_analysis`."""

    criterion: str | None
    without: Collection[str] | str
    everyone: bool
    retired: bool
    category: str | None
    by: str | None
    labels: bool
    where: Sequence[str] | str


class ChanceOptions(VoteOptions, total=False):
    """Options of `win_chances`: also the precision of the prior, and whether votes of one rater count as dependent."""

    ridge: float | Literal["auto"]
    clusters: bool
    covariates: Sequence[str] | str
    rater_model: bool | Literal["auto"]


class FitOptions(ChanceOptions, total=False):
    """Options of a fit from whose posterior an analysis draws: also the seed of the draws."""

    random_state: RandomState


class LeaderboardOptions(FitOptions, total=False):
    """Options of `leaderboard`: also the level of the intervals."""

    level: float


class StoppingOptions(FitOptions, total=False):
    """Options of `recommend` and `progress`: also the tolerance and its unit."""

    tolerance: float
    unit: str


class HistoryOptions(VoteOptions, total=False):
    """Options of `history`: prior precision, whether votes count as dependent, seed, and the number of moments."""

    ridge: float | Literal["auto"]
    clusters: bool
    random_state: RandomState
    points: int
    rater_model: bool | Literal["auto"]


class GoodnessOptions(VoteOptions, total=False):
    """Options of `goodness_of_fit`: prior precision, and covariates of the fit that is tested."""

    ridge: float | Literal["auto"]
    covariates: Sequence[str] | str


class EstimateOptions(VoteOptions, total=False):
    """Options of `regret`: prior precision, level of the intervals, and seed."""

    ridge: float | Literal["auto"]
    level: float
    random_state: RandomState


class CalibrationOptions(EstimateOptions, total=False):
    """Options of `calibration`: also the numbers of bins and of folds."""

    bins: int
    folds: int


class RaterOptions(EstimateOptions, total=False):
    """Options of `raters`."""


class Option(NamedTuple):
    """The default of an option, which is the same in every analysis, and what it does."""

    default: Any
    text: str


OPTIONS: Final = {
    "criterion": Option(None, "The question that the votes answer, if the study has several; the first by default."),
    "without": Option((), "Raters whose votes are excluded, besides those that the owner excluded."),
    "everyone": Option(False, "Whether votes of excluded raters count as well."),
    "retired": Option(False, "Whether retired arms are shown; their votes inform the fit in any case."),
    "category": Option(None, "Only prompts of this category, in a study of systems."),
    "by": Option(None, '"system" (default in a study of systems) or "item": compare systems or their single answers.'),
    "labels": Option(False, "Whether arms are named by the beginning of their texts, besides their ids."),
    "where": Option((), 'Conditions on attributes of raters, such as "age >= 30": only votes of those who fulfil all.'),
    "ridge": Option(1.0, 'Precision of the prior of utilities; "auto" finds it from the votes.'),
    "clusters": Option(True, "Whether votes of one rater, and those on one prompt, count as dependent."),
    "rater_model": Option(
        "auto", 'Whether the fit estimates how raters differ: "auto" does if a test says that they do.'
    ),
    "covariates": Option((), 'Effects removed from utilities: "side", "length", "markdown", or a column of numbers.'),
    "random_state": Option(0, "Seed of the random draws or folds, or a NumPy generator to draw it from."),
    "level": Option(0.95, "Level of the intervals."),
    "tolerance": Option(0.0, "How much better another arm may be than the recommended one."),
    "unit": Option("utility", 'Unit of the tolerance: "utility", or "chance" for win probability above one half.'),
    "points": Option(40, "Largest number of moments."),
    "bins": Option(10, "Number of bins of predicted probabilities."),
    "folds": Option(5, "Number of folds, each predicted from the others."),
}


def lists(kind: Any) -> Callable[[Function], Function]:
    """Decorate a function with `**options: Unpack[kind]`, so that its signature and docstring list each option."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        listed = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=OPTIONS[name].default, annotation=hint)
            for name, hint in _annotations(kind).items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *listed])  # type: ignore[attr-defined]
        if function.__doc__:
            described = "".join(f"{each.name}\n    {OPTIONS[each.name].text}\n" for each in listed)
            function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\nOptions\n-------\n{described}"
        return function

    return decorate


def check_options(name: str, kind: Any, options: Mapping[str, Any]) -> None:
    """Raise InvalidInput for an option that the analysis `name` does not have."""
    known = _annotations(kind)
    stray = min(options.keys() - known.keys(), default=None)
    if stray is not None:
        raise InvalidInput(f"{name} has no option {stray!r}.", choose_from(stray, known, "It has"), field=name)


@cache
def _annotations(kind: Any) -> dict[str, str]:
    """Return the options of a kind, inherited ones included, with their types as text."""
    return {name: inspect.formatannotation(hint) for name, hint in get_type_hints(kind).items()}
