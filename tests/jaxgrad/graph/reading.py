"""Read a picture's SVG back: where its texts and boxes are, and what they say."""

import re
from typing import NamedTuple

from jaxgrad.graph._layout import Rect


# The width of a character in each text style, measured in Chromium and rounded up.
_WIDTHS = {"m c": 7.0, "m": 6.35, "b h": 10.4, "b s": 7.3, "s": 6.1, "b": 8.4, "": 7.3}


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
    width = len(words) * _WIDTHS[style]
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


def _inside(a: Rect, b: Rect) -> bool:
    """Return whether the middle of `a` is that of `b` or `a` is inside `b`, in either direction."""
    x, y = a.middle
    return b.x < x < b.right and b.y < y < b.y + b.h
