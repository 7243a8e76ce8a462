"""How participants come from a recruiting service and return to it: `Recruiting`, a setting of a study.

A recruiting service sends people to the rater page with an id in the address, as in `?PROLIFIC_PID=5f2a`, and pays those who come back
with a completion code. Addresses to return to are the owner's own: a participant chooses neither host nor path, only values of the query.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final
from urllib.parse import quote, urlsplit

from duelist.core.errors import InvalidInput

MAX_PARAMETERS: Final = 20
"""URL parameters that are stored per rater."""
MAX_PARAMETER_NAME: Final = 100
MAX_PARAMETER_VALUE: Final = 500
_MAX_CODE: Final = 200
_MAX_ADDRESS: Final = 2000
_MAX_HOSTS: Final = 20
_PLACEHOLDER: Final = re.compile(r"\{([\w.-]+)\}")
_HOST: Final = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?|https?://(localhost|127\.0\.0\.1)(:\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Ending:
    """What participants get at the end: a completion code, and an address to return to.

    In the query of `redirect`, `{code}` stands for the code and `{NAME}` for
    the participant's URL parameter NAME.

    >>> ending = Ending("C1", "https://app.example.com/complete?cc={code}&who={ID}")
    >>> ending.address({"ID": "5f 2a"})
    'https://app.example.com/complete?cc=C1&who=5f%202a'
    """

    code: str | None = None
    redirect: str | None = None

    def address(self, parameters: Mapping[str, str]) -> str | None:
        """Return the address to return to for a participant with these URL parameters."""
        if self.redirect is None:
            return None
        values = {**parameters, "code": self.code or ""}
        return _PLACEHOLDER.sub(lambda found: quote(values.get(found[1], ""), safe=""), self.redirect)


ENDINGS: Final = ("completed", "screened_out", "timed_out", "full")
"""How participation ends: with all pairs compared, not eligible, too late, or before it began, since all places were taken."""


@dataclass(frozen=True, slots=True)
class Recruiting:
    """How participants arrive at a study and leave it; without any of it, people enter their names and stay.

    Parameters
    ----------
    participant
        The URL parameter with the participant's id, which becomes the rater's
        name. People without it cannot enter.
    ask_name
        Whether people without such an id are asked for a name; otherwise one is
        generated.
    places
        How many people may enter by the open address; those who were screened
        out, timed out or were blocked free their place.
    idle_minutes
        Minutes without a vote after which a participant's place is free for the
        next one who arrives.
    completed, screened_out, timed_out, full
        Codes and addresses for each way in which participation ends.
    embed_in
        Sites whose pages may show the rater page in a frame, as in
        `https://lab.example.org`.
    """

    participant: str | None = None
    ask_name: bool = True
    places: int | None = None
    idle_minutes: float | None = None
    completed: Ending = Ending()
    screened_out: Ending = Ending()
    timed_out: Ending = Ending()
    full: Ending = Ending()
    embed_in: tuple[str, ...] = ()

    def ending(self, kind: str) -> Ending:
        """Return code and address for one of `ENDINGS`."""
        ending: Ending = getattr(self, kind)
        return ending


@dataclass(frozen=True, slots=True)
class RecruitingService:
    """What a recruiting service sends in the address, and where participants return to."""

    name: str
    label: str
    participant: str
    parameters: tuple[str, ...]
    redirect: str | None = None
    needs_own_redirect: bool = field(default=False)
    """Whether the owner has to complete the address, which differs between studies."""


SERVICES: Final = {
    each.name: each
    for each in (
        RecruitingService(
            "prolific",
            "Prolific",
            "PROLIFIC_PID",
            ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
            "https://app.prolific.com/submissions/complete?cc={code}",
        ),
        RecruitingService("mturk", "Mechanical Turk", "workerId", ("workerId", "assignmentId", "hitId")),
        RecruitingService("sona", "SONA Systems", "id", ("id",), needs_own_redirect=True),
        RecruitingService(
            "cloudresearch",
            "CloudResearch Connect",
            "participantId",
            ("participantId", "assignmentId", "projectId"),
            needs_own_redirect=True,
        ),
    )
}


def recruiting_for(service: str, **changes: Any) -> Recruiting:
    """Return the settings for a recruiting service: Prolific, Mechanical Turk, SONA or CloudResearch.

    `changes` are fields of `Recruiting`. An ending that is given as a text is a
    code, with the service's own address.

    >>> recruiting_for("prolific", completed="C1", places=50).completed.address({})
    'https://app.prolific.com/submissions/complete?cc=C1'
    """
    found = SERVICES.get(service)
    if found is None:
        raise InvalidInput(f"service is {service!r}.", f"Choose one of {', '.join(SERVICES)}.", field="service")
    given = {
        name: Ending(value, found.redirect) if name in ENDINGS and isinstance(value, str) else value
        for name, value in changes.items()
    }
    return checked_recruiting({"participant": found.participant, **given})


# -- checks ------------------------------------------------------------------------------


def checked_recruiting(given: Any) -> Recruiting:
    """Return valid settings, given as `Recruiting` or as a mapping; None for none."""
    if given is None:
        return Recruiting()
    values = (
        {each.name: getattr(given, each.name) for each in fields(given)} if isinstance(given, Recruiting) else given
    )
    if not isinstance(values, Mapping):
        raise InvalidInput(f"recruiting is {given!r}.", "Give a mapping of names to values.", field="recruiting")
    names = [each.name for each in fields(Recruiting)]
    _check_names("recruiting", values, names)
    found = Recruiting(**{**values, **{name: _checked_ending(name, values.get(name)) for name in ENDINGS}})
    if found.participant is not None:
        _check_line("recruiting.participant", found.participant, MAX_PARAMETER_NAME)
    if not isinstance(found.ask_name, bool):
        raise InvalidInput(f"ask_name is {found.ask_name!r}.", "Give true or false.", field="recruiting.ask_name")
    _check_count("recruiting.places", found.places, whole=True)
    _check_count("recruiting.idle_minutes", found.idle_minutes, whole=False)
    return replace(found, embed_in=_checked_hosts(found.embed_in))


def _check_names(what: str, given: Mapping[str, Any], names: list[str]) -> None:
    unknown = next((name for name in given if name not in names), None)
    if unknown is not None:
        raise InvalidInput(f"{what} has no {unknown!r}.", f"It has {', '.join(names)}.", field=f"{what}.{unknown}")


def _checked_ending(name: str, given: Any) -> Ending:
    field_name = f"recruiting.{name}"
    if given is None:
        return Ending()
    values = {"code": given.code, "redirect": given.redirect} if isinstance(given, Ending) else given
    if not isinstance(values, Mapping):
        raise InvalidInput(f"{name} is {given!r}.", "Give a code and a redirect.", field=field_name)
    _check_names(field_name, values, ["code", "redirect"])
    ending = Ending(**values)
    if ending.code is not None:
        _check_line(f"{field_name}.code", ending.code, _MAX_CODE)
    if ending.redirect is not None:
        _check_redirect(f"{field_name}.redirect", ending.redirect)
    return ending


def _check_redirect(name: str, address: Any) -> None:
    """Raise InvalidInput unless the address is https, and a participant can fill in nothing but values of its query."""
    _check_line(name, address, _MAX_ADDRESS)
    before_query = re.split(r"[?#]", address, maxsplit=1)[0]
    try:
        parts = urlsplit(_PLACEHOLDER.sub("", address))
        is_valid = parts.scheme == "https" and bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not address.isascii() or set(address) & set(' \\"<>') or "{" in before_query:
        raise InvalidInput(
            f"The address is {address!r}.",
            "Give an https address; {code} and {NAME} may stand in its query, after the question mark.",
            field=name,
        )


def _checked_hosts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or len(given) > _MAX_HOSTS:
        raise InvalidInput(f"embed_in is {given!r}.", f"List up to {_MAX_HOSTS} sites.", field="recruiting.embed_in")
    wrong = next((each for each in given if not isinstance(each, str) or not _HOST.fullmatch(each)), None)
    if wrong is not None:
        raise InvalidInput(
            f"embed_in names {wrong!r}.",
            "Give scheme and name of a site in lower case, as in https://lab.example.org.",
            field="recruiting.embed_in",
        )
    return tuple(given)


def _check_line(name: str, text: Any, longest: int) -> None:
    if not isinstance(text, str) or not text or len(text) > longest or not text.isprintable():
        raise InvalidInput(f"{name} is {str(text)[:100]!r}.", f"Give a line of up to {longest} characters.", field=name)


def _check_count(name: str, value: Any, whole: bool) -> None:
    if value is None:
        return
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value) or not 0 < value <= 1e9:
        what = "a whole number of at least 1" if whole else "a number above 0"
        raise InvalidInput(f"{name} is {value!r}.", f"Give {what}, or none.", field=name)


def checked_parameters(given: Any) -> dict[str, str]:
    """Return URL parameters that may be stored: few, short, and of printable characters."""
    if not isinstance(given, Mapping) or len(given) > MAX_PARAMETERS:
        raise InvalidInput(
            f"There are more than {MAX_PARAMETERS} URL parameters, or they have no names.",
            f"Send at most {MAX_PARAMETERS}.",
            field="parameters",
        )
    for name, value in given.items():
        _check_line("The name of a URL parameter", name, MAX_PARAMETER_NAME)
        if not isinstance(value, str) or len(value) > MAX_PARAMETER_VALUE or not value.isprintable():
            raise InvalidInput(
                f"The URL parameter {name!r} is {str(value)[:100]!r}.",
                f"Send up to {MAX_PARAMETER_VALUE} printable characters.",
                field="parameters",
            )
    return dict(given)
