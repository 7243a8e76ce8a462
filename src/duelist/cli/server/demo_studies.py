"""What the demo server shows: explanations in Markdown, posters drawn by code, and four systems that answer prompts."""

from __future__ import annotations

import colorsys
import json
import math
from pathlib import Path
from typing import Final, NamedTuple


class Demo(NamedTuple):
    """Items by id, their utility to the simulated raters, and the prompt."""

    texts: dict[str, str]
    utility: dict[str, float]
    prompt: str
    source: str


_TEXTS: Final = json.loads(Path(__file__).with_name("demo_texts.json").read_text(encoding="utf-8"))
_SKY: Final = _TEXTS["sky"]["answers"]

SKY: Final = Demo(
    {name: answer["text"] for name, answer in _SKY.items()},
    {name: answer["liked"] for name, answer in _SKY.items()},
    _TEXTS["sky"]["prompt"],
    "explanations of the blue sky",
)

POSTERS: Final = {
    "waves": 0.9,
    "sunrise": 1.3,
    "circles": 0.2,
    "stripes": -0.5,
    "hills": 0.7,
    "spiral": 0.0,
    "grid": -0.9,
    "night": 0.5,
}
"""Designs of posters, and how much raters like them."""
_WIDTH, _HEIGHT = 300, 400


def draw_poster(design: str) -> bytes:
    """Return the poster of a design as an SVG file."""
    hue = 0.07 + 0.11 * list(POSTERS).index(design)
    dark, middle, light = (
        _color(hue + shift, lightness) for shift, lightness in ((0.05, 0.16), (0.0, 0.5), (-0.06, 0.9))
    )
    shapes = {
        "waves": lambda: "".join(_wave(150 + 34 * k, 16, _color(hue + 0.03 * k, 0.72 - 0.08 * k)) for k in range(7)),
        "sunrise": lambda: "".join(
            _circle(150, 300, 190 - 34 * k, _color(hue - 0.02 * k, 0.42 + 0.09 * k)) for k in range(5)
        ),
        "circles": lambda: "".join(
            _circle(40 + 73 * (k % 4), 130 + 73 * (k // 4), 30, _color(hue + 0.04 * k, 0.55)) for k in range(16)
        ),
        "stripes": lambda: "".join(_box(0, 110 + 36 * k, _WIDTH, 18, _color(hue + 0.05 * k, 0.5)) for k in range(8)),
        "hills": lambda: (
            _circle(215, 150, 38, light)
            + "".join(_wave(220 + 48 * k, 34 - 5 * k, _color(hue, 0.62 - 0.12 * k)) for k in range(4))
        ),
        "spiral": lambda: "".join(
            _circle(150 + 3.6 * k * math.cos(0.55 * k), 240 + 3.6 * k * math.sin(0.55 * k), 3 + 0.22 * k, middle)
            for k in range(38)
        ),
        "grid": lambda: "".join(
            _box(30 + 50 * (k % 5), 120 + 50 * (k // 5), 40, 40, middle if k % 3 else dark) for k in range(25)
        ),
        "night": lambda: (
            _circle(210, 170, 44, light)
            + "".join(_circle((k * 97) % _WIDTH, 110 + (k * 61) % 260, 1.5 + k % 3, light) for k in range(40))
        ),
    }[design]()
    paper, ink = (dark, light) if design == "night" else (light, dark)
    title = (
        f'<text x="24" y="62" font-family="sans-serif" font-size="38" font-weight="700" fill="{ink}">Jazz Night</text>'
    )
    place = (
        f'<text x="24" y="90" font-family="sans-serif" font-size="16" fill="{ink}">Friday, 8 pm · Old Harbour</text>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">'
    )
    return f"{head}{_box(0, 0, _WIDTH, _HEIGHT, paper)}{shapes}{title}{place}</svg>".encode()


def _color(hue: float, lightness: float) -> str:
    red, green, blue = colorsys.hls_to_rgb(hue % 1.0, lightness, 0.62)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _circle(x: float, y: float, radius: float, color: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color}"/>'


def _box(x: float, y: float, width: float, height: float, color: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{color}"/>'


def _wave(y: float, height: float, color: str) -> str:
    crest = "".join(f"q37.5 {-height if k % 2 else height} 75 0" for k in range(4))
    return f'<path d="M0 {y}{crest}V{_HEIGHT}H0z" fill="{color}"/>'


SYSTEMS: Final = {"teacher": 0.9, "terse": 0.3, "poet": -0.2, "confused": -1.6}
"""Systems that answer prompts, and how much raters like them."""
PROMPTS: Final = {each["prompt"]: (each["category"], each["answers"]) for each in _TEXTS["prompts"]}
"""Prompts with their category and the answer of each system."""
