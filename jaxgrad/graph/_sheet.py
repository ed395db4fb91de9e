"""Emit the SVG elements of a picture: text, paths, rectangles, arrows and scissors."""

from __future__ import annotations

from xml.sax.saxutils import escape

from jaxgrad.graph._layout import Rect


# Arrowheads keyed by the angle of `arrow`: left, right, down, up.
_HEADS = {0: "l6-3.4v6.8z", 180: "l-6 3.4v-6.8z", -90: "l-3.4-6h6.8z", 90: "l3.4 6h-6.8z"}
_HEAD = {"w": "ah", "rec": "rec hollow", "bad": "red"}  # classes of the head


# The widths of characters in DejaVu Sans, in thousandths of the font's size.
_ADVANCES = {278: "ijlI.,:;'|", 320: " ", 400: "frt()[]-", 980: "mW%", 820: "wM→←∇", 560: "cszk"}
_ADVANCE = {char: width for width, chars in _ADVANCES.items() for char in chars}


def text_width(words: str, size: float = 12.0) -> float:
    """Return about the width of a text in the widest font of the style sheet."""
    return sum(_ADVANCE.get(c, 720 if c.isupper() else 630) for c in words) * size / 1000


def number(x: float) -> str:
    """Format a coordinate with at most one decimal."""
    return f"{x:.1f}".removesuffix(".0")


class Sheet:
    """SVG elements in drawing order."""

    def __init__(self) -> None:
        self.marks: list[str] = []

    def text(self, x: float, y: float, words: str, classes: str) -> None:
        if words:
            place = f'x="{number(x)}" y="{number(y)}"'
            self.marks.append(f'<text {place} class="{classes}">{escape(words)}</text>')

    def path(self, d: str, classes: str) -> None:
        self.marks.append(f'<path class="{classes}" d="{d}"/>')

    def rect(self, rect: Rect, classes: str, radius: float) -> None:
        self.marks.append(f'<rect {_box(rect)} class="{classes}" rx="{number(radius)}"/>')

    def group(self, classes: str, about: str = "") -> None:
        """Open a group with CSS classes and the tooltip `about`; `end` closes it."""
        title = f"<title>{escape(about)}</title>" if about else ""
        self.marks.append(f'<g class="{classes}">{title}')

    def end(self) -> None:
        self.marks.append("</g>")

    def arrow(self, d: str, x: float, y: float, angle: int, kind: str = "w") -> None:
        """Draw a line with its head at (x, y); angle 0 points left, 90 up.

        The kind `w` is a gradient that flows, `rec` a recorded edge, `bad` a gradient that should
        not flow; others have no head.
        """
        self.path(d, kind)
        if kind in _HEAD:
            self.path(f"M{number(x)} {number(y)}{_HEADS[angle]}", _HEAD[kind])

    def scissors(self, x: float, y: float) -> None:
        self.marks.append(
            f'<path class="cut sc" transform="translate({number(x)} {number(y)})" '
            'd="M-3.2 2.6L3.6 -7.5M3.2 2.6L-3.6 -7.5'
            "M-2 4.8a2.4 2.4 0 1 1 -4.8 0a2.4 2.4 0 1 1 4.8 0"
            'M6.8 4.8a2.4 2.4 0 1 1 -4.8 0a2.4 2.4 0 1 1 4.8 0"/>'
        )


def _box(rect: Rect) -> str:
    x, y, w, h = map(number, rect)
    return f'x="{x}" y="{y}" width="{w}" height="{h}"'
