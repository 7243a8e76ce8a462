"""A short program for each install line of docs/get-started/install.md."""

from __future__ import annotations

from typing import Final

_RUNS: Final = """
import duelist as dl

runs = dl.simulate([dl.VACDB(horizon=40), dl.UniformPair()], dl.environments.Hypercube(dim=3), horizon=40, runs=2, seed=0)
"""

_SHELL: Final = """
from duelist.cli import app


def shell(*words):
    try:
        app(list(words))
    except SystemExit as end:
        if end.code:
            raise
"""

_STUDY: Final = """
import os

import duelist as dl

study = dl.create_study("colors", storage=os.environ["DUELIST_STORAGE"], goal="best")
study.add_arms(["red", "green", "blue"])
for _ in range(3):
    duel = study.ask(rater="ana")
    study.tell(duel, "first", rater="ana")
assert "red" in str(study.leaderboard())
"""

_EXPERIMENT: Final = (
    _SHELL
    + """
from pathlib import Path

lines = ['name = "e"', 'horizon = 20', 'runs = 2', 'policies = ["UniformPair"]', 'environments = ["Hypercube:dim=3"]']
Path("e.toml").write_text("\\n".join(lines))
"""
)

PROGRAMS: Final = {
    "": _RUNS
    + _SHELL
    + """
import numpy as np

print(runs.summary())
policy = dl.LocalPairUCB(random_state=0)
for _ in range(5):
    duel = policy.ask(np.eye(3))
    policy.tell(duel, 1)
dl.fit_mle(np.eye(3), np.array([1.0, 0.0, 1.0]))
shell("list")
shell("simulate", "VACDB", "--horizon", "20", "--runs", "2")
""",
    "plots": _RUNS + "runs.plot().figure.savefig('regret.png')\n",
    "study": _STUDY,
    "postgres": _STUDY,
    "server": _SHELL + "shell('serve', '--port', '0')\n",
    "client": """
import os

import duelist as dl

study = dl.load_study("colors", storage=os.environ["SERVER"])
duel = study.ask(rater="ben")
study.tell(duel, "first", rater="ben")
""",
    "excel": _SHELL
    + """
from pathlib import Path

try:
    from openpyxl import Workbook
except ImportError:
    Path("items.xlsx").write_bytes(b"PK")
else:
    book = Workbook()
    for row in (("id", "text"), ("a", "A short text"), ("b", "Another text")):
        book.active.append(row)
    book.save("items.xlsx")
shell("study", "create", "texts", "items.xlsx")
""",
    "text": _SHELL
    + """
from pathlib import Path

Path("items.csv").write_text("id,text\\na,a red house\\nb,a green house\\nc,the sea\\n")
shell("study", "create", "texts", "items.csv", "--features", "tfidf")
""",
    "embed": _SHELL
    + """
from pathlib import Path

Path("items.csv").write_text("id,text\\na,a red house\\nb,a green house\\nc,the sea\\n")
shell("study", "create", "texts", "items.csv", "--features", "embedded")
""",
    "pandas": _RUNS + "assert len(runs.to_pandas()) > 0\n",
    "polars": _RUNS + "assert len(runs.to_polars()) > 0\n",
    "experiments": _EXPERIMENT + "shell('run', 'e.toml', '--out', 'results')\nshell('report', 'results')\n",
    "cluster": _EXPERIMENT
    + """
if __name__ == "__main__":
    shell("run", "e.toml", "--out", "results", "--engine", "dask", "--workers", "1")
""",
    "gpu": "import duelist.gpu\n",
}
"""Programs by the extra that they need; "" is the core installation."""
