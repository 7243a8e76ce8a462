"""A page per policy: rule, source, cost, when to use it, its regret, and the reference code."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Final

from docstrings import to_markdown

import duelist as dl
from duelist.policies import counting, linear

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = {"linear": linear, "counting": counting}
_ROW: Final = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def policies() -> dict[str, list[type[dl.Policy]]]:
    """Return the policies of each folder."""
    return {
        folder: [
            value
            for name in sorted(module.__all__, key=str.lower)
            if isinstance(value := getattr(module, name), type) and name != "CountingPolicy"
        ]
        for folder, module in FOLDERS.items()
    }


def overview() -> dict[str, tuple[str, str, str]]:
    """Return what each policy plays, when to use it, and its source, from the tables of docs/algorithms/index.md."""
    text = (ROOT / "docs" / "algorithms" / "index.md").read_text()
    return {name: (plays, use, source) for name, plays, use, source in _ROW.findall(text)}


def _rule(policy: type[dl.Policy]) -> list[str]:
    text = to_markdown(inspect.cleandoc(policy.__doc__ or ""))
    text = re.sub(r"^\*\*([A-Z][a-z ]+)\*\*$", r"## \1", text, flags=re.MULTILINE)
    return [text.replace("\nCost per round:", "\n## Cost\n\nPer round:"), ""]


def _reference(policy: type[dl.Policy]) -> list[str]:
    name = policy.__name__
    defined = getattr(
        dl.reference.counting if issubclass(policy, counting.CountingPolicy) else dl.reference, name, None
    )
    if defined is None:
        text = "This policy is written in plain Python; this is all of it."
        defined = policy
    else:
        text = (
            "The same policy in plain NumPy: the definition, to which the engine is held duel for duel. "
            "[How to read it](../reference-implementations.md)."
        )
    source = inspect.getsource(sys.modules[defined.__module__])
    path = Path(inspect.getsourcefile(defined) or "").relative_to(ROOT)
    return ["## Reference code", "", text, "", f'```python title="{path}"', source.rstrip(), "```", ""]


def _page(folder: str, policy: type[dl.Policy], row: tuple[str, str, str]) -> str:
    name = policy.__name__
    plays, use, source = row
    lines = [f"# {name}", "", f"**Plays** {plays}.", "", f"**Use it when** {use}.", "", f"**Source:** {source}.", ""]
    call = f"dl.{name}" if folder == "linear" else f"dl.counting.{name}"
    lines += [f"In Python `{call}(...)`, in the shell `{name}`.", "", "## Rule", "", *_rule(policy)]
    picture = ROOT / "docs" / "images" / "regret" / f"{name}.svg"
    if picture.exists():
        lines += [
            "## Regret",
            "",
            f"![Average regret of {name} and of two other policies over the rounds; lower is better]"
            f"(../../images/regret/{name}.svg)",
            "",
            "Drawn by `make docs`, which says below the picture what was simulated.",
            "",
        ]
    return "\n".join([*lines, *_reference(policy)])


def pages() -> dict[str, str]:
    """Return the page of every policy."""
    rows = overview()
    found = {}
    for folder, classes in policies().items():
        for policy in classes:
            name = policy.__name__
            if name not in rows:
                raise ValueError(f"docs/algorithms/index.md has no row for {name} with: plays, use it when, source.")
            row = rows[name]
            moved = tuple(cell.replace("](../", "](../../").replace("](tight", "](../tight") for cell in row)
            found[f"algorithms/{folder}/{name}.md"] = _page(folder, policy, moved)  # type: ignore[arg-type]
    return found
