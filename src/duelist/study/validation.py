"""Checks of what callers pass to a study; every error names the value and how to fix it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.errors import InvalidInput
from duelist.study.records import Outcome, StudyDuel
from duelist.study.storage.encoding import Vectors

Choice = TypeVar("Choice", bound=StrEnum)


def checked_text(what: str, text: str) -> str:
    """Return a text that every database can store."""
    if not isinstance(text, str) or not text or "\x00" in text or not _is_encodable(text):
        raise InvalidInput(
            f"{what} is {text!r}.",
            "Give a text that is not empty, without zero bytes and unpaired surrogates.",
            field=what if what.isidentifier() else None,
        )
    return text


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return False
    return True


def checked_ids(ids: Sequence[str]) -> list[str]:
    """Return distinct ids of arms as a list."""
    if isinstance(ids, str):
        raise InvalidInput(f"ids is the text {ids!r}.", f"Give a list of ids, [{ids!r}] for one.", field="ids")
    listed = list(ids)
    if not listed:
        raise InvalidInput("ids are empty.", "Give at least one.", field="ids")
    seen: set[str] = set()
    for arm in listed:
        if checked_text("id of an arm", arm) in seen:
            raise InvalidInput(f"Arm {arm!r} is named twice.", "Name each arm once.", field="ids")
        seen.add(arm)
    return listed


def _is_empty(features: ArrayLike, count: int) -> bool:
    try:
        return np.shape(features) == (count, 0)
    except ValueError:  # rows of different lengths, which the caller reports
        return False


MAX_FEATURES: Final = 1024
"""Features per arm. The time to choose a pair grows with their cube, and raters of all studies wait for it."""
MAX_PAYLOAD: Final = 2**22
"""Characters per payload, as JSON: raters of all studies wait while a server sends one."""
LARGEST: Final = float(np.finfo(np.float32).max)
"""The largest feature whose squares and products are finite."""


def checked_vectors(features: ArrayLike | None, count: int, dim: int | None) -> Vectors:
    """Return finite vectors (count, dim), in single precision where that changes none; empty ones if arms have no features."""
    if features is None or _is_empty(features, count):
        if dim:
            raise InvalidInput(
                f"The arms of this study have {dim} features each, and these have none.",
                "Give their features.",
                field="features",
            )
        return np.empty((count, 0), np.float32)
    if count and np.ndim(features) == 2 and np.shape(features)[1] > MAX_FEATURES:
        raise InvalidInput(
            f"Arms have {np.shape(features)[1]} features.",
            f"Give at most {MAX_FEATURES}: reduce them, as by principal components.",
            field="features",
        )
    try:
        vectors: Vectors = np.ascontiguousarray(features, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"features are not numbers ({error}).", "Give an array of shape (n_arms, dim).", field="features"
        ) from None
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        raise InvalidInput(
            f"features have shape {np.shape(features)}.",
            f"Give one vector for each of the {count} arms: ({count}, dim).",
            field="features",
        )
    if dim == 0:
        raise InvalidInput(
            f"features have {vectors.shape[1]} entries, the arms of this study have none.",
            "Leave them out.",
            field="features",
        )
    if dim is not None and vectors.shape[1] != dim:
        raise InvalidInput(
            f"features have {vectors.shape[1]} entries, the arms of this study have {dim}.",
            "Give as many.",
            field="features",
        )
    fits = np.abs(vectors) <= LARGEST  # false for NaN
    if not fits.all():
        arm, feature = (int(k) for k in np.argwhere(~fits)[0])
        raise InvalidInput(
            f"features[{arm}, {feature}] is {vectors[arm, feature]}.",
            "Replace missing and very large features.",
            field="features",
        )
    single = vectors.astype(np.float32)
    return single if np.array_equal(single, vectors) else vectors


def checked_json(what: str, value: Any, field: str | None = None) -> str:
    """Return the JSON of a value; raise InvalidInput if JSON cannot hold it."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"{what} is {value!r}, which is not JSON ({error})."
        raise InvalidInput(message, "Give text, numbers, lists or mappings.", field=field) from None


def checked_payloads(payloads: Sequence[Any] | None, count: int) -> list[Any]:
    """Return one payload per arm, each of which JSON can hold."""
    listed = [None] * count if payloads is None else list(payloads)
    if len(listed) != count:
        raise InvalidInput(
            f"There are {len(listed)} payloads for {count} arms.", "Give one for each.", field="payloads"
        )
    for payload in listed:
        if len(checked_json("Payload", payload, field="payloads")) > MAX_PAYLOAD:
            raise InvalidInput(
                f"A payload has more than {MAX_PAYLOAD:,} characters as JSON.",
                "Shorten it, or add large content as a media file.",
                field="payloads",
            )
    return listed


def checked_contexts(contexts: Sequence[str | None] | str | None, count: int) -> list[str | None]:
    """Return one context per arm."""
    listed = [contexts] * count if contexts is None or isinstance(contexts, str) else list(contexts)
    if len(listed) != count:
        raise InvalidInput(
            f"There are {len(listed)} contexts for {count} arms.",
            "Give one for each, or one text for all.",
            field="contexts",
        )
    for context in listed:
        if context is not None:
            checked_text("context", context)
    return listed


def checked_names(field: str, names: Sequence[str | None] | None, count: int) -> list[str | None]:
    """Return one name, or None, per arm; `field` is the name of the argument."""
    listed: list[str | None] = [None] * count if names is None else list(names)
    if len(listed) != count or isinstance(names, str):
        given = f"is {names!r}" if isinstance(names, str) else f"has length {len(listed)}"
        raise InvalidInput(f"{field} {given}, and there are {count} arms.", "Give one for each arm.", field=field)
    for name in listed:
        if name is not None:
            checked_text(field, name)
    return listed


def checked_rater(rater: str) -> str:
    r"""Return the name of a rater in its normal form: two names that look alike must not be two raters.

    >>> checked_rater(" A\u200bna\uff11 ")
    'Ana1'
    """
    normal = unicodedata.normalize("NFKC", checked_text("rater", rater))
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in normal):
        raise InvalidInput(f"rater is {rater!r}.", "Give a name without control characters.", field="rater")
    visible = "".join(character for character in normal if unicodedata.category(character) != "Cf")
    name = " ".join(unicodedata.normalize("NFKC", visible).split())
    if not name:
        raise InvalidInput(f"rater is {rater!r}.", "Give a name with visible characters.", field="rater")
    return name


def checked_duel_id(duel: int | StudyDuel) -> int:
    """Return the id of a duel, given as a duel or as its id."""
    duel_id = duel.id if isinstance(duel, StudyDuel) else duel
    if not isinstance(duel_id, (int, np.integer)) or isinstance(duel_id, bool):
        raise InvalidInput(f"duel is {duel!r}.", "Give a duel or its id.", field="duel")
    return int(duel_id)


def checked_reason(reason: str | None) -> str | None:
    """Return the reason of a vote, None if there is none."""
    return None if reason is None else checked_text("reason", reason)


def checked_seconds(seconds: float | None) -> float | None:
    """Return a response time in seconds."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.number)) or not 0.0 <= seconds < np.inf:
        raise InvalidInput(
            f"response_seconds is {seconds!r}.",
            "Give a number of seconds of at least 0, or leave it out.",
            field="response_seconds",
        )
    return float(seconds)


def checked_outcome(outcome: str | float) -> Outcome:
    """Return an outcome by its name, ignoring case, dashes and spaces, or by its number: 1, 0 or 0.5 (a tie).

    >>> [checked_outcome(outcome).value for outcome in ("Both bad", 1, 0.5)]
    ['both_bad', 'first', 'tie']
    """
    name: Any = outcome
    if isinstance(outcome, str):
        name = outcome.strip().lower().replace("-", "_").replace(" ", "_")
    elif not isinstance(outcome, bool) and isinstance(outcome, (int, float, np.number)):
        name = {1.0: Outcome.FIRST, 0.0: Outcome.SECOND, 0.5: Outcome.TIE}.get(float(outcome), outcome)
    try:
        return Outcome(name)
    except ValueError:
        raise InvalidInput(
            f"outcome is {outcome!r}.", f"Choose one of {', '.join(Outcome)}.", field="outcome"
        ) from None


def one_of(kind: type[Choice], name: str, value: str) -> Choice:
    """Return a member of an enumeration by its value."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(f"{name} is {value!r}.", f"Choose one of {', '.join(kind)}.", field=name) from None
