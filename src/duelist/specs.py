"""Policies and environments written in one word, as on the command line.

    VACDB                            its defaults
    VACDB:explore=widest,scale=2     with settings
    Hypercube:dim=5,scale=0.5        an environment
    Noiseless:Hypercube:dim=5        an environment inside another
    FlippedVotes:first=400:Hypercube the same, with settings of its own

Case, dashes and underscores in names do not matter.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from duelist.environments import ENVIRONMENTS, Environment, FlippedVotes, Noiseless, PreferenceMatrix
from duelist.errors import InvalidInput
from duelist.policies import CompiledPolicy, make_policy


def parse_policy(spec: str, horizon: int | None = None) -> CompiledPolicy:
    """The policy of a spec; the horizon is used unless the spec sets its own.

    >>> parse_policy("max-in-p:scale=0.5", horizon=100)
    MaxInP(horizon=100, scale=0.5)
    """
    name, settings = _split(spec)
    horizon = settings.pop("horizon", horizon)
    return make_policy(name, horizon=horizon, **settings)


def parse_environment(spec: str) -> Environment:
    """The environment of a spec.

    >>> parse_environment("hypercube:dim=3,scale=2").scale
    2.0
    """
    name, _, rest = spec.partition(":")
    known = {_squeeze(n): cls for n, cls in ENVIRONMENTS.items()}
    if _squeeze(name) not in known:
        raise InvalidInput(f"environment is {name!r}; choose one of {', '.join(ENVIRONMENTS)}")
    cls = known[_squeeze(name)]
    if cls is Noiseless:
        return Noiseless(parse_environment(rest or "Hypercube"))
    if cls is FlippedVotes:
        own, _, inner = rest.partition(":") if "=" in rest.partition(":")[0] else ("", "", rest)
        return _made(cls, spec, {"environment": parse_environment(inner or "Hypercube"), **_settings(spec, own)})
    settings = _settings(spec, rest)
    if cls is PreferenceMatrix and "path" in settings:
        return PreferenceMatrix.from_csv(str(settings.pop("path")), **settings)
    return _made(cls, spec, settings)


def _made(cls: type[Environment], spec: str, settings: dict[str, Any]) -> Environment:
    taken = list(inspect.signature(cls).parameters)
    unknown = sorted(set(settings) - set(taken))
    if unknown:
        raise InvalidInput(f"{cls.__name__} has no setting {unknown[0]!r}; it takes {', '.join(taken)}")
    try:
        return cls(**settings)
    except TypeError as error:
        raise InvalidInput(f"{spec!r}: {error}; write settings as NAME:key=value,key=value") from error


def _split(spec: str) -> tuple[str, dict[str, Any]]:
    name, _, rest = spec.partition(":")
    return name, _settings(spec, rest)


def _settings(spec: str, text: str) -> dict[str, Any]:
    """key=value pairs, apart by commas that are not inside brackets."""
    if not text:
        return {}
    try:
        call = ast.parse(f"f({_quoted(text)})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise SyntaxError("positional values")
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise InvalidInput(f"cannot read {text!r} in {spec!r}; write settings as NAME:key=value,key=value") from error


def _quoted(text: str) -> str:
    """Put bare words (explore=widest, path=a/b.csv) in quotes; leave numbers, None and brackets alone."""
    parts: list[str] = []
    depth = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1:] = [(parts[-1] if parts else "") + character]
    return ",".join(_quote_value(part) for part in parts)


def _quote_value(part: str) -> str:
    key, equals, value = part.partition("=")
    try:
        ast.literal_eval(value.strip())
    except (SyntaxError, ValueError):
        value = repr(value.strip())
    return f"{key.strip()}{equals}{value}"


def _squeeze(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
