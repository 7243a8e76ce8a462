"""`duelist list`: policies, environments and links."""

from __future__ import annotations

import inspect

from rich.table import Table

from duelist.cli.console import out
from duelist.core.errors import InvalidInput


def list_() -> None:
    """List policies (including those of installed packages), environments and links."""
    from duelist.model.links import LINKS
    from duelist.policies import BUILTIN_POLICIES, plugin_policies
    from duelist.policies.counting import COUNTING_POLICIES
    from duelist.simulation.environments import ENVIRONMENTS

    policies = Table("policy", "plays", "settings", title="Policies", title_justify="left")
    for name in [*(name for name in BUILTIN_POLICIES if name not in COUNTING_POLICIES), *plugin_policies()]:
        policies.add_row(name, *_description(name))
    classic = Table("policy", "plays", "settings", title="Policies for arms without features", title_justify="left")
    for name in COUNTING_POLICIES:
        classic.add_row(name, *_description(name))
    environments = Table("environment", "description", title="Environments", title_justify="left")
    for name, environment in ENVIRONMENTS.items():
        environments.add_row(name, _first_line(environment))
    links = Table("link", "formula", title="Links", title_justify="left")
    for name, link in LINKS.items():
        links.add_row(name, link.description)
    for table in (policies, classic, environments, links):
        out.print(table)


def _description(name: str) -> tuple[str, str]:
    """Return what a policy plays, and its settings; or why it cannot be loaded."""
    from duelist.policies import policy_class

    try:
        cls = policy_class(name)
    except InvalidInput as error:
        return str(error), ""
    return _first_line(cls), ", ".join(inspect.signature(cls).parameters)


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")
