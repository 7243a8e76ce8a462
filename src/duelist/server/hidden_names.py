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
_BLOCK_BYTES: Final = 256
"""Names are padded to a multiple of this, since a length can say whose item it is."""
_HALF_BITS: Final = 26
_ROUNDS: Final = 6


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
        plain += bytes(-len(plain) % _BLOCK_BYTES)
        tag = self._mac(f"tag {study} ".encode() + plain)[:_TAG_BYTES]
        text = base64.urlsafe_b64encode(tag + self._encrypt(tag, plain)).decode().rstrip("=")
        return f"{_PREFIX}{text}{PurePosixPath(name).suffix.lower()}"

    def reveal(self, study: int, hidden: str) -> str | None:
        """Return the name of a file, or None if this is not a hidden name of this study."""
        text = hidden.removeprefix(_PREFIX).partition(".")[0]
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            name = self._encrypt(raw[:_TAG_BYTES], raw[_TAG_BYTES:]).decode().rstrip("\0")
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


class HiddenNumbers:
    """Hides and reveals numbers of pairs with a secret: a permutation of 1 to 2^52 per study (a Feistel network).

    >>> numbers = HiddenNumbers(b"secret")
    >>> hidden = numbers.hide(7, 12)
    >>> (hidden != 12, numbers.reveal(7, hidden), numbers.reveal(8, hidden) != 12, numbers.reveal(7, 2**53))
    (True, 12, True, 0)
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def hide(self, study: int, number: int) -> int:
        """Return the number by which raters know a pair."""
        left, right = divmod(number - 1, 1 << _HALF_BITS)
        for k in range(_ROUNDS):
            left, right = right, left ^ self._mix(study, k, right)
        return (left << _HALF_BITS) + right + 1

    def reveal(self, study: int, hidden: int) -> int:
        """Return the number of a pair, or 0, which no pair has, if no number is hidden like this."""
        if not 1 <= hidden <= 1 << 2 * _HALF_BITS:
            return 0
        left, right = divmod(hidden - 1, 1 << _HALF_BITS)
        for k in reversed(range(_ROUNDS)):
            left, right = right ^ self._mix(study, k, left), left
        return (left << _HALF_BITS) + right + 1

    def _mix(self, study: int, k: int, half: int) -> int:
        digest = hmac.new(self._secret, f"pair {study} {k} {half}".encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:4]) >> 32 - _HALF_BITS
