"""`duelist list`: what there is to play, and where."""

from __future__ import annotations

from rich.table import Table

from duelist.cli.console import out


def list_() -> None:
    """Policies, environments and links, with their settings."""
    from duelist.environments import ENVIRONMENTS
    from duelist.links import LINKS
    from duelist.policies import POLICIES

    policies = Table("policy", "what it plays", "settings", title="Policies", title_justify="left")
    for name, cls in POLICIES.items():
        policies.add_row(name, _first_line(cls), ", ".join(cls.setting_names()))
    environments = Table("environment", "what it is", title="Environments", title_justify="left")
    for name, environment in ENVIRONMENTS.items():
        environments.add_row(name, _first_line(environment))
    links = Table("link", "formula", title="Links", title_justify="left")
    for name, link in LINKS.items():
        links.add_row(name, _first_line(type(link)))
    for table in (policies, environments, links):
        out.print(table)


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")
