"""Bodies: nobody's is read before they have signed in, each route has a limit, and nothing waits for ever."""

from __future__ import annotations

import json
import threading
import time

import httpx
import pytest

from duelist.server.http.bodies import LIMITS, MAX_JSON_ARMS, PUBLIC
from tests.server.attacks.conftest import Attacked, receive_all, wait_until
from tests.server.conftest import checked, refused

MIB = 2**20


def send_head(attacked: Attacked, line: str, *headers: str) -> bytes:
    """Send only the head of a request, and return what comes back until the connection ends."""
    with attacked.connect() as connection:
        connection.sendall("\r\n".join([f"{line} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode())
        return receive_all(connection)


@pytest.mark.parametrize("key", sorted(LIMITS))
def test_strangers_get_an_answer_before_their_body_is_sent(attacked: Attacked, key: str) -> None:
    method, path = key.split()
    path = path.replace("{study}", attacked.study.rpartition("/")[2])
    answer = send_head(
        attacked, f"{method} /api/v1{path}", f"Content-Length: {200 * MIB}", "Content-Type: application/json"
    )
    expected = 413 if LIMITS[key] is PUBLIC else 401
    assert answer.startswith(f"HTTP/1.1 {expected} ".encode()), answer
    assert b"connection: close" in answer


@pytest.mark.parametrize("path", ["/studies/A/arms/restore", "/studies/1/x/files/y", "/nowhere/import", "/restore"])
def test_the_end_of_a_path_does_not_raise_the_limit(attacked: Attacked, path: str) -> None:
    token = f"Authorization: Bearer {attacked.server.token}"
    answer = send_head(attacked, f"POST /api/v1{path}", token, f"Content-Length: {120 * MIB}")
    assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 405 ", b"HTTP/1.1 413 ")), answer


@pytest.mark.parametrize(
    ("path", "limit"), [("/ask", MIB), ("/votes", MIB), ("/arms/retire", 4 * MIB), ("/arms", MAX_JSON_ARMS)]
)
def test_a_declared_length_over_the_limit_is_rejected_at_once(attacked: Attacked, path: str, limit: int) -> None:
    token = f"Authorization: Bearer {attacked.server.token}"
    line = f"POST /api/v1{attacked.study}{path}"
    answer = send_head(attacked, line, token, "Content-Type: application/json", f"Content-Length: {limit + 1}")
    assert answer.startswith(b"HTTP/1.1 413 "), answer
    assert str(limit).encode() in answer


def test_a_body_without_a_length_is_cut_off_at_the_limit(attacked: Attacked) -> None:
    sent = 0

    def chunks():
        nonlocal sent
        for _ in range(64):
            sent += MIB
            yield b" " * MIB

    with attacked.server.client() as admin:
        answer = admin.post(f"{attacked.study}/ask", content=chunks(), headers={"Content-Type": "application/json"})
    refused(answer, 413, "too_large")


def test_an_unknown_sender_of_195_mib_gets_401_and_leaves_no_file(attacked: Attacked) -> None:
    before = attacked.temporary_folders()
    answer = httpx.post(
        f"{attacked.server.address}/api/v1/files/preview",
        content=(b"x" * MIB for _ in range(195)),
        headers={"Content-Type": "multipart/form-data; boundary=x"},
        timeout=60,
    )
    refused(answer, 401, "not_signed_in")
    wait_until(lambda: attacked.temporary_folders() <= before)


def test_raters_do_not_wait_for_large_json(attacked: Attacked) -> None:
    """The worker reads it; before, one body of 120 MiB stopped raters for 17 seconds."""
    arms = {"arms": [{"id": f"big {k}", "payload": "x" * 400} for k in range(60_000)] + [{"id": ""}]}
    body = json.dumps(arms).encode()
    assert len(body) > 24 * MIB
    done = threading.Event()
    slowest = 0.0

    def rate() -> None:
        nonlocal slowest
        with attacked.server.client(attacked.rater) as rater:
            while not done.is_set():
                since = time.perf_counter()
                checked(rater.get(f"{attacked.study}/me"))
                slowest = max(slowest, time.perf_counter() - since)

    rating = threading.Thread(target=rate)
    with attacked.server.client() as admin:
        rating.start()
        try:
            answer = admin.post(f"{attacked.study}/arms", content=body, headers={"Content-Type": "application/json"})
        finally:
            done.set()
            rating.join()
    refused(answer, 422, "invalid_input")
    assert slowest < 2.0


def test_a_half_sent_form_is_closed_and_leaves_no_file(attacked: Attacked) -> None:
    before = attacked.temporary_folders()
    token = f"Authorization: Bearer {attacked.server.token}"
    head = ["POST /api/v1/files/preview HTTP/1.1", "Host: 127.0.0.1", token, "Content-Length: 1000000"]
    part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\na,b\r\n'
    with attacked.connect() as connection:
        connection.sendall("\r\n".join([*head, "Content-Type: multipart/form-data; boundary=x", "", part]).encode())
        wait_until(lambda: attacked.temporary_folders() - before)
    wait_until(lambda: attacked.temporary_folders() <= before)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--x",
        b"--x\r\n\r\n\r\n--x--",
        b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\na\r\n--x--',
        b'--x\r\nContent-Disposition: form-data; name="plan"\r\n\r\n{"a"\r\n--x--',
        b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\n1\r\n--x--',
        b"--x\r\n" + b"A: b\r\n" * 10_000 + b"\r\n\r\n--x--",
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="\x00\xff"\r\n\r\na\r\n--x--',
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="../../a.csv"\r\n\r\na\n--x--',
        b'--x\r\nContent-Disposition: form-data; name="plan"\r\n\r\n' + b"x" * 2 * MIB + b"\r\n--x--",
    ],
)
def test_malformed_forms_are_errors(attacked: Attacked, body: bytes) -> None:
    with attacked.server.client() as admin:
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = admin.post("/files/preview", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["error"]["message"]


def test_a_form_may_have_more_than_a_thousand_images(attacked: Attacked) -> None:
    files = [("file", (f"{k}.png", b"\x89PNG\r\n\x1a\n" + k.to_bytes(4, "big"))) for k in range(1001)]
    with attacked.server.client() as admin:
        assert checked(admin.post("/files/preview", files=files))["rows"] == 1001


def test_a_form_with_too_many_files_is_an_error(attacked: Attacked) -> None:
    files = [("file", (f"{k}.png", b"x")) for k in range(10_001)]
    with attacked.server.client() as admin:
        assert "10000" in refused(admin.post("/files/preview", files=files, timeout=600), 413, "too_large")["message"]


def test_a_broken_form_writes_json_to_the_log(attacked: Attacked) -> None:
    """The library that parses forms wrote a line of its own for each."""
    body = b'--x\r\nContent-Disposition: form-data; name="file"\r; filename="a"\r\n\r\nid\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    with attacked.server.client() as admin:
        refused(admin.post("/files/preview", content=body, headers=headers), 400, "malformed")


def test_failed_exports_leave_no_folder(attacked: Attacked) -> None:
    before = attacked.temporary_folders()
    with attacked.server.client(attacked.reader) as reader:
        for query in ("nothing=1", "path=x", "format=y", "self=z"):
            refused(reader.get(f"{attacked.study}/export/csv?{query}"), 422, "invalid_input")
        assert attacked.temporary_folders() <= before
        assert reader.get(f"{attacked.study}/export/csv").status_code == 200
    wait_until(lambda: attacked.temporary_folders() <= before)
