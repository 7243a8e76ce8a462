"""A server that starts does not wait for what it may never need."""

import subprocess
import sys

SLOW = ("scipy.stats", "scipy.optimize", "matplotlib", "pandas")


def test_a_server_loads_nothing_that_is_slow_and_rarely_needed() -> None:
    code = f"import sys, duelist.server.app; sys.exit(', '.join(n for n in {SLOW!r} if n in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
