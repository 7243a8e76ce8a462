"""Environments by name, as on the command line; `policies.make_policy` does the same for policies.

    Hypercube:dim=5,scale=0.5        an environment
    Noiseless:Hypercube:dim=5        an environment that wraps another
    FlippedVotes:first=400:Hypercube the same, with its own settings
    my_package.worlds:Kitchen:dim=3  a class of your own

Case, dashes and underscores in names are ignored. A package registers its environments as entry points:

    [project.entry-points."duelist.environments"]
    Kitchen = "my_package.worlds:Kitchen"
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any, Final

from duelist.core.class_registry import ClassRegistry
from duelist.core.errors import InvalidInput
from duelist.core.settings import choose_from, parse_settings
from duelist.simulation.environments import ENVIRONMENTS, Environment, PreferenceMatrix
from duelist.simulation.environments.wrapper import EnvironmentWrapper

_REGISTRY: Final = ClassRegistry(Environment, ENVIRONMENTS, "duelist.environments", "environment")


def plugin_environments() -> dict[str, EntryPoint]:
    """Return the environments of other packages by name, except names of built-in ones."""
    return _REGISTRY.plugins()


def environment_class(name: str) -> type[Environment]:
    """Return the class with that name: built in, of another package, or `module:Class`.

    >>> environment_class("late-arms").__name__
    'LateArms'
    """
    return _REGISTRY.find(name)


def make_environment(environment: str | Environment, **settings: Any) -> Environment:
    """Return the environment with that name and these settings, or `environment` itself.

    >>> make_environment("hypercube:dim=3", scale=4.0)
    Hypercube(dim=3, theta=None, scale=4.0, link='logistic', prior='direction')
    """
    if isinstance(environment, Environment):
        if settings:
            raise InvalidInput(f"{environment!r} has its settings already.", f"Remove {sorted(settings)[0]!r}.")
        return environment
    if not isinstance(environment, str):
        raise InvalidInput(
            f"environment is {environment!r}.",
            "Give an object of `duelist.environments`, or the name of one, as in 'Hypercube:dim=3'.",
            field="environment",
        )
    name, text = _REGISTRY.split(environment)
    cls = _REGISTRY.find(name)
    given = {**_own_settings(cls, environment, text), **settings}
    if cls is PreferenceMatrix and "path" in given:
        return PreferenceMatrix.from_csv(str(given.pop("path")), **given)
    return _make(cls, environment, given)


def _own_settings(cls: type[Environment], spec: str, rest: str) -> dict[str, Any]:
    """Return the settings after the name, including a wrapped environment."""
    if issubclass(cls, EnvironmentWrapper):
        own, _, inner = rest.partition(":") if "=" in rest.partition(":")[0] else ("", "", rest)
        return {"environment": make_environment(inner or "Hypercube"), **parse_settings(spec, own)}
    return parse_settings(spec, rest)


def _make(cls: type[Environment], spec: str, settings: Mapping[str, Any]) -> Environment:
    taken = list(inspect.signature(cls).parameters)
    unknown = sorted(set(settings) - set(taken))
    if unknown:
        raise InvalidInput(f"{cls.__name__} has no setting {unknown[0]!r}.", choose_from(unknown[0], taken, "It takes"))
    try:
        return cls(**settings)
    except TypeError as error:
        raise InvalidInput(f"{spec!r}: {error}.", "Write settings as NAME:key=value,key=value.") from error
