"""Selection: the votes, arms and features that an analysis of a study is about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import check_choice
from duelist.core.errors import InvalidInput
from duelist.core.seeds import draw_seed
from duelist.study.analysis.fit.rater_filter import matching_raters
from duelist.study.analysis.fit.utilities import WithArmEffects
from duelist.study.analysis.fit.vote_log import VoteLog
from duelist.study.analysis.fit.votes import VoteTable
from duelist.study.items.labels import label_of
from duelist.study.records import Arm


class SelectionOptions(NamedTuple):
    """The selection options of an analysis; see the module."""

    context: str | None = None
    criterion: str | None = None
    without: frozenset[str] = frozenset()
    everyone: bool = False
    retired: bool = False
    category: str | None = None
    by: str | None = None
    labels: bool = False
    where: tuple[str, ...] = ()


class Selection(NamedTuple):
    """The selected votes, arms and features."""

    log: VoteTable
    arms: list[str]
    features: NDArray[np.float64] | WithArmEffects | None
    among: list[str] | None
    contexts: list[str | None]
    excluded: frozenset[str]
    stamp: tuple[int, ...]
    of: str = "arm"
    """The kind compared: "arm" or "system"."""


def split(context: str | None, options: Mapping[str, Any]) -> tuple[SelectionOptions, dict[str, Any]]:
    """Return the selection, and the arguments of the analysis itself."""
    without: Collection[str] | str = options.get("without", ())
    where: Sequence[str] | str = options.get("where", ())
    scope = SelectionOptions(
        context,
        options.get("criterion"),
        frozenset([without] if isinstance(without, str) else without),
        bool(options.get("everyone", False)),
        bool(options.get("retired", False)),
        options.get("category"),
        None if options.get("by") is None else check_choice("by", options["by"], ("system", "item")),
        bool(options.get("labels", False)),
        (where,) if isinstance(where, str) else tuple(where),
    )
    own = {name: value for name, value in options.items() if name not in SelectionOptions._fields}
    if "random_state" in own:
        own["seed"] = draw_seed(own.pop("random_state"))
    return scope, own


def left_out(scope: SelectionOptions, seen: Selection) -> frozenset[str]:
    """Return the raters whose votes are excluded."""
    unknown = next((name for name in scope.without if name not in seen.log.raters), None)
    if unknown is not None:
        raise InvalidInput(f"without has {unknown!r}, a rater without votes here.", "Remove the name.")
    return scope.without | (frozenset() if scope.everyone else seen.excluded)


def select(known: VoteLog, scope: SelectionOptions, arm_effects: bool) -> Selection:
    """Select from the whole log."""
    every = [known.arms.arm(number) for number in range(len(known.arms))]
    chosen = [arm for arm in every if scope.context in (None, arm.context) and scope.category in (None, arm.category)]
    if scope.context is not None and not chosen:
        raise InvalidInput(
            f"context is {scope.context!r}, which has no arms.", f"{_which_contexts(every)}.", field="context"
        )
    if scope.category is not None and not chosen:
        categories = ", ".join(dict.fromkeys(repr(arm.category) for arm in every if arm.category)) or "none"
        raise InvalidInput(
            f"category is {scope.category!r}, which has no prompts.", f"There are: {categories}.", field="category"
        )
    if scope.by == "system" and not known.arms.has_systems:
        raise InvalidInput("by is 'system', and the items of this study have no systems.", "Leave it out.", field="by")
    log, criterion = known.standing()
    seen = Selection(
        log=log,
        arms=[arm.id for arm in chosen],
        features=_features(known, [arm.number for arm in chosen], arm_effects),
        among=None if scope.retired or not any(arm.retired for arm in chosen) else _ids_of_active(chosen),
        contexts=[arm.context for arm in chosen],
        excluded=known.excluded,
        stamp=known.stamp,
    )
    if seen.among == []:
        raise InvalidInput(
            f"context is {scope.context!r}, which has no active arms.", "Add or activate some.", field="context"
        )
    wanted = _votes_on_criterion(known, scope.criterion, criterion)
    excluded = left_out(scope, seen)
    if scope.where:
        matching = matching_raters(scope.where, known.attributes)
        counts = np.array(
            [*(name in matching for name in log.raters), False]
        )  # votes without a rater have no attributes
        wanted = counts[log.rater] if wanted is None else wanted & counts[log.rater]
    if excluded:
        counts = np.array([*(name not in excluded for name in log.raters), True])
        wanted = counts[log.rater] if wanted is None else wanted & counts[log.rater]
    if len(chosen) < len(every):
        place = np.full(len(every), -1)
        place[[arm.number for arm in chosen]] = np.arange(len(chosen))
        first, second = place[log.first], place[log.second]
        inside = (first >= 0) & (second >= 0)
        wanted = inside if wanted is None else wanted & inside
        columns = {**vars(log), "n_arms": len(chosen), "first": first, "second": second}
        log = VoteTable(**columns)
    seen = seen._replace(log=log if wanted is None else log.of(wanted))
    if scope.by != "item" and known.arms.has_systems:
        return _by_system(seen, chosen)
    return _with_labels(seen, chosen) if scope.labels else seen


def _with_labels(seen: Selection, arms: Sequence[Arm]) -> Selection:
    """Return the selection with labels of arms instead of their ids."""
    label = {arm.id: label_of(arm) for arm in arms}
    among = None if seen.among is None else [label[arm] for arm in seen.among]
    return seen._replace(arms=list(label.values()), among=among)


def _by_system(seen: Selection, arms: Sequence[Arm]) -> Selection:
    """Return the selection with systems instead of their answers to prompts."""
    names = list(dict.fromkeys(arm.system for arm in arms if arm.system is not None))
    position = {name: k for k, name in enumerate(names)}
    of = np.array([position[arm.system] for arm in arms if arm.system is not None], np.int64)
    columns = {
        **vars(seen.log),
        "n_arms": len(names),
        "first": of[seen.log.first],
        "second": of[seen.log.second],
    }
    active = set(names) if seen.among is None else {arm.system for arm in arms if not arm.retired}
    return seen._replace(
        log=VoteTable(**columns),
        arms=names,
        features=None,
        among=None if len(active) == len(names) else [name for name in names if name in active],
        contexts=[None] * len(names),
        of="system",
    )


def _votes_on_criterion(known: VoteLog, criterion: str | None, of_votes: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return which votes are on this criterion; None for all of them."""
    if criterion is None:
        return None if not len(known.criteria()) else of_votes == 0
    number = known.criterion_number(criterion)
    if number is None and len(of_votes):
        there = ", ".join(map(repr, known.criteria())) or "none"
        raise InvalidInput(
            f"criterion is {criterion!r}, and no vote has it.", f"Criteria with votes: {there}.", field="criterion"
        )
    return (of_votes == 0) | (of_votes == number)


def _features(known: VoteLog, numbers: Sequence[int], arm_effects: bool) -> NDArray[np.float64] | WithArmEffects | None:
    """Return the newest features of arms, or None to use the faster way without features.

    It is None if there are none, or if they are one-hot.
    """
    if not numbers or not known.arms.dim:
        return None
    features = np.asarray(known.arms.matrix(np.array(numbers)), np.float64)
    ones = features == 1.0
    own = (ones.sum(axis=1) == 1).all() and (ones.sum(axis=0) <= 1).all() and np.count_nonzero(features) == len(numbers)
    if own:
        return None
    return WithArmEffects(features) if arm_effects else features


def _ids_of_active(arms: Sequence[Arm]) -> list[str]:
    return [arm.id for arm in arms if not arm.retired]


def _which_contexts(arms: Sequence[Arm]) -> str:
    names = list(dict.fromkeys(arm.context for arm in arms if arm.context is not None))
    return f"There are: {', '.join(map(repr, names[:10]))}" if names else "The arms of this study have no contexts"
