"""Which files are images, audio or video."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_SUFFIXES: Final = {
    "image": (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg"),
    "audio": (".mp3", ".wav", ".ogg", ".oga", ".opus", ".m4a", ".flac"),
    "video": (".mp4", ".m4v", ".webm", ".ogv", ".mov"),
}


def media_kind(name: str) -> str | None:
    """Return "image", "audio" or "video" by the suffix of a name.

    None for anything else.
    """
    suffix = Path(name).suffix.lower()
    return next((kind for kind, suffixes in _SUFFIXES.items() if suffix in suffixes), None)
