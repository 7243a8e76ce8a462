"""What raters see around the pairs: `Flow`, a setting of a study. Every part is optional.

Before the first pair come a welcome with a consent form, a questionnaire, worked examples and practice pairs; then breaks, reasons, and
a thank-you. Rules exclude raters who do not pay attention.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from typing import Any, Final, TypeVar

from duelist.core.errors import InvalidInput

KINDS: Final = ("text", "number", "choice", "scale")
"""Kinds of questions: a short text, a number, one of some options, and a scale from 1 to a number of steps."""
MAX_TEXT: Final = 20_000
MAX_LINE: Final = 500
MAX_PARTS: Final = 50
"""Questions, options of a question, examples, practice pairs and reasons."""
MAX_LOGO: Final = 100_000
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,49}")
_COLOR: Final = re.compile(r"#[0-9a-f]{6}")
_LOGO: Final = re.compile(r"data:image/(?:png|jpeg|webp);base64,([A-Za-z0-9+/=]+)")
_OUTCOMES: Final = ("first", "second", "tie", "both_bad")
_MAX_SCALE: Final = 11
_MAX_COUNT: Final = 2**31
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Consent:
    """A text (Markdown) to agree to before anything else, and its version, which is recorded; by default a hash of the text."""

    text: str
    version: str | None = None

    @property
    def recorded_version(self) -> str:
        """The version that is recorded with a rater's consent."""
        return self.version or sha256(self.text.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the questionnaire; the answer becomes the attribute `name` of the rater.

    Parameters
    ----------
    name, text, kind
        The attribute, what raters read, and one of `KINDS`.
    options
        The options of a choice.
    required
        Whether raters must answer.
    steps, low, high
        The number of steps of a scale, and what its ends mean.
    accept
        Options that are eligible; raters who choose another are screened out.
        Empty: all.
    quotas
        How many raters may choose an option; further ones find the study full.
    """

    name: str
    text: str
    kind: str = "text"
    options: tuple[str, ...] = ()
    required: bool = True
    steps: int = 5
    low: str | None = None
    high: str | None = None
    accept: tuple[str, ...] = ()
    quotas: dict[str, int] = field(default_factory=dict)

    def checked(self, answer: Any) -> str | float | None:
        """Return a valid answer, None for a question left open; raise InvalidInput otherwise."""
        if answer is None or (isinstance(answer, str) and not answer.strip()):
            if self.required:
                raise self._wrong(answer, "Answer this question.")
            return None
        if self.kind == "choice" and answer not in self.options:
            raise self._wrong(answer, "Choose one of the options.")
        if self.kind in ("choice", "text"):
            if not isinstance(answer, str) or len(answer) > MAX_LINE or "\x00" in answer:
                raise self._wrong(answer, f"Give a text of up to {MAX_LINE} characters.")
            return answer.strip()
        if isinstance(answer, bool) or not isinstance(answer, (int, float)) or not math.isfinite(answer):
            raise self._wrong(answer, "Give a number.")
        if self.kind == "scale" and not (answer == int(answer) and 1 <= answer <= self.steps):
            raise self._wrong(answer, f"Give a whole number from 1 to {self.steps}.")
        if abs(answer) > 1e15:
            raise self._wrong(answer, "Give a smaller number.")
        return answer

    def _wrong(self, answer: Any, hint: str) -> InvalidInput:
        return InvalidInput(
            f"The answer to {self.name!r} is {str(answer)[:100]!r}.", hint, field=f"answers.{self.name}"
        )


@dataclass(frozen=True, slots=True)
class ExamplePair:
    """A worked example, or a practice pair: two texts (Markdown), the expected outcome, and why."""

    first: str
    second: str
    outcome: str = "first"
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class ExclusionRules:
    """Which raters are blocked automatically, with their votes excluded; `Study.reinstate` undoes it permanently.

    Parameters
    ----------
    failed_gold
        Number of wrong votes on gold pairs that blocks a rater.
    min_seconds
        A rater is blocked if half of the votes took less than this.
    one_side
        A rater is blocked if this share of the votes for a side is for the same
        side.
    after
        Number of votes after which the last two rules apply.
    """

    failed_gold: int | None = None
    min_seconds: float | None = None
    one_side: float | None = None
    after: int = 20


@dataclass(frozen=True, slots=True)
class Appearance:
    """The name above the page, a logo (PNG, JPEG or WebP as a data address) and the color of buttons, such as #2746b0."""

    name: str | None = None
    logo: str | None = None
    color: str | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """What raters see around the pairs.

    Parameters
    ----------
    welcome, consent
        A text (Markdown), and a consent form.
    questions
        The questionnaire.
    examples, practice
        Worked examples, and practice pairs with feedback. They are no items of
        the study, and give no votes.
    break_every
        Number of votes between suggested breaks.
    thanks
        A text (Markdown) at the end.
    reasons, reason_required
        Reasons to choose from with a click, and whether a vote needs a reason
        (with the setting `ask_reason`).
    exclusion, appearance
        Rules of automatic exclusion; name, logo and color.
    """

    welcome: str | None = None
    consent: Consent | None = None
    questions: tuple[Question, ...] = ()
    examples: tuple[ExamplePair, ...] = ()
    practice: tuple[ExamplePair, ...] = ()
    break_every: int | None = None
    thanks: str | None = None
    reasons: tuple[str, ...] = ()
    reason_required: bool = False
    exclusion: ExclusionRules = field(default_factory=ExclusionRules)
    appearance: Appearance = field(default_factory=Appearance)

    @property
    def has_steps(self) -> bool:
        """Whether raters have something to do before the first pair."""
        return self.consent is not None or bool(self.questions) or bool(self.practice)

    def for_raters(self) -> dict[str, Any]:
        """Return what the rater page needs: without rules of exclusion, eligible answers and quotas."""
        shown = asdict(self)
        del shown["exclusion"]
        if self.consent is not None:
            shown["consent"]["version"] = self.consent.recorded_version
        for question in shown["questions"]:
            del question["accept"], question["quotas"]
        return shown


def checked_flow(given: Any) -> Flow:
    """Return a valid flow, given as `Flow` or as a mapping; None for none."""
    if given is None:
        return Flow()
    values = _values("flow", given, Flow)
    found = Flow(
        welcome=_text("welcome", values["welcome"]),
        consent=None if values["consent"] is None else _consent(values["consent"]),
        questions=_parts("questions", values["questions"], _question),
        examples=_parts("examples", values["examples"], _example),
        practice=_parts("practice", values["practice"], _example),
        break_every=_count("break_every", values["break_every"]),
        thanks=_text("thanks", values["thanks"]),
        reasons=_parts("reasons", values["reasons"], _required_line),
        reason_required=_flag("reason_required", values["reason_required"]),
        exclusion=_exclusion(values["exclusion"]),
        appearance=_appearance(values["appearance"]),
    )
    names = [question.name for question in found.questions]
    if len(set(names)) < len(names):
        raise _invalid("questions", names, "Give each question another name.")
    return found


# -- checks ------------------------------------------------------------------------------


def _invalid(name: str, value: Any, hint: str) -> InvalidInput:
    return InvalidInput(f"{name} is {str(value)[:100]!r}.", hint, field=f"flow.{name}")


def _values(name: str, given: Any, kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a part, with their defaults."""
    if isinstance(given, kind):
        return {each.name: getattr(given, each.name) for each in fields(kind)}
    names = [each.name for each in fields(kind)]
    if not isinstance(given, Mapping):
        raise _invalid(name, given, "Give a mapping of names to values.")
    stray = next((each for each in given if each not in names), None)
    if stray is not None:
        raise _invalid(name, stray, f"It has {', '.join(names)}.")
    required = {"text", "name", "first", "second"} & set(names) if kind not in (Appearance, Flow) else set()
    missing = next((each for each in names if each in required and each not in given), None)
    if missing is not None:
        raise _invalid(f"{name}.{missing}", None, "Give a text.")
    defaults = {} if required else {each.name: getattr(kind(), each.name) for each in fields(kind)}
    if required:
        whole = kind(**dict.fromkeys(required, ""))
        defaults = {each.name: getattr(whole, each.name) for each in fields(kind)}
    return {**defaults, **given}


def _parts(name: str, given: Any, read: Callable[[str, Any], Part]) -> tuple[Part, ...]:
    if not isinstance(given, (list, tuple)) or len(given) > MAX_PARTS:
        raise _invalid(name, given, f"Give a list of up to {MAX_PARTS}.")
    return tuple(read(f"{name}.{k}", each) for k, each in enumerate(given))


def _text(name: str, value: Any, longest: int = MAX_TEXT) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > longest or "\x00" in value or not _is_encodable(value):
        raise _invalid(name, value, f"Give a text of up to {longest:,} characters.")
    return value


def _required_text(name: str, value: Any, longest: int = MAX_TEXT) -> str:
    found = _text(name, value, longest)
    if found is None or not found.strip():
        raise _invalid(name, value, "Give a text.")
    return found


def _required_line(name: str, value: Any) -> str:
    return _required_text(name, value, MAX_LINE)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _invalid(name, value, "Give true or false.")
    return value


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_COUNT:
        raise _invalid(name, value, "Give a whole number of at least 1, or none.")
    return value


def _number(name: str, value: Any, least: float, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise _invalid(name, value, f"Give a number from {least:g} to {most:g}, or none.")
    return float(value)


def _consent(given: Any) -> Consent:
    values = _values("consent", given, Consent)
    return Consent(
        _required_text("consent.text", values["text"]), _text("consent.version", values["version"], MAX_LINE)
    )


def _question(name: str, given: Any) -> Question:
    values = _values(name, given, Question)
    if not isinstance(values["name"], str) or not _NAME.fullmatch(values["name"]):
        raise _invalid(f"{name}.name", values["name"], "Give a letter and up to 49 letters, digits, - or _.")
    if values["kind"] not in KINDS:
        raise _invalid(f"{name}.kind", values["kind"], f"Choose one of {', '.join(KINDS)}.")
    options = _parts(f"{name}.options", values["options"], _required_line)
    if (values["kind"] == "choice") != bool(options) or len(set(options)) < len(options):
        raise _invalid(f"{name}.options", list(options), "Give different options to a choice, and none to others.")
    accept = _parts(f"{name}.accept", values["accept"], _required_line)
    stray = next((each for each in accept if each not in options), None)
    if stray is not None:
        raise _invalid(f"{name}.accept", stray, "Name options of the question.")
    quotas = values["quotas"]
    if not isinstance(quotas, Mapping) or any(each not in options for each in quotas):
        raise _invalid(f"{name}.quotas", quotas, "Give numbers by options of the question.")
    steps = _count(f"{name}.steps", values["steps"])
    if steps is None or not 2 <= steps <= _MAX_SCALE:
        raise _invalid(f"{name}.steps", values["steps"], f"Give a whole number from 2 to {_MAX_SCALE}.")
    return Question(
        values["name"],
        _required_text(f"{name}.text", values["text"], MAX_TEXT),
        values["kind"],
        options,
        _flag(f"{name}.required", values["required"]),
        steps,
        _text(f"{name}.low", values["low"], MAX_LINE),
        _text(f"{name}.high", values["high"], MAX_LINE),
        accept,
        {option: _count(f"{name}.quotas", count) or 0 for option, count in quotas.items()},
    )


def _example(name: str, given: Any) -> ExamplePair:
    values = _values(name, given, ExamplePair)
    if values["outcome"] not in _OUTCOMES:
        raise _invalid(f"{name}.outcome", values["outcome"], f"Choose one of {', '.join(_OUTCOMES)}.")
    first, second = (_required_text(f"{name}.{side}", values[side]) for side in ("first", "second"))
    return ExamplePair(first, second, values["outcome"], _text(f"{name}.explanation", values["explanation"]))


def _exclusion(given: Any) -> ExclusionRules:
    values = _values("exclusion", given, ExclusionRules)
    return ExclusionRules(
        _count("exclusion.failed_gold", values["failed_gold"]),
        _number("exclusion.min_seconds", values["min_seconds"], 0.001, 3600.0),
        _number("exclusion.one_side", values["one_side"], 0.5, 1.0),
        _count("exclusion.after", values["after"]) or 1,
    )


def _appearance(given: Any) -> Appearance:
    values = _values("appearance", given, Appearance)
    color, logo = values["color"] or None, values["logo"] or None
    if color is not None and not (isinstance(color, str) and _COLOR.fullmatch(color)):
        raise _invalid("appearance.color", color, "Give a color such as #2746b0, in lower case.")
    if logo is not None and not _is_picture(logo):
        raise _invalid("appearance.logo", logo, f"Give a PNG, JPEG or WebP of at most {MAX_LOGO // 1000} kB.")
    return Appearance(_text("appearance.name", values["name"], MAX_LINE), logo, color)


def _is_picture(logo: Any) -> bool:
    found = _LOGO.fullmatch(logo) if isinstance(logo, str) and len(logo) <= MAX_LOGO * 4 // 3 else None
    try:
        return found is not None and bool(base64.b64decode(found[1], validate=True))
    except binascii.Error:
        return False
