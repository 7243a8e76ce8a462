"""Requests whose results are too long for a line must not stop the background worker."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.helpers.server import running
from tests.server.attacks.conftest import Attacked, start_attacked
from tests.server.conftest import checked, refused


def test_a_parameter_name_of_64_kib_is_an_error_and_the_worker_lives(attacked: Attacked) -> None:
    with attacked.server.client(attacked.reader) as reader:
        error = refused(reader.get(f"{attacked.study}/export/csv", params={"x" * 50_000: "1"}), 422, "invalid_input")
        assert len(error["message"]) < 5000
        assert reader.get(f"{attacked.study}/export/csv").status_code == 200


def test_a_headerless_table_with_a_cell_of_75_kb_is_read(attacked: Attacked) -> None:
    with attacked.server.client() as admin:
        table = "\n".join([f"{'word ' * 15_000},1", "another text,2", "a third text,3"])
        answer = admin.post("/files/preview", files={"file": ("items.csv", table)}, data={"plan": "{}"})
        assert answer.status_code < 500, answer.text
        body = "\n".join(["1,2", f"{'x' * 75_000},4"])
        answer = admin.post(f"{attacked.study}/arms", content=body.encode(), headers={"Content-Type": "text/csv"})
        assert answer.status_code < 500


def test_a_killed_worker_is_restarted_and_waiting_requests_get_503(attacked: Attacked) -> None:
    with attacked.server.client(attacked.reader) as reader:
        checked(reader.get(f"{attacked.study}/leaderboard"))
        os.kill(worker_of(attacked.server.process.pid), signal.SIGKILL)
        deadline = time.monotonic() + 30
        while (answer := reader.get(f"{attacked.study}/history")).status_code != 200:
            refused(answer, 503, "stopping")
            assert time.monotonic() < deadline


def test_a_server_whose_worker_hangs_stops_in_time(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 's.db'}", tmp_path) as server:
        attacked = start_attacked(server)
        attacked.check_health()
        os.kill(worker_of(server.process.pid), signal.SIGSTOP)
        assert server.stop() in (0, -signal.SIGTERM)
        assert "Traceback" not in server.log.read_text()


def worker_of(pid: int) -> int:
    """Return the process id of the server's worker."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if lines["PPid"] == str(pid) and b"worker.process" in command:
            return int(status.parent.name)
    raise AssertionError("there is no worker")
