"""Names of media files as raters see them: encrypted, since a name such as `gpt-4/cat.png` says whose item it is.

The encryption is deterministic, so browsers cache a file under one address, and authenticated, so clients cannot forge addresses
(as in AES-SIV, with HMAC-SHA256).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from pathlib import PurePosixPath
from typing import Final

_PREFIX: Final = "~"
_TAG_BYTES: Final = 16


class HiddenNames:
    """Hides and reveals names with a secret.

    >>> names = HiddenNames(b"secret")
    >>> hidden = names.hide(7, "gpt-4/cat.png")
    >>> ("gpt" in hidden, names.reveal(7, hidden), names.reveal(8, hidden))
    (False, 'gpt-4/cat.png', None)
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def hide(self, study: int, name: str) -> str:
        """Return the hidden name of a file in a study, with its suffix."""
        plain = name.encode()
        tag = self._mac(f"tag {study} ".encode() + plain)[:_TAG_BYTES]
        text = base64.urlsafe_b64encode(tag + self._encrypt(tag, plain)).decode().rstrip("=")
        return f"{_PREFIX}{text}{PurePosixPath(name).suffix.lower()}"

    def reveal(self, study: int, hidden: str) -> str | None:
        """Return the name of a file, or None if this is not a hidden name of this study."""
        text = hidden.removeprefix(_PREFIX).partition(".")[0]
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            name = self._encrypt(raw[:_TAG_BYTES], raw[_TAG_BYTES:]).decode()
        except (binascii.Error, ValueError):
            return None
        return name if hmac.compare_digest(self.hide(study, name).encode(), hidden.encode()) else None

    def _encrypt(self, tag: bytes, text: bytes) -> bytes:
        """Encrypt or decrypt with a stream of bytes that depends on the tag."""
        blocks = range(0, len(text), hashlib.sha256().digest_size)
        stream = b"".join(self._mac(b"stream " + tag + start.to_bytes(4)) for start in blocks)
        return bytes(one ^ other for one, other in zip(text, stream, strict=False))

    def _mac(self, text: bytes) -> bytes:
        return hmac.new(self._secret, text, hashlib.sha256).digest()
