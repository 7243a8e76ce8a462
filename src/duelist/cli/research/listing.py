"""`duelist list`: policies, environments and links."""

from __future__ import annotations

import inspect

from duelist.cli.console import say_table
from duelist.core.errors import InvalidInput


def list_() -> None:
    """List policies (including those of installed packages), environments and links."""
    from duelist.model.links import LINKS
    from duelist.policies import BUILTIN_POLICIES, plugin_policies
    from duelist.policies.counting import COUNTING_POLICIES
    from duelist.simulation.environments import ENVIRONMENTS

    with_features = [*(name for name in BUILTIN_POLICIES if name not in COUNTING_POLICIES), *plugin_policies()]
    headers = ("policy", "description", "settings")
    say_table(headers, [(name, *_description(name)) for name in with_features], "Policies")
    say_table(
        headers, [(name, *_description(name)) for name in COUNTING_POLICIES], "Policies for arms without features"
    )
    say_table(
        ("environment", "description"),
        [(name, _first_line(environment)) for name, environment in ENVIRONMENTS.items()],
        "Environments",
    )
    say_table(("link", "formula"), [(name, link.description) for name, link in LINKS.items()], "Links")


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
