"""Generate the tree and the picture of docs/contributing/architecture.md from the source code.

`python scripts/draw_architecture.py` writes both; with `--check` it only reports what is out of date, and paths on the page that do
not exist.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "src" / "duelist"
PAGE: Final = ROOT / "docs" / "contributing" / "architecture.md"
PICTURE: Final = ROOT / "docs" / "images" / "architecture.svg"

Edge = tuple[str, str]

WIDTH, BOX, ROW, HEIGHT, TOP = 860, 520, 62, 46, 16
COLOURS: Final = ("#33658a", "#b5543b", "#4f772d", "#7a4f9a", "#8a6d1d", "#2a7f7f", "#a03c6e", "#555f6b")


def rooms() -> list[str]:
    """Return the rooms in the order of the import-linter layers, highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    return [room.strip().removeprefix("duelist.") for layer in layers for room in re.split(r"[|:]", layer)]


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of duelist that a file imports at run time, inside functions as well."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("duelist."))
        elif isinstance(node, ast.ImportFrom) and node.module == "duelist":
            yield from (f"duelist.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("duelist."):
            yield node.module
        yield from imported_modules(node)


def room_imports(names: list[str]) -> set[Edge]:
    """Return the pairs of rooms of which the first imports from the second."""
    return {
        (room, other)
        for room in names
        for path in (PACKAGE / room).rglob("*.py")
        for module in imported_modules(ast.parse(path.read_text()))
        if (other := module.split(".")[1]) in names and other != room
    }


def reduced(edges: set[Edge]) -> set[Edge]:
    """Return the edges that no longer path implies."""

    def reaches(start: str, end: str) -> bool:
        return any(first == start and (second == end or reaches(second, end)) for first, second in edges)

    return {(a, b) for a, b in edges if not any(x == a and y != b and reaches(y, b) for x, y in edges)}


def summary(room: str) -> str:
    """Return the first line of the room's docstring."""
    return (ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or "").partition("\n")[0]


def picture() -> str:
    """Return an SVG: one box per room, and an arc from each room to each room that it imports from."""
    names = rooms()
    edges = room_imports(names)
    direct = reduced(edges)
    row = {name: k for k, name in enumerate(names)}
    height = TOP * 2 + ROW * len(names) - (ROW - HEIGHT)
    leaving = {name: sorted((b for a, b in edges if a == name), key=row.__getitem__) for name in names}
    arriving = {name: sorted((a for a, b in edges if b == name), key=row.__getitem__) for name in names}

    def place(name: str, others: list[str], other: str, low: float, high: float) -> float:
        share = (others.index(other) + 1) / (len(others) + 1)
        return TOP + ROW * row[name] + HEIGHT * (low + (high - low) * share)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">',
        "<title>The rooms of duelist and the imports between them</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for importer, imported in sorted(edges, key=lambda edge: (edge in direct, row[edge[0]], row[edge[1]])):
        start = place(importer, leaving[importer], imported, 0.5, 1.0)
        end = place(imported, arriving[imported], importer, 0.5, 0.0)
        reach = 40 + 36 * abs(row[imported] - row[importer])
        colour = COLOURS[row[importer] % len(COLOURS)]
        style = f'stroke="{colour}" stroke-width="2"' if (importer, imported) in direct else 'stroke="#d5d9dd"'
        path = f"M{BOX} {start:.1f} C{BOX + reach} {start:.1f} {BOX + reach} {end:.1f} {BOX + 8} {end:.1f}"
        lines.append(f'<path d="{path}" fill="none" {style}><title>{importer} imports {imported}</title></path>')
        tip = colour if (importer, imported) in direct else "#d5d9dd"
        lines.append(f'<path d="M{BOX} {end:.1f} l9 -4 v8 z" fill="{tip}"/>')
    for name in names:
        y = TOP + ROW * row[name]
        colour = COLOURS[row[name] % len(COLOURS)]
        lines += [
            f'<rect x="{TOP}" y="{y}" width="{BOX - TOP}" height="{HEIGHT}" rx="6" fill="#f7f8f9" stroke="{colour}"/>',
            f'<text x="{TOP + 14}" y="{y + 19}" font-size="15" font-weight="bold" fill="#1d2329">{name}</text>',
            f'<text x="{TOP + 14}" y="{y + 36}" font-size="12" fill="#4a5159">{escape(summary(name))}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def tree() -> str:
    """Return what `tree -L 2 src/duelist` prints, without compiled files."""
    lines = ["src/duelist"]

    def entries(folder: Path) -> list[Path]:
        return sorted(
            (path for path in folder.iterdir() if path.name != "__pycache__" and path.suffix != ".so"),
            key=lambda path: path.name,
        )

    def add(folder: Path, indent: str, depth: int) -> None:
        children = entries(folder)
        for child in children:
            last = child == children[-1]
            lines.append(f"{indent}{'└── ' if last else '├── '}{child.name}")
            if child.is_dir() and depth > 1:
                add(child, indent + ("    " if last else "│   "), depth - 1)

    add(PACKAGE, "", 2)
    return "\n".join(lines)


def page() -> str:
    """Return the page with the current tree in it."""
    block = f"<!-- tree: generated by `make docs` -->\n```text\n{tree()}\n```\n<!-- end of tree -->"
    return re.sub(r"<!-- tree:.*?<!-- end of tree -->", lambda _: block, PAGE.read_text(), flags=re.DOTALL)


def missing_paths() -> list[str]:
    """Return the paths in backquotes on the page that do not exist."""
    named = re.findall(r"`((?:src|native|tests|docs|scripts)/[\w./-]+)`", PAGE.read_text())
    return [name for name in named if not (ROOT / name).exists()]


def main() -> int:
    """Write the generated parts, or check them."""
    wanted = {PAGE: page(), PICTURE: picture()}
    if "--check" in sys.argv[1:]:
        stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is older than the code; run `make docs`.")
        missing = missing_paths()
        for name in missing:
            print(f"{PAGE.relative_to(ROOT)} names {name}, which does not exist.")
        return bool(stale or missing)
    for path, text in wanted.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
