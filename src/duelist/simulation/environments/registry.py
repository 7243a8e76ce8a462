"""Environments by name, as on the command line; `policies.make_policy` does the same for policies.

    Hypercube:dim=5,scale=0.5        an environment
    Noiseless:Hypercube:dim=5        an environment that wraps another
    FlippedVotes:first=400:Hypercube the same, with its own settings

Case, dashes and underscores in names are ignored.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from duelist.core.errors import InvalidInput
from duelist.core.settings import normalize_name, parse_settings
from duelist.simulation.environments import ENVIRONMENTS, Environment, PreferenceMatrix
from duelist.simulation.environments.wrapper import EnvironmentWrapper


def parse_environment(spec: str) -> Environment:
    """Return the environment that a specification names.

    >>> parse_environment("hypercube:dim=3,scale=2").scale
    2.0
    """
    return make_environment(spec)


def make_environment(spec: str, settings: Mapping[str, Any] | None = None) -> Environment:
    """Return the environment that a specification names, with further settings.

    >>> make_environment("Hypercube:dim=3", {"scale": 4.0}).scale
    4.0
    """
    name, _, rest = spec.partition(":")
    known = {normalize_name(n): cls for n, cls in ENVIRONMENTS.items()}
    if normalize_name(name) not in known:
        raise InvalidInput(
            f"environment is {name!r}.", f"Choose one of {', '.join(ENVIRONMENTS)}.", field="environment"
        )
    cls = known[normalize_name(name)]
    given = {**_own_settings(cls, spec, rest), **(settings or {})}
    if cls is PreferenceMatrix and "path" in given:
        return PreferenceMatrix.from_csv(str(given.pop("path")), **given)
    return _made(cls, spec, given)


def _own_settings(cls: type[Environment], spec: str, rest: str) -> dict[str, Any]:
    """Return the settings after the name, including a wrapped environment."""
    if issubclass(cls, EnvironmentWrapper):
        own, _, inner = rest.partition(":") if "=" in rest.partition(":")[0] else ("", "", rest)
        return {"environment": parse_environment(inner or "Hypercube"), **parse_settings(spec, own)}
    return parse_settings(spec, rest)


def _made(cls: type[Environment], spec: str, settings: dict[str, Any]) -> Environment:
    taken = list(inspect.signature(cls).parameters)
    unknown = sorted(set(settings) - set(taken))
    if unknown:
        raise InvalidInput(f"{cls.__name__} has no setting {unknown[0]!r}.", f"It takes {', '.join(taken)}.")
    try:
        return cls(**settings)
    except TypeError as error:
        raise InvalidInput(f"{spec!r}: {error}.", "Write settings as NAME:key=value,key=value.") from error
