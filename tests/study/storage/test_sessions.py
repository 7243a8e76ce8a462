"""Sessions and the audit log in every database."""

from __future__ import annotations

import pytest

from duelist.study import Study, create_study, open_storage
from duelist.study.administration import sessions
from duelist.study.administration.tokens import token_hash
from duelist.study.storage import ActionRow
from duelist.study.storage.sql import storage as sql_storage


def test_a_session_rotates_once_and_ends(url: str) -> None:
    storage, other = open_storage(url), open_storage(url)
    row, secret = sessions.create_session(storage, token_hash("token"))
    assert sessions.find_session(other, secret) == row
    assert sessions.find_session(other, secret + "x") is None
    new = sessions.rotate_session(storage, secret)
    assert new is not None
    assert sessions.rotate_session(other, secret) is None, "of concurrent requests one rotates"
    for valid in (secret, new):
        found = sessions.find_session(other, valid)
        assert found is not None
        assert (found.id, found.token) == (row.id, row.token)
    newest = sessions.rotate_session(storage, new)
    assert newest is not None
    assert sessions.find_session(storage, secret) is None
    storage.end_session(row.id)
    assert sessions.find_session(storage, newest) is None


def test_expired_sessions_are_deleted(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage(url)
    monkeypatch.setattr(sessions, "IDLE_SECONDS", -1.0)
    _, secret = sessions.create_session(storage, "t")
    assert sessions.find_session(storage, secret) is None
    assert storage.find_session(token_hash(secret)) is not None
    monkeypatch.undo()
    sessions.create_session(storage, "t")
    assert storage.find_session(token_hash(secret)) is None


def test_the_audit_log_keeps_the_newest_actions(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study: Study = create_study("study", url)
    storage = open_storage(url)
    monkeypatch.setattr(sql_storage, "MAX_ACTIONS", 3)
    for k in range(5):
        storage.add_action(ActionRow(k, "t", None, "::1", f"action {k}", study.id if k % 2 else None, "ana"))
    newest = storage.actions(None, None, 10)
    assert [row.action for row in newest] == ["action 4", "action 3", "action 2"]
    assert [row.action for row in storage.actions(study.id, None, 10)] == ["action 3"]
    assert storage.actions(None, newest[0].number, 1) == [newest[1]]
    study.describe_rater("ana", age=3)
    pseudonym = study.erase_rater("ana").pseudonym
    assert {row.subject for row in storage.actions(study.id, None, 10)} == {pseudonym}
