"""Local and remote studies satisfy `StudyProtocol`: every public member exists in both, with a compatible signature."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from duelist.core.errors import DuelistError, NotOnRemoteStudy
from duelist.study import RemoteStudy, Study, StudyProtocol
from duelist.study.remote.http_client import HttpClient
from tests.study.conftest import filled

ATTRIBUTES = {"name", "settings"}
"""Attributes of a local study that are set in its constructor."""
NOT_ON_REMOTE = {
    "add_media": ([],),
    "add_votes": ([],),
    "apply": (None,),
    "answer": ("ana", {}),
    "check_steps": ("ana",),
    "consent": ("ana", "1"),
    "departure": ("ana",),
    "enter": ("ana",),
    "entry": (),
    "features": (),
    "finish_practice": ("ana",),
    "has_rater": ("ana",),
    "next_step": ("ana",),
    "policy": (),
    "revision": (),
    "scorer": (),
    "set_context": ("c", "text"),
    "update_features": (["a"], [[1.0]]),
}
"""Methods that raise NotOnRemoteStudy, with arguments."""


def members(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_the_protocol_has_every_public_member() -> None:
    assert members(StudyProtocol) == members(Study) | ATTRIBUTES == members(RemoteStudy)


@pytest.mark.parametrize("name", sorted(members(StudyProtocol) - ATTRIBUTES))
def test_signatures_are_compatible(name: str) -> None:
    """Both accept every argument of the protocol by name, with the same default; a remote study may require less."""
    expected = getattr(StudyProtocol, name)
    for cls in (Study, RemoteStudy):
        member = getattr(cls, name)
        assert isinstance(member, property) == isinstance(expected, property)
        if isinstance(member, property):
            continue
        own = inspect.signature(member).parameters
        for parameter in inspect.signature(expected).parameters.values():
            assert parameter.name in own, f"{cls.__name__}.{name}({parameter.name})"
            same = own[parameter.name].default
            assert parameter.default in (same, inspect.Parameter.empty, ...), f"{cls.__name__}.{name}({parameter.name})"


@pytest.fixture
def remote() -> RemoteStudy:
    """A study on a server that does not exist."""
    pytest.importorskip("httpx")
    return RemoteStudy(HttpClient("http://localhost:1", None), 1)


@pytest.mark.parametrize("name", sorted(NOT_ON_REMOTE))
def test_a_remote_study_says_what_it_cannot_do(remote: RemoteStudy, name: str) -> None:
    with pytest.raises(NotOnRemoteStudy, match=f"`{name}` is not available") as caught:
        getattr(remote, name)(*NOT_ON_REMOTE[name])
    assert caught.value.hint


@pytest.mark.parametrize("name", sorted(members(RemoteStudy) - set(NOT_ON_REMOTE) - {"close", "id"}))
def test_a_remote_study_asks_the_server_for_the_rest(
    remote: RemoteStudy, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every other member sends a request."""

    class Sent(DuelistError):
        """A request was sent."""

    def send(*_: Any, **__: Any) -> None:
        raise Sent("A request was sent.")

    for method in ("call", "content", "download"):
        monkeypatch.setattr(HttpClient, method, send)
    (tmp_path / "file").write_text("")
    examples = {
        "ids": ["a"], "duel": 1, "outcome": "first", "outcomes": {"c": "first"}, "path": tmp_path / "file",
        "name": "csv", "rater": "ana", "key": "k", "first": "a", "second": "b", "votes": [(1, "first", "ana")],
    }  # fmt: skip
    member = getattr(RemoteStudy, name)
    call = member.fget if isinstance(member, property) else member
    required = [p for p in list(inspect.signature(call).parameters.values())[1:] if p.default is p.empty]
    arguments = [examples[p.name] for p in required if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    with pytest.raises(Sent):
        call(remote, *arguments)


def test_a_study_satisfies_the_protocol_for_type_checkers() -> None:
    study: StudyProtocol = filled()
    with study:
        assert study.name == "study"
        assert study.id
        assert len(study) == 0


@pytest.mark.parametrize("name", sorted(members(StudyProtocol) - ATTRIBUTES))
def test_help_describes_a_method_alike_for_both(name: str) -> None:
    """`help` of a study on a server showed names alone."""
    described = inspect.getdoc(getattr(RemoteStudy, name))
    assert described
    assert described.partition("\n")[0].rstrip(")").endswith((".", ":"))
