"""`Study.can_stop`: whether a study can stop, by its goal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from duelist.core.errors import InvalidInput
from duelist.model.stopping import check_delta, utility_tolerance
from duelist.policies.goals import find_goal
from duelist.study.analysis.fit.selection import split
from duelist.study.analysis.fit.study_fit import StudyFit
from duelist.study.analysis.goal_stopping import (
    CanStop,
    best_arm_decision,
    leader_of,
    learning_decision,
    ranking_decision,
)
from duelist.study.analysis.study_analysis import StudyAnalysis
from duelist.study.options import FitOptions, check_options, lists


class StudyStopping(StudyAnalysis):
    """The stopping half of `Study`."""

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
    ) -> CanStop:
        """Return whether there are enough votes for the study's goal, and which decision is still open.

        Without a goal, and for "best" and "serve", this agrees with `recommend().decided` and `progress().done`, by
        the same rule. If arms have contexts and no systems, each is checked and all must be done; they share the error rate.

        Parameters
        ----------
        context
            Only this group.
        goal
            A goal other than the study's own.
        top
            How many places "rank" is about; None: as in `create_study(goal="rank", top=5)`, or all.
        delta
            The probability of stopping with a wrong winner or order, valid at any time. ("learn" has no such
            guarantee.)
        tolerance, unit
            How much better another arm may be than the recommended one, or the next in an order than the one before
            it: in utility or, with `unit="chance"`, in win probability above one half. If arms are equally good, only
            a tolerance ends the study: `while not study.can_stop(tolerance=0.02, unit="chance")`.
        """
        if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
            raise InvalidInput(f"top is {top!r}.", "Give a whole number of at least 1.", field="top")
        check_options("can_stop", FitOptions, options)
        check_delta(delta)
        utility_tolerance(tolerance, unit)
        wanted = find_goal(goal or self.settings.goal or "best").name
        if wanted == "learn" and tolerance:
            raise InvalidInput(
                f"tolerance is {tolerance!r}, but the goal 'learn' compares no arms.",
                "Leave it out.",
                field="tolerance",
            )
        if wanted == "learn":
            seen = self._select(split(context, options)[0])
            return learning_decision(seen.log.on_arms, seen.features)
        groups = [context] if context is not None else self._groups(options.get("by"))
        places = self.settings.top if top is None else top
        within = {"delta": delta / len(groups), "tolerance": tolerance, "unit": unit}
        found = [self._enough(each, wanted, places, within, dict(options)) for each in groups]
        return next((each for each in found if not each.done), found[0])

    def _groups(self, by: str | None) -> list[str | None]:
        """Return the contexts of active arms; all arms together if some have no context, or for systems."""
        active = [arm for arm in self.arms() if not arm.retired]
        if by != "item" and any(arm.system is not None for arm in active):
            return [None]
        groups = list(dict.fromkeys(arm.context for arm in active))
        return groups if groups and None not in groups else [None]

    def _enough(
        self, context: str | None, goal: str, top: int | None, within: dict[str, Any], options: dict[str, Any]
    ) -> CanStop:
        scope, rest = split(context, options)

        def decide(fit: StudyFit, _: dict[str, Any]) -> CanStop:
            given = {**within, "supply": self._supply(fit.of)}
            found = ranking_decision(fit, top, **given) if goal == "rank" else best_arm_decision(fit, goal, **given)
            return replace(found, context=context, leader=leader_of(fit))

        return self._with_flagged(scope, rest, decide)
