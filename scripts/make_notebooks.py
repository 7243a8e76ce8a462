#!/usr/bin/env python3
"""Write examples as notebooks, run them, and keep their results.

The examples are Python files with `# %%` cells: they can be reviewed line by line, run as scripts, and opened as
notebooks by Jupyter (with jupytext), VS Code and PyCharm. Notebooks are made from them and never edited.

    scripts/make_notebooks.py FOLDER [NAME...]        needs the dependency group `examples`
"""

import os
import sys
from pathlib import Path

import jupytext
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
ELSEWHERE = ("plain_policy", "reward_model")
"""A module without cells, and an example that needs TRL (`make test-consumers` runs it)."""


def main(folder: str, *names: str) -> None:
    """Run the named examples in `folder`, or all, and write the notebooks there."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    for name in names or sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in ELSEWHERE):
        notebook = jupytext.read(EXAMPLES / f"{name}.py")
        NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(out)}}
        ).execute()
        jupytext.write(notebook, out / f"{name}.ipynb")
        print(out / f"{name}.ipynb")


if __name__ == "__main__":
    main(*sys.argv[1:])
