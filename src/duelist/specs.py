"""Environments written in one word, as on the command line; `policies.make_policy` reads policies.

    Hypercube:dim=5,scale=0.5        an environment
    Noiseless:Hypercube:dim=5        an environment inside another
    FlippedVotes:first=400:Hypercube the same, with settings of its own

Case, dashes and underscores in names do not matter.
"""

from __future__ import annotations

import inspect
from typing import Any

from duelist.environments import ENVIRONMENTS, Environment, FlippedVotes, Noiseless, PreferenceMatrix
from duelist.errors import InvalidInput
from duelist.spelling import read_settings, squeezed


def parse_environment(spec: str) -> Environment:
    """The environment of a spec.

    >>> parse_environment("hypercube:dim=3,scale=2").scale
    2.0
    """
    name, _, rest = spec.partition(":")
    known = {squeezed(n): cls for n, cls in ENVIRONMENTS.items()}
    if squeezed(name) not in known:
        raise InvalidInput(f"environment is {name!r}; choose one of {', '.join(ENVIRONMENTS)}")
    cls = known[squeezed(name)]
    if cls is Noiseless:
        return Noiseless(parse_environment(rest or "Hypercube"))
    if cls is FlippedVotes:
        own, _, inner = rest.partition(":") if "=" in rest.partition(":")[0] else ("", "", rest)
        return _made(cls, spec, {"environment": parse_environment(inner or "Hypercube"), **read_settings(spec, own)})
    settings = read_settings(spec, rest)
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
