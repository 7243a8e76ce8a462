#!/usr/bin/env python3
"""Check the types of every Python snippet in README.md and docs/ with `mypy --strict`.

The snippets of a page make one module. A line `<!-- types: skip, REASON -->` above a snippet leaves it out.

    scripts/check_snippets.py [PAGE...]
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "snippets"
SNIPPET = re.compile(r"(<!-- types: skip[^\n]*-->\n)?```python\n(.*?)```", re.DOTALL)


def main(names: list[str]) -> int:
    """Write a module per page and check all of them at once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.py"):
        old.unlink()
    pages = [Path(name) for name in names] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    modules = []
    for page in pages:
        kept = [code for skip, code in SNIPPET.findall(page.read_text()) if not skip]
        if kept:
            module = FOLDER / f"{page.stem.lower().replace('-', '_')}_page.py"
            module.write_text("\n".join(kept))
            modules.append(module)
    print(f"{len(modules)} pages with Python")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir"]
    return subprocess.run(  # noqa: S603
        [*command, str(ROOT / ".mypy_cache"), *map(str, modules)], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
