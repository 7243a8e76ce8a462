"""Covariates of a vote: influences on raters other than the merit of the items, such as side, length or Markdown.

A covariate is the difference of a property of the two items shown, the first minus the second. The fit estimates the
log-odds that it adds for the first item, together with the utilities, so that these compare items as if they did not
differ in it. Side is 1 for every vote: its coefficient is the advantage of the item shown first. Lengths and counts are
compared as (a - b) / (a + b), as the "style control" of LMArena does; all but side are divided by their root mean
square over the votes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.model.posterior import Posterior
from duelist.study.analysis.intervals import two_sided

SIDE: Final = "side"
MARKDOWN: Final = ("headers", "lists", "bold")
_PATTERNS: Final = {
    "headers": re.compile(r"^ {0,3}#{1,6}\s", re.MULTILINE),
    "lists": re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE),
    "bold": re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
}


class ShownPair(NamedTuple):
    """What a duel showed: two contents, and the unknown columns of the file that it was imported from."""

    first: Any
    second: Any
    extra: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates by vote, in the order in which the items were shown."""

    names: tuple[str, ...]
    values: Floats
    """(votes, names)."""

    def of(self, chosen: NDArray[Any] | slice) -> Covariates:
        """Return those of some votes."""
        return Covariates(self.names, self.values[chosen])


@dataclass(frozen=True, slots=True)
class CovariateEffect:
    """The log-odds that a covariate adds for the item shown first, per standard deviation; per vote for "side"."""

    name: str
    coefficient: float
    low: float
    high: float

    def __str__(self) -> str:
        unit = "for the item shown first" if self.name == SIDE else "per standard deviation"
        return f"{self.name} {self.coefficient:+.2f} ({self.low:+.2f} to {self.high:+.2f}) {unit}"


def expand_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Return the names of covariates, with "markdown" replaced by headers, lists and bold, each once."""
    given = [names] if isinstance(names, str) else list(names)
    wrong = next((name for name in given if not isinstance(name, str) or not name), None)
    if wrong is not None:
        raise InvalidInput(f"covariates has {wrong!r}.", "Give names.", field="covariates")
    parts = (MARKDOWN if name == "markdown" else (name,) for name in given)
    return tuple(dict.fromkeys(name for part in parts for name in part))


def measured(names: Sequence[str], n_votes: int, pairs: Sequence[ShownPair], of_vote: NDArray[Any]) -> Covariates:
    """Return covariates of votes on pairs, without those that no pair differs in; `of_vote` is the pair of each vote."""
    columns: dict[str, Floats] = {}
    for name in names:
        if name == SIDE:
            columns[name] = np.ones(n_votes)
            continue
        measure = _Measure(name)
        differences = [measure.difference(pair) for pair in pairs]
        if n_votes and all(each is None for each in differences):
            raise InvalidInput(
                f"covariates has {name!r}, of which no vote has a value.",
                "Give 'side', 'length', 'markdown', or a column of numbers of the items or of the imported votes.",
                field="covariates",
            )
        column = np.array([0.0 if each is None else each for each in differences], np.float64)[of_vote]
        size = float(np.sqrt(np.mean(column**2))) if n_votes else 0.0
        if size:
            columns[name] = column / size
    return Covariates(tuple(columns), np.array([*columns.values()], np.float64).reshape(len(columns), n_votes).T)


def effects_of(posterior: Posterior, names: Sequence[str], level: float) -> tuple[CovariateEffect, ...]:
    """Return the fitted effects with intervals, which take votes for independent."""
    if posterior.fitted is None or not names:
        return ()
    margin = two_sided(level) * np.sqrt(np.diagonal(posterior.fitted.extra_covariance)[: len(names)])
    found = zip(names, posterior.fitted.covariates, margin, strict=True)
    return tuple(CovariateEffect(name, float(x), float(x - m), float(x + m)) for name, x, m in found)


class _Measure:
    """Measures one property of contents, each content once."""

    def __init__(self, name: str) -> None:
        self._name, self._of_text = name, _OF_TEXT.get(name)
        self._known: dict[int, float | None] = {}

    def difference(self, pair: ShownPair) -> float | None:
        """Return the covariate of a pair; None if it has no value."""
        one, other = self._of(pair.first), self._of(pair.second)
        if self._of_text is not None:
            return None if one is None or other is None else (one - other) / (one + other or 1.0)
        if one is None or other is None:
            one, other = (_number(pair.extra.get(f"{self._name}_{side}")) for side in ("a", "b"))
        return _number(pair.extra.get(self._name)) if one is None or other is None else one - other

    def _of(self, content: Any) -> float | None:
        key = id(content)
        if key not in self._known:
            self._known[key] = self._measure(content)
        return self._known[key]

    def _measure(self, content: Any) -> float | None:
        if self._of_text is None:
            return _number(content.get(self._name)) if isinstance(content, Mapping) else None
        text = _text(content)
        return None if text is None else self._of_text(text)


def _count(name: str) -> Callable[[str], float]:
    return lambda text: float(len(_PATTERNS[name].findall(text)))


_OF_TEXT: Final[dict[str, Callable[[str], float]]] = {
    "length": lambda text: float(len(text)),
    **{name: _count(name) for name in MARKDOWN},
}


def _text(content: Any) -> str | None:
    """Return the text of a content; of messages, the texts of the assistant."""
    if isinstance(content, Mapping):
        content = content.get("text")
    if isinstance(content, list):
        said = [
            each.get("content") for each in content if isinstance(each, Mapping) and each.get("role") == "assistant"
        ]
        return "\n".join(each for each in said if isinstance(each, str)) if said else None
    return content if isinstance(content, str) else None


def _number(value: Any) -> float | None:
    """Return a number that was given as such, or as its text; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None
