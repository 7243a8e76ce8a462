"""Requests whose results are too long for a line must not stop the background worker."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.server.attacks.conftest import Attacked, attack, check_log
from tests.server.conftest import checked, refused


def test_a_parameter_name_of_64_kib_is_an_error_and_the_worker_lives(attacked: Attacked) -> None:
    with attacked.server.client(attacked.reader) as reader:
        for length, status, code in ((50_000, 414, "too_large"), (15_000, 422, "invalid_input")):
            answer = reader.get(f"{attacked.study}/export/csv", params={"x" * length: "1"})
            assert len(refused(answer, status, code)["message"]) < 2100
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
    with attack(tmp_path) as attacked:
        attacked.check_health()
        os.kill(worker_of(attacked.server.process.pid), signal.SIGSTOP)
        assert attacked.server.stop() in (0, -signal.SIGTERM)
        check_log(attacked.log_lines())


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
