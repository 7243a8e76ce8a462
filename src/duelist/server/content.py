"""Content of payloads as blocks of text and media, which a page shows without running any markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from duelist.server.hidden_names import HiddenNames

Block = dict[str, Any]

MEDIA_TYPES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".svg": "image/svg+xml",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
    ".flac": "audio/flac",
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".webm": "video/webm",
    ".ogv": "video/ogg",
    ".mov": "video/quicktime",
}
"""Media types by file suffix; no type here can run scripts."""
_KEY: Final = re.compile(r"[0-9a-f]{32}\.[a-z0-9]+")
_TEXTS: Final = ("text", "markdown", "code")
_FILES: Final = ("image", "audio", "video")
_MAX_NAME_LENGTH: Final = 512
_PICTURE: Final = re.compile(r"(!\[[^\[\]\n]{0,1000}\]\()([^()\s]{1,512})")
"""A picture in Markdown: `![what it shows](name)`."""
_MAX_PICTURES: Final = 50


def replace_surrogates(value: Any) -> Any:
    """Return the value with U+FFFD for unpaired surrogates, which UTF-8 cannot encode."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, dict):
        return {replace_surrogates(name): replace_surrogates(each) for name, each in value.items()}
    return [replace_surrogates(each) for each in value] if isinstance(value, (list, tuple)) else value


def media_type(name: str) -> str | None:
    """Return the media type of a file, or None if it is not served."""
    return MEDIA_TYPES.get(Path(name).suffix.lower())


class ContentRenderer:
    """Renders payloads of a study as blocks; with `hidden_names`, for raters, to whom names of files say nothing."""

    def __init__(
        self, study: int, show_as: str, folder: Path | None = None, hidden_names: HiddenNames | None = None
    ) -> None:
        self._study = study
        self._hidden_names = hidden_names
        self._show_as = show_as
        self._folder = folder

    def render_arm(self, payload: Any, arm: str) -> list[Block]:
        """Return the blocks of an arm; without a payload, its id."""
        return [_text("text", arm)] if payload is None else self.render(payload)

    def render(self, payload: Any) -> list[Block]:
        """Return the blocks of a payload."""
        if isinstance(payload, str):
            source = self.address_of(payload)
            return [self._file(payload, source, "")] if source else [self._text(self._show_as, payload)]
        if isinstance(payload, list):
            if payload and all(_is_message(each) for each in payload):
                return [block for each in payload for block in self._render_message(each)]
            if payload and all(isinstance(each, (str, dict)) for each in payload):
                return [block for each in payload for block in self.render(each)]
        if isinstance(payload, dict):
            if _is_message(payload):
                return self._render_message(payload)
            blocks = self._render_object(payload)
            if blocks:
                return blocks
        return [_text("code", json.dumps(payload, ensure_ascii=False, indent=1), "json")]

    def _render_object(self, payload: dict[str, Any]) -> list[Block]:
        blocks: list[Block] = []
        alt = next((payload[name] for name in ("alt", "caption") if isinstance(payload.get(name), str)), "")
        for name, value in payload.items():
            if name in _FILES and isinstance(value, str):
                source = self.address_of(value)
                blocks.append(_external_link(value) if source is None else self._file(value, source, alt, name))
            elif name in _TEXTS and isinstance(value, str):
                language = payload.get("language")
                blocks.append(self._text(name, value, language if isinstance(language, str) else ""))
        return blocks

    def _render_message(self, message: dict[str, Any]) -> list[Block]:
        role, content = str(message["role"]), message["content"]
        if isinstance(content, str):
            return [{**self._text("markdown", content), "type": "message", "role": role}]
        return [{"type": "message", "role": role, "text": ""}, *self.render(content)]

    def _text(self, kind: str, text: str, language: str = "") -> Block:
        """Return a block of text; in Markdown, addresses replace the names of the study's images, which are listed."""
        if kind != "markdown":
            return _text(kind, text, language)
        images: list[str] = []

        def with_address(match: re.Match[str]) -> str:
            source = self.address_of(match[2]) if (media_type(match[2]) or "").startswith("image/") else None
            if source is None:
                return match[0]
            images.append(source)
            return match[1] + source

        shown = _PICTURE.sub(with_address, text, count=_MAX_PICTURES)  # each looks for a file, while other raters wait
        return {**_text(kind, shown), **({"images": images} if images else {})}

    def address_of(self, name: str) -> str | None:
        """Return the URL of a media file, or None if this server has no such file."""
        if len(name) > _MAX_NAME_LENGTH or media_type(name) is None or "\n" in name:
            return None
        shown = name
        if not _KEY.fullmatch(name):
            if find_media_file(self._folder, name) is None:
                return None
            if self._hidden_names is not None:
                shown = self._hidden_names.hide(self._study, name)
        return f"/api/v1/studies/{self._study}/media/{quote(shown)}"

    def _file(self, name: str, source: str, alt: str, kind: str | None = None) -> Block:
        served = (media_type(name) or "").partition("/")[0]
        return {"type": kind or served, "src": source, "alt": alt}


def find_media_file(folder: Path | None, name: str) -> Path | None:
    """Return a file of the media folder, or None for any path outside it."""
    if folder is None or "\x00" in name:
        return None
    root = folder.resolve()
    try:
        path = (root / name).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None
    except OSError:
        return None


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _text(kind: str, text: str, language: str = "") -> Block:
    return {"type": kind, "text": text, "language": language} if kind == "code" else {"type": kind, "text": text}


def _external_link(address: str) -> Block:
    """Return a link instead of embedding the file: its host would learn who rates."""
    safe = re.fullmatch(r"https?://[^\s\"'<>]+", address)
    return {"type": "link", "href": address, "text": address} if safe else _text("text", address)
