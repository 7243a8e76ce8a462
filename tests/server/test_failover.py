"""PostgreSQL restarts as after a crash, while raters vote; `make failover` does it more often."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import httpx

from duelist.study.administration.tokens import Scope, create_token
from tests.helpers import postgres
from tests.helpers.busy_server import RATERS, Raters, check, make, rater_tokens
from tests.helpers.evidence import record
from tests.helpers.server import running

RESTARTS = int(os.environ.get("DUELIST_FAILOVERS", "2"))
PATIENCE = 60.0


class Reader(threading.Thread):
    """An owner with a dashboard open; collects the statuses of its requests."""

    def __init__(self, address: str, study: int, token: str) -> None:
        super().__init__()
        self.statuses: set[int] = set()
        self.without_retry_after = 0
        self.done = threading.Event()
        self._path = f"{address}/api/v1/studies/{study}"
        self._headers = {"Authorization": f"Bearer {token}"}

    def run(self) -> None:
        with httpx.Client(headers=self._headers, timeout=PATIENCE) as client:
            while not self.done.is_set():
                for path in ("", "/leaderboard", "/log"):
                    response = client.get(self._path + path)
                    self.statuses.add(response.status_code)
                    self.without_retry_after += response.status_code == 503 and "Retry-After" not in response.headers
                self.done.wait(0.05)


def next_vote(raters: Raters) -> float:
    """Wait for an acknowledged vote; return the seconds that it took."""
    before, since = len(raters.acknowledged), time.monotonic()
    while len(raters.acknowledged) == before:
        assert not raters.failures, raters.failures[:3]
        assert time.monotonic() - since < PATIENCE, "the server does not recover"
        time.sleep(0.005)
    return time.monotonic() - since


def test_a_restart_of_the_database_loses_nothing_and_raters_are_told_to_wait(tmp_path: Path) -> None:
    luck = random.Random(0)
    with postgres.own_server(durable=True) as cluster, postgres.database(cluster) as url:
        study = make(url, n_arms=60, dim=4)
        tokens = rater_tokens(study, [f"rater {k}" for k in range(RATERS)])
        reading = create_token(study._storage, Scope.READER, study.id).secret
        recoveries = []
        with running(url, tmp_path, "--log-level", "warning") as server:
            raters = Raters([server.address], study.id, tokens, waits=True)
            reader = Reader(server.address, study.id, reading)
            reader.start()
            raters.begin()
            try:
                for _ in range(RESTARTS):
                    next_vote(raters)
                    time.sleep(luck.uniform(0, 0.2))
                    postgres.restart(cluster)
                    recoveries.append(next_vote(raters))
            finally:
                raters.end()
                reader.done.set()
                reader.join()
            assert "Traceback" not in server.log.read_text()
        study.close()
        total = check(study, raters)
        study.close()
    assert reader.statuses <= {200, 503}
    assert reader.without_retry_after == 0
    assert raters.lost_connections == 0
    assert raters.unavailable > 0, "no rater noticed: the test had no effect"
    print(  # noqa: T201
        f"{RESTARTS} restarts, {len(raters.acknowledged)} votes acknowledged, {total} in the log, {raters.unavailable} times 503; "
        f"the first vote came {max(recoveries):.2f} s after the database at the latest"
    )
    record(
        "failover",
        restarts=RESTARTS,
        acknowledged=len(raters.acknowledged),
        votes=total,
        unavailable=raters.unavailable,
        longest_recovery=max(recoveries),
    )
