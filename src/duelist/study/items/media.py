"""Media files of a study: images, audio and video that raters are shown."""

from __future__ import annotations

import hashlib
from typing import Final

from duelist.core.errors import InvalidInput, UnknownArm
from duelist.study.base import StudyBase
from duelist.study.storage import MediaRow
from duelist.study.validation import checked_text

LARGEST_FILE: Final = 256 * 2**20
"""Bytes."""


class StudyMedia(StudyBase):
    """The part of `Study` that stores media files."""

    def add_media(self, files: list[tuple[str, str, bytes]]) -> list[str]:
        """Store files (name, media type, content) for raters; return their keys, which are derived from the content."""
        rows = [MediaRow(_key(name, body), checked_text("name", name), kind, body) for name, kind, body in files]
        large = next((row for row in rows if len(row.body) > LARGEST_FILE), None)
        if large is not None:
            raise InvalidInput(f"{large.name!r} has {len(large.body)} bytes.", f"Give files of at most {LARGEST_FILE}.")
        for row in rows:  # one transaction per file, so that raters wait for one at most
            with self._changing() as tx:
                tx.add_media([row])
        return [row.key for row in rows]

    def media(self, key: str) -> MediaRow:
        """Return the file of that key."""
        with self._storage.viewing(self._id) as tx:
            found = tx.media(checked_text("key", key))
        if found is None:
            raise UnknownArm(
                f"There is no file {key!r} in this study.", "Add it with `add_media`.", code="unknown_arm.file"
            )
        return found


def _key(name: str, body: bytes) -> str:
    """Return a key made from the content, with the name's extension."""
    extension = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    suffix = f".{extension}" if extension.isascii() and extension.isalnum() else ""
    return hashlib.sha256(body).hexdigest()[:32] + suffix
