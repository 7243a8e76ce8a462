"""Connections: slow, half-sent, unread and very many; and requests that are no HTTP of ours."""

from __future__ import annotations

import contextlib
import socket
import time

import httpx
import pytest

from duelist.server.http import connections
from tests.server.attacks.conftest import Attacked, attack, check_log, receive_all, wait_until
from tests.server.conftest import checked

HALVES = [
    b"",
    b"GET",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
]


def test_half_sent_heads_are_closed(attacked: Attacked) -> None:
    since = time.monotonic()
    opened = [attacked.connect() for _ in range(40)]
    for number, connection in enumerate(opened):
        connection.sendall(HALVES[number % len(HALVES)])
    for connection in opened:
        with connection, contextlib.suppress(ConnectionResetError):
            assert receive_all(connection) == b""
    assert time.monotonic() - since < connections.HEAD_SECONDS + 15


def test_a_head_that_arrives_byte_by_byte_is_closed(attacked: Attacked) -> None:
    with attacked.connect() as connection:
        connection.settimeout(0.25)
        since, end = time.monotonic(), None
        while end != b"":
            assert time.monotonic() - since < 40
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(b"G")
            try:
                end = connection.recv(10)
            except TimeoutError:
                continue
            except ConnectionResetError:
                break


def test_a_half_sent_body_of_a_stranger_is_closed(attacked: Attacked) -> None:
    head = b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    with attacked.connect() as connection:
        connection.sendall(head)
        answer = receive_all(connection)
    assert answer.startswith(b"HTTP/1.1 408 "), answer
    assert b'"timeout"' in answer


def test_an_idle_connection_after_half_a_second_request_is_closed(attacked: Attacked) -> None:
    with attacked.connect() as connection:
        connection.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        while b'"ok"' not in connection.recv(65_536):
            pass
        connection.sendall(b"GET /api/v1/hea")
        with contextlib.suppress(ConnectionResetError):
            assert receive_all(connection) == b""


def test_more_connections_than_allowed_do_not_end_service(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,100 half-open connections once did, with 1.8 MiB of tracebacks per second."""
    with attack(tmp_path) as attacked:
        opened: list[socket.socket] = []
        try:
            for _ in range(connections.MAX_CONNECTIONS + 100):
                opened.append(attacked.connect())
                opened[-1].sendall(b"POST /api/v1/session HTTP/1.1\r\n")
            attacked.check_health()
            value = next(line for line in attacked.metric_lines() if line.startswith("duelist_connections "))
            assert float(value.split()[1]) <= connections.MAX_CONNECTIONS
        finally:
            for connection in opened:
                connection.close()
        attacked.check_health()
        check_log(attacked.log_lines())
        assert len(attacked.server.log.read_bytes()) < 100_000


def test_a_client_that_leaves_is_no_error(attacked: Attacked) -> None:
    token = f"Authorization: Bearer {attacked.server.token}"
    before = len(attacked.log_lines())
    for path in ("/arms", "/import", "/ask"):
        head = [f"POST /api/v1{attacked.study}{path} HTTP/1.1", "Host: 127.0.0.1", token, "Content-Length: 5000"]
        with attacked.connect() as connection:
            connection.sendall("\r\n".join([*head, "Content-Type: application/json", "", '{"arms": [']).encode())
    wait_until(lambda: sum('"status": 4' in line for line in attacked.log_lines()[before:]) == 3)


def test_an_error_reaches_a_client_that_is_still_sending(attacked: Attacked) -> None:
    for _ in range(5):
        answer = httpx.post(
            f"{attacked.server.address}/api/v1/studies/restore",
            content=(b"x" * 65_536 for _ in range(1000)),
            timeout=60,
        )
        assert answer.status_code == 401


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET / HTTP/1.1\r\nHost: [\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10,
        b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /api/v1/studies/1/media/%00.png HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
def test_malformed_requests_get_an_error_of_the_client(attacked: Attacked, request_line: bytes) -> None:
    with attacked.connect() as connection:
        connection.sendall(request_line)
        connection.shutdown(socket.SHUT_WR)
        try:
            answer = receive_all(connection)
        except ConnectionResetError:
            answer = b""
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer


def test_made_up_methods_are_no_labels_of_metrics(attacked: Attacked) -> None:
    with httpx.Client(base_url=attacked.server.address) as client:
        for number in range(300):
            for path in ("/", "/nowhere", "/api/v1/health"):
                assert client.request(f"MADE{number}UP", path).status_code in (404, 405)
    lines = attacked.metric_lines()
    assert not any("MADE" in line for line in lines)
    assert len(lines) < 2000


def test_a_reader_cannot_hold_all_event_streams(attacked: Attacked) -> None:
    opened: list[socket.socket] = []
    statuses: list[bytes] = []
    try:
        for _ in range(25):
            connection = attacked.connect()
            opened.append(connection)
            head = f"GET /api/v1{attacked.study}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            connection.sendall(f"{head}Authorization: Bearer {attacked.reader}\r\n\r\n".encode())
            statuses.append(connection.recv(12))
        assert statuses.count(b"HTTP/1.1 200") == 20
        assert set(statuses) == {b"HTTP/1.1 200", b"HTTP/1.1 429"}
        with attacked.server.client() as admin, admin.stream("GET", f"{attacked.study}/events") as events:
            assert events.status_code == 200
    finally:
        for connection in opened:
            connection.close()

    def closed() -> bool:
        return any(line == "duelist_event_streams 0.0" for line in attacked.metric_lines())

    wait_until(closed)
    with attacked.server.client(attacked.reader) as reader, reader.stream("GET", f"{attacked.study}/events") as events:
        assert events.status_code == 200


def test_unknown_query_parameters_are_named(attacked: Attacked) -> None:
    with attacked.server.client(attacked.reader) as reader:
        answer = reader.get(f"{attacked.study}/leaderboard?topp=3")
        assert answer.status_code == 422
        assert answer.json()["error"]["field"] == "topp"
        assert checked(reader.get(f"{attacked.study}/leaderboard?top=3"))
