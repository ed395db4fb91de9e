"""Read a picture's SVG back: where its texts and boxes are, and what they say."""

import itertools
import re
from typing import NamedTuple

from jaxgrad.graph._layout import Rect
from jaxgrad.graph._sheet import text_width


# The width of a character in each text style, measured in Chromium and rounded up.
_WIDTHS = {"m": 7.25, "b h": 11.1, "b s": 8.35, "s": 7.0, "b": 9.1, "": 7.9}


class Text(NamedTuple):
    """A text of a picture and the rectangle that it covers at most."""

    words: str
    rect: Rect


def labels(svg: str) -> list[Text]:
    """Return the texts of a picture."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="([^"]*)">([^<]*)</text>', svg)
    return [_text(float(x), float(y), classes.split(), words) for x, y, classes, words in found]


def _text(x: float, y: float, classes: list[str], words: str) -> Text:
    words = re.sub("&[a-z]+;", "&", words)
    style = next(s for s in _WIDTHS if set(s.split()) <= set(classes))
    width = text_width(words) if style == "s" else len(words) * _WIDTHS[style]
    return Text(words, Rect(x - width / 2 if "mid" in classes else x, y - 8, width, 9))


def rectangles(svg: str, classes: str) -> list[Rect]:
    """Return the rectangles of a picture that have one of the classes."""
    found = re.findall(
        r'<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)" class="([^"]*)"', svg
    )
    wanted = set(classes.split())
    return [Rect(*map(float, numbers)) for *numbers, names in found if wanted & set(names.split())]


def overlaps(svg: str) -> list[str]:
    """List the texts that overlap another text, or the outline of a box or badge."""
    texts = [text for text in labels(svg) if text.words != "✗"]
    boxes = rectangles(svg, "full thin none solid err")
    return [
        f"{a.words!r} and {b.words!r}"
        for i, a in enumerate(texts)
        for b in texts[i + 1 :]
        if a.rect.meets(b.rect)
    ] + [
        f"{text.words!r} and a box at {box.x}, {box.y}"
        for text in texts
        for box in boxes
        if text.rect.meets(box) and not _inside(text.rect, box)
    ]


def collisions(svg: str) -> list[str]:
    """List the red words and scissors that lie on a word, a box, a badge or an edge."""
    texts = labels(svg)
    boxes = rectangles(svg, "full thin none solid err")
    red = [text for text, halo in zip(texts, _halos(svg), strict=True) if halo]
    lines = edges(svg, "w rec ghost cut bad gone")
    found = [f"{a.words!r} and {b.words!r}" for a in red for b in texts if a != b and _meet(a, b)]
    found += [
        f"{a.words!r} and a box at {box.x}, {box.y}"
        for a in red
        for box in boxes
        if a.rect.meets(box)
    ]
    found += [
        f"{a.words!r} and an edge at {x:.0f}, {y:.0f}"
        for a in red
        for x, y in lines
        if a.rect.x < x < a.rect.right and a.rect.y < y < a.rect.y + a.rect.h
    ]
    live = edges(svg, "w bad")
    for x, y in re.findall(r'class="cut sc" transform="translate\(([\d.]+) ([\d.]+)\)"', svg):
        blades = Rect(float(x) - 5, float(y) - 5, 10, 10)
        found += [f"scissors and a box at {b.x}, {b.y}" for b in boxes if _within(blades, b)]
        found += [
            f"scissors and a gradient at {a:.0f}, {b:.0f}"
            for a, b in live
            if blades.x < a < blades.right and blades.y < b < blades.y + blades.h
        ]
    return found


def _within(a: Rect, b: Rect) -> bool:
    """Return whether the middle of `a` is inside `b`."""
    x, y = a.middle
    return b.x < x < b.right and b.y < y < b.y + b.h


def _meet(a: Text, b: Text) -> bool:
    return a.rect.meets(b.rect)


def _halos(svg: str) -> list[bool]:
    return [
        "halo" in names for names in re.findall(r'<text x="[^"]*" y="[^"]*" class="([^"]*)"', svg)
    ]


def edges(svg: str, classes: str) -> list[tuple[float, float]]:
    """Return points on the edges of a picture that have one of the classes, 3 units apart."""
    wanted = set(classes.split())
    found: list[tuple[float, float]] = []
    for names, d in re.findall(r'<path class="([^"]*)" d="([^"]*)"', svg):
        is_line = not {"sc", "hollow"} & set(names.split())  # no scissors, no arrowhead
        if wanted & set(names.split()) and is_line:
            found += _points(d)
    return found


def _points(d: str) -> list[tuple[float, float]]:
    """Return points on a path of absolute M, H, V, L, Q and C commands, and relative v."""
    at = (0.0, 0.0)
    found = []
    for command, rest in re.findall(r"([MHVLQCv])([^MHVLQCv]*)", d):
        n = [float(x) for x in re.findall(r"-?[\d.]+", rest)]
        straight = {"H": (n[0], at[1]), "V": (at[0], n[0]), "v": (at[0], at[1] + n[0])}
        controls = [(n[i], n[i + 1]) for i in range(0, len(n) - 1, 2)]
        controls = [straight[command]] if command in straight else controls
        if command != "M":
            steps = 1 + round(sum(abs(a - b) for a, b in zip(controls[-1], at, strict=True)) / 3)
            for i in range(steps + 1):
                level = [at, *controls]
                while len(level) > 1:
                    level = [
                        tuple(a + (b - a) * i / steps for a, b in zip(p, q, strict=True))
                        for p, q in itertools.pairwise(level)
                    ]
                found.append(level[0])
        at = controls[-1]
    return found


def _inside(a: Rect, b: Rect) -> bool:
    """Return whether the middle of `a` is that of `b` or `a` is inside `b`, in either direction."""
    x, y = a.middle
    return b.x < x < b.right and b.y < y < b.y + b.h
