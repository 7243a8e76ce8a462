"""Small pictures and sounds, made by code."""

from __future__ import annotations

import io
import math
import struct
import wave
import zlib
from pathlib import Path


def gradient(width: int, height: int, blue: int) -> bytes:
    """Return a PNG whose red grows to the right and whose green grows downwards."""
    rows = b"".join(
        b"\0" + b"".join(bytes((255 * x // width, 255 * y // height, blue)) for x in range(width))
        for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def tone(hertz: float, seconds: float = 2.0, rate: int = 8000) -> bytes:
    """Return a WAV file of one tone."""
    samples = (round(9000 * math.sin(2 * math.pi * hertz * k / rate)) for k in range(round(seconds * rate)))
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(b"".join(struct.pack("<h", each) for each in samples))
    return file.getvalue()


def write_media(folder: Path, count: int = 4) -> Path:
    """Write `pictureK.png` of different shapes, and `toneK.wav`."""
    for k in range(count):
        (folder / f"picture{k}.png").write_bytes(gradient(240, (160, 240, 420)[k % 3], 60 * k % 256))
        (folder / f"tone{k}.wav").write_bytes(tone(220.0 * (k + 2)))
    return folder
