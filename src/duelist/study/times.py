"""Times as people know them, aware and in UTC, and as the storage keeps them: whole microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from duelist.core.errors import InvalidInput

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(time: datetime) -> int:
    """A time as the storage keeps it."""
    if time.tzinfo is None:
        raise InvalidInput(
            f"voted_at is {time}, without a time zone.", "Give a time with a time zone, such as UTC.", field="voted_at"
        )
    return (time - _EPOCH) // timedelta(microseconds=1)


def moment(since_1970: int) -> datetime:
    """The time after so many microseconds."""
    return _EPOCH + timedelta(microseconds=since_1970)
