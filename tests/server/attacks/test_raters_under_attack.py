"""Raters go on while 200 slow connections are open and strangers upload; `make slow-clients` does it for a minute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from tests.helpers.evidence import record
from tests.helpers.slow_clients import CONNECTIONS
from tests.server.attacks.conftest import Attacked, attack, check_log
from tests.server.conftest import checked, token_of

SECONDS = int(os.environ.get("DUELIST_ATTACK_SECONDS", "3"))
RATERS = 6
PAUSE = 0.1
"""Seconds that a rater looks at a pair."""


def rate(attacked: Attacked, tokens: list[str], seconds: float) -> list[float]:
    """Let raters vote for some seconds and at least twice; return how long each request took."""
    taken: list[float] = []

    def work(token: str) -> None:
        end, votes = time.monotonic() + seconds, 0
        with attacked.server.client(token) as client:
            while votes < 2 or time.monotonic() < end:
                votes += 1
                since = time.perf_counter()
                duel = checked(client.post(f"{attacked.study}/ask", json={}))
                between = time.perf_counter()
                checked(client.post(f"{attacked.study}/votes", json={"duel": duel["id"], "outcome": "first"}))
                taken.extend((between - since, time.perf_counter() - between))
                time.sleep(PAUSE)

    threads = [threading.Thread(target=work, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def test_raters_vote_while_others_attack(tmp_path: Path) -> None:
    with attack(tmp_path) as attacked:
        with attacked.server.client() as admin:
            arms = [{"id": f"more {k}", "payload": f"text {k}"} for k in range(300)]
            checked(admin.post(f"{attacked.study}/arms", json={"arms": arms}))
            tokens = [token_of(admin, attacked.study, "rater", rater=f"rater {k}") for k in range(RATERS)]
        before = rate(attacked, tokens, SECONDS)
        host, port = attacked.host
        command = [sys.executable, "-m", "tests.helpers.slow_clients", host, str(port), str(SECONDS + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attacker:
            time.sleep(0.5)
            during = rate(attacked, tokens, SECONDS)
            sent = json.loads(attacker.communicate()[0])
        assert len(during) >= 2 * RATERS  # a pair and a vote of each, and none failed
        assert sent["connections"] >= CONNECTIONS
        assert sent["uploads"] > 1
        attacked.check_health()
        check_log(attacked.log_lines())
    record(
        "slow-clients",
        seconds=SECONDS,
        requests=len(during),
        p99_before=float(np.quantile(before, 0.99)),
        p99_during=float(np.quantile(during, 0.99)),
        load=os.getloadavg()[0],
        processors=os.cpu_count(),
        **sent,
    )
