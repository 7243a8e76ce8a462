"""Live comparison: a rater brings a prompt, two systems answer it, and the rater is asked which answer is better.

A system is anything that takes a prompt and returns its answer: a Python callable, or an `HttpSystem`. The two answers
are stored as arms of the study, so that everything that holds for other answers holds for them: sides are balanced,
names are hidden until the vote, and the leaderboard ranks systems.

Of systems without an answer yet, one is drawn and meets a random other one; then the policy chooses, by its estimates.
"""

from __future__ import annotations

import http.client
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswerInTime
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.errors import InvalidInput, NotAllowed, NothingToAsk, StudyNotOpen, SystemFailed
from duelist.study.formats import context_id
from duelist.study.records import StudyDuel
from duelist.study.voting.tell import find_duel

if TYPE_CHECKING:
    from duelist.study.study import Study

System = Callable[[Any], Any]
"""Takes a prompt (a text, or any JSON) and returns a payload."""
MAX_ANSWER_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 14


@dataclass(frozen=True)
class HttpSystem:
    """A system that answers over HTTP: POST `{"prompt": ...}` returns `{"answer": ...}`.

    Redirects are not followed, and an answer has at most `MAX_ANSWER_BYTES`.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Such as `{"Authorization": "Bearer ..."}`."""
    timeout: float = 60.0
    """Seconds for the whole answer."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise InvalidInput(
                f"The address of a system is {self.url!r}.",
                "Give an http or https address without a user name; put credentials in headers.",
                field="url",
            )
        if not 0.0 < self.timeout < math.inf:
            raise InvalidInput(f"timeout is {self.timeout!r}.", "Give seconds above 0.", field="timeout")

    def __call__(self, prompt: Any) -> Any:
        """Return the answer to a prompt."""
        end, parts = time.monotonic() + self.timeout, urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(parts.hostname), parts.port, timeout=self.timeout)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.headers}
        try:
            connection.connect()
            with _hung_up_at(connection.sock, end):
                connection.request("POST", target, json.dumps({"prompt": prompt}).encode(), headers)
                response = connection.getresponse()
                if response.status != 200:
                    raise SystemFailed(f"A system answered with the status {response.status}.", "Check its log.")
                return _answer_in(_read(response, end))
        except (OSError, http.client.HTTPException) as error:
            raise SystemFailed(f"A system did not answer: {type(error).__name__}.", "Check its address.") from error
        finally:
            connection.close()


@contextmanager
def _hung_up_at(connected: socket.socket, end: float) -> Iterator[None]:
    """End a connection at this time: its own limit starts anew with every byte."""

    def hang_up() -> None:
        with suppress(OSError):  # closed already
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(end - time.monotonic(), hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read(response: http.client.HTTPResponse, end: float) -> bytes:
    """Return the body; stop reading at the deadline or the size limit."""
    body = b""
    while chunk := response.read1(_CHUNK):
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise SystemFailed(f"An answer has more than {MAX_ANSWER_BYTES:,} bytes.", "Shorten it.")
    if time.monotonic() >= end:
        raise SystemFailed("A system took too long to answer.", "Raise its timeout, or let it answer faster.")
    return body


def _answer_in(body: bytes) -> Any:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SystemFailed("A system did not answer with JSON.", 'Return {"answer": ...}.') from error
    if not isinstance(found, dict) or found.get("answer") in (None, ""):
        raise SystemFailed('The JSON of a system has no "answer".', 'Return {"answer": ...}.')
    return found["answer"]


def ask_live(
    study: Study,
    prompt: Any,
    rater: str,
    systems: Mapping[str, System],
    *,
    timeout: float = 60.0,
    random_state: int | None = None,
    secret: bytes = b"",
) -> StudyDuel:
    """Let two systems answer a prompt, and ask this rater which answer is better.

    Both must answer, so that the wait does not tell them apart; an answer to the same prompt is used again. Raises
    `SystemFailed` if one does not answer.

    Parameters
    ----------
    study
        A study of systems, or an empty one.
    prompt
        A text, or any JSON that the systems take.
    rater
        Who asks, and votes.
    systems
        The systems by name, at least two.
    timeout
        Seconds to wait for the two answers.
    random_state
        Seed of the random choices.
    secret
        See `Study.ask`.
    """
    if len(systems) < 2:
        raise InvalidInput(f"systems has {len(systems)}.", "Give at least two.", field="systems")
    if prompt is None or (isinstance(prompt, str) and not prompt.strip()):
        raise InvalidInput("The prompt is empty.", "Write one.", field="prompt")
    if study.state != "open":
        raise StudyNotOpen(f"Study {study.name!r} is {study.state}.", "Open it again with `open`.", study=study.name)
    context = context_id(prompt)
    there = [arm for arm in study.arms(context) if arm.system is not None]
    known = {arm.system: arm.id for arm in there if not arm.retired}
    retired = {arm.system for arm in there} - set(known)
    names = [name for name in systems if name not in retired]
    if len(names) < 2:
        raise InvalidInput("The answers of the systems to this prompt are retired.", "Activate them.", field="prompt")
    chosen = choose_two(study, names, np.random.default_rng(random_state))
    new = [name for name in chosen if name not in known]
    answers = _answers({name: systems[name] for name in new}, prompt, timeout)
    if new:
        ids = [f"{name} / {context}" for name in new]
        category = there[0].category if there else None
        study.add_arms(
            ids,
            payloads=answers,
            contexts=[context] * len(new),
            context_payloads={context: prompt},
            systems=new,
            categories=[category] * len(new),
        )
        known.update(zip(new, ids, strict=True))
    return study.ask(rater, [known[name] for name in chosen], secret=secret)


def choose_two(study: Study, names: list[str], rng: np.random.Generator) -> tuple[str, str]:
    """Return two of the systems: a new one and a random other, or those that the policy chooses."""
    known = study.systems()
    new = [name for name in names if name not in known]
    if new:
        first = str(rng.choice(new))
        return first, str(rng.choice([name for name in names if name != first]))
    try:
        policy = study.policy()
    except NothingToAsk:  # it starts with the first duel
        first, second = rng.choice(names, 2, replace=False).tolist()
        return first, second
    numbers = np.sort(np.array([known.index(name) for name in names], np.int64))
    arms = ArmTable.from_checked(numbers, np.empty((len(numbers), 0)))
    duel = policy.suggest(arms, distinct=True, seed=int(rng.integers(2**63)))
    return known[int(numbers[duel.first])], known[int(numbers[duel.second])]


def _answers(systems: Mapping[str, System], prompt: Any, timeout: float) -> list[Any]:
    """Return the answers of systems that are asked at the same time."""
    threads = ThreadPoolExecutor(max(len(systems), 1), thread_name_prefix="duelist-system")
    end = time.monotonic() + timeout
    try:
        pending = {name: threads.submit(system, prompt) for name, system in systems.items()}
        return [_result(name, each, max(end - time.monotonic(), 0.0)) for name, each in pending.items()]
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _result(name: str, pending: Future[Any], seconds: float) -> Any:
    try:
        answer = pending.result(seconds)
    except NoAnswerInTime:
        raise SystemFailed(f"System {name!r} did not answer in time.", "Try again, or raise the timeout.") from None
    except SystemFailed as error:
        raise error.replace(f"System {name!r}: {error.message}") from error
    except Exception as error:
        raise SystemFailed(f"System {name!r}: {type(error).__name__}: {error}", "Check it.") from error
    if answer is None:
        raise SystemFailed(f"System {name!r} returned None.", "Return an answer.")
    return answer


def revealed_systems(study: Study, duel: int, rater: str) -> tuple[str | None, str | None]:
    """Return the systems of a duel, in the order shown, to a rater who has voted on it."""
    with study._reading() as tx:
        cache = study._read_cache
        criteria = cache.settings.criteria or (None,)
        votes = [tx.last_vote(duel, rater, criterion) for criterion in criteria]
        if any(vote is None or vote.outcome is None for vote in votes):
            raise NotAllowed("The systems of a pair are shown after the vote.", "Vote on the pair first.")
        row = find_duel(tx, duel)
        arms = [cache.arms.arm(cache.arms.number_at(number)) for number in (row.first_row, row.second_row)]
        return arms[0].system, arms[1].system
