"""Pages of the Python API, one per public name, and the list of public names without a docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import duelist as dl

FOLDER: Final = "reference/python"
MODULES: Final = {
    "counting": "duelist.policies.counting",
    "datasets": "duelist.research.datasets",
    "environments": "duelist.simulation.environments",
    "errors": "duelist.core.errors",
    "policies": "duelist.policies",
    "reference": "duelist.reference",
    "study": "duelist.study",
    "server": "duelist.server",
    "testing": "duelist.testing",
    "analysis": "duelist.study.analysis",
    "features": "duelist.study.items.features",
    "experiments": "duelist.research.experiments",
    "gpu": "duelist.gpu",
}
"""Public modules by the name of their page."""

_ORDER: Final = (
    ("Ask and tell", ("Policy", "Duel", "ArmTable", "Pair", "Recommendation", "make_policy", "policy_for",
                      "register_policy", "restore_policy", "best_pair", "widest_pair", "FIRST_WON", "SECOND_WON", "TIE")),
    ("Fit votes", ("fit_mle", "Fit", "Link", "get_link", "Scorer", "load_scorer")),
    ("Simulate", ("simulate", "Runs", "Environment")),
    ("Studies", ("create_study", "load_study", "list_studies", "copy_study", "delete_study", "backup_storage",
                 "restore_study", "plan_study", "Study", "AsyncStudy", "Outcome", "HttpSystem", "ask_live")),
    ("Errors", ("DuelistError", "InvalidInput", "InvalidSnapshot", "UnknownDuel")),
)  # fmt: skip


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module: `__all__`, or the classes and functions that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def _own_modules() -> dict[str, ModuleType]:
    found: dict[str, ModuleType] = {}
    for name, path in MODULES.items():
        try:
            found[name] = import_module(path)
        except ImportError:
            if name != "gpu":  # PyTorch is not installed with the documentation
                raise
    return found


def _is_documented(value: Any) -> bool:
    return bool((inspect.getdoc(value) or "").strip())


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class that the package defines.

    Implementations of `StudyProtocol` have the methods of `Study`, which are documented there.
    """
    if cls is not dl.Study and hasattr(cls, "tell_all") and hasattr(cls, "leaderboard"):
        return
    fields = getattr(cls, "__dataclass_fields__", {})
    for name, value in inspect.getmembers(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or name in fields or owner is None or not owner.__module__.startswith("duelist"):
            continue
        if inspect.isroutine(value) or isinstance(value, property):
            yield name, value


def undocumented() -> list[str]:
    """Return the public names, and the public methods of public classes, that have no docstring."""
    missing = []
    modules = {"duelist": dl, **{f"duelist.{name}": module for name, module in _own_modules().items()}}
    for path, module in modules.items():
        if not _is_documented(module):
            missing.append(path)
        for name in public_names(module):
            value = getattr(module, name)
            if isinstance(value, type):
                missing += [f"{path}.{name}.{member}" for member, each in _members(value) if not _is_documented(each)]
            if (isinstance(value, type) or inspect.isroutine(value)) and not _is_documented(value):
                missing.append(f"{path}.{name}")
    return sorted(set(missing))


def is_policy(name: str) -> bool:
    """Return whether a public name of duelist is a policy, which has a page under Algorithms."""
    value = getattr(dl, name)
    return isinstance(value, type) and issubclass(value, dl.Policy) and value is not dl.Policy


def _page(name: str) -> str:
    title = f"---\ntitle: {name}\n---\n\n"
    if not is_policy(name):
        return f"{title}::: duelist.{name}\n"
    return (
        f"{title}::: {type_module(getattr(dl, name))}.{name}\n    options:\n      members: false\n\n"
        f"The rule, its source and the reference code are on [the page of the algorithm](../../algorithms/linear/{name}.md). "
        "[NativePolicy](policies.md) has the methods that all policies share.\n"
    )


def type_module(cls: type) -> str:
    """Return the module that defines a class."""
    return cls.__module__


def _module_page(name: str) -> str:
    path = MODULES[name]
    title = f"duelist.{name}" if hasattr(dl, name) else path
    try:
        module = import_module(path)
    except ImportError:
        members = ["ContextPairs", "best_pair", "best_pairs_in_contexts", "widest_pair"]
    else:
        members = public_names(module)
    text = [f"# {title}", ""]
    if name == "reference":
        return "\n".join(
            [*text, "The definition of every policy in plain NumPy. [How to read it]"
             "(../../algorithms/reference-implementations.md); the code of each is on the page of its algorithm.", ""]
        )  # fmt: skip
    for member in members:
        value = getattr(module, member, None) if name != "gpu" else None
        if name == "policies" and hasattr(dl, member) and member not in ("Policy",):
            text.append(f"- [{member}]({member}.md)")
        elif name == "counting" and isinstance(value, type) and member != "CountingPolicy":
            text.append(f"- [{member}](../../algorithms/counting/{member}.md)")
        elif isinstance(value, type) or inspect.isroutine(value) or name == "gpu":
            text += ["", f"::: {path}.{member}", "    options:", "      heading_level: 2", ""]
    return "\n".join([*text, ""])


def _index() -> str:
    sections = [*_ORDER, ("Policies", tuple(name for name in dl.__all__ if is_policy(name)))]
    placed = {name for _, names in sections for name in names}
    modules = [name for name in dl.__all__ if isinstance(getattr(dl, name), ModuleType)]
    if rest := sorted(set(dl.__all__) - placed - set(modules)):
        sections.append(("Other names", tuple(rest)))
    lines = ["# Python API", "", "The public names of `duelist`. Everything else may change without notice.", ""]
    for title, names in sections:
        lines += [f"## {title}", "", "| name | is or does |", "|---|---|"]
        lines += [f"| [`{name}`](python/{name}.md) | {_first_line(getattr(dl, name))} |" for name in names]
        lines.append("")
    lines += ["## Modules", "", "| module | contains |", "|---|---|"]
    for name, path in MODULES.items():
        try:
            text = _first_line(import_module(path))
        except ImportError:
            text = "Optional searches on a GPU with PyTorch."
        lines.append(f"| [`{f'duelist.{name}' if name in modules else path}`](python/{name}.md) | {text} |")
    return "\n".join([*lines, ""])


def _first_line(value: Any) -> str:
    if isinstance(value, int | float):
        return f"The outcome {value:g} of a duel."
    text = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
    return text.replace("|", "\\|")


def pages() -> dict[str, str]:
    """Return the generated pages by their path in the site."""
    named = [name for name in dl.__all__ if not isinstance(getattr(dl, name), ModuleType)]
    return {
        "reference/index.md": _index(),
        **{f"{FOLDER}/{name}.md": _page(name) for name in named},
        **{f"{FOLDER}/{name}.md": _module_page(name) for name in MODULES},
    }
