"""The start of a server."""

import subprocess
import sys

SLOW = ("scipy.stats", "scipy.optimize", "matplotlib", "pandas")


def test_a_server_starts_without_slow_imports() -> None:
    code = f"import sys, duelist.server.app; sys.exit(', '.join(n for n in {SLOW!r} if n in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
