"""Owners who are killed in the middle of things; `make crash` runs the same with more kills."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("DUELIST_KILLS", "6"))


def test_an_owner_is_killed_at_a_random_moment(url: str) -> None:
    command = [sys.executable, "-m", "tests.helpers.killed_owners", url, str(KILLS), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)  # noqa: T201  (how much was tried)
    assert f"{KILLS} kills" in done.stdout
