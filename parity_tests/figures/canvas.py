"""The shapes of a figure as SVG, in colours for light and dark pages.

A figure is `WIDTH` units wide, so that its text is readable on a phone. torch is orange and JAX is
blue, which colour-blind readers can tell apart; no meaning rests on a colour alone.
"""

import html
from collections.abc import Sequence
from typing import NamedTuple


WIDTH = 440
_ON_SCREEN = 560  # in pixels; a narrower page shrinks it
# Each class has a colour for lines and text and a lighter one for areas, in light and dark mode.
_COLORS = {
    "plain": (("#57606a", "#eef1f5"), ("#9da7b3", "#262c34")),
    "torch": (("#b5401a", "#fbe3d8"), ("#f4936e", "#47261a")),
    "jax": (("#1b62a5", "#d9e8f7"), ("#79b8f5", "#17334f")),
    "kept": (("#1a7036", "#d8efdf"), ("#5fd07f", "#173a22")),
    "error": (("#b0203a", "#fbdde2"), ("#ff8c9d", "#4a1822")),
    "violet": (("#6f42c1", "#e9e0f8"), ("#b99cf2", "#352556")),
    "faint": (("#6a737d", "none"), ("#8b949e", "none")),
}
_PAGE = (("#ffffff", "#1f2328"), ("#14181e", "#e6edf3"))  # background and text
_SHAPES = (
    'text{font:13px system-ui,"DejaVu Sans",Verdana,sans-serif}',
    '.mono{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:12px}',
    ".bold{font-weight:700}.end{text-anchor:end}.middle{text-anchor:middle}.big{font-size:14px}",
    ".line{fill:none;stroke-width:1.6;stroke-linejoin:round}.thin{stroke-width:1}",
    ".wide{stroke-width:4}.dashed{stroke-dasharray:4 3}.dotted{stroke-dasharray:1.5 3}",
    ".box{stroke-width:1.2}",
)


class Point(NamedTuple):
    x: float
    y: float


def svg(
    title: str,
    parts: Sequence[str],
    height: float,
    width: float = WIDTH,
    *,
    projected: bool = False,
) -> str:
    """Return a figure with a title that a screen reader reads.

    Args:
        title: The title.
        parts: The elements.
        height: The height of the drawing.
        width: The width of the drawing.
        projected: Whether the file fills a browser window that shows it alone.
    """
    shown = f'width="{_ON_SCREEN if width == WIDTH else width:g}"'
    if projected:
        shown = 'width="100%" height="100%"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="jaxgrad-figure" {shown} '
        f'viewBox="0 0 {width:g} {height:g}" role="img"><title>{html.escape(title)}</title>'
        f'{_style()}<rect class="page" width="100%" height="100%" rx="6"/>{"".join(parts)}</svg>'
    )


def text(x: float, y: float, words: str, classes: str = "") -> str:
    """Write a line of text that starts at x, or is centred or ends there by its class."""
    named = f' class="{classes}"' if classes else ""
    return f'<text x="{x:.4g}" y="{y:.4g}"{named}>{html.escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, classes: str, radius: float = 4) -> str:
    """Draw a rectangle from its top left corner."""
    place = f'x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}"'
    return f'<rect class="box {classes}" {place} rx="{radius:g}"/>'


def labelled(
    center: Point, width: float, words: str, classes: str, *, mono: bool = False, height: float = 26
) -> str:
    """Draw a box around a line of text."""
    frame = box(center.x - width / 2, center.y - height / 2, width, height, classes)
    return frame + text(center.x, center.y + 4.5, words, f"middle{' mono' if mono else ''}")


def circle(center: Point, radius: float, classes: str) -> str:
    place = f'cx="{center.x:.4g}" cy="{center.y:.4g}" r="{radius:g}"'
    return f'<circle class="box {classes}" {place}/>'


def line(points: Sequence[Point], classes: str) -> str:
    """Draw a line through points."""
    path = "M" + "L".join(f"{p.x:.4g} {p.y:.4g}" for p in points)
    return f'<path class="line {classes}" d="{path}"/>'


def arrow(start: Point, end: Point, classes: str, bend: float = 0) -> str:
    """Draw an arrow, bent to its left by a number of units if asked for."""
    dx, dy = end.x - start.x, end.y - start.y
    length = (dx**2 + dy**2) ** 0.5 or 1.0
    middle = Point(
        (start.x + end.x) / 2 + dy / length * bend * 2,
        (start.y + end.y) / 2 - dx / length * bend * 2,
    )
    # The head points along the end of the curve, which a quadratic leaves towards `middle`.
    hx, hy = (end.x - middle.x, end.y - middle.y) if bend else (dx, dy)
    norm = (hx**2 + hy**2) ** 0.5 or 1.0
    ux, uy = hx / norm, hy / norm
    base = Point(end.x - 8 * ux, end.y - 8 * uy)
    corners = (
        end,
        Point(base.x - 4 * uy, base.y + 4 * ux),
        Point(base.x + 4 * uy, base.y - 4 * ux),
    )
    head = " ".join(f"{p.x:.4g},{p.y:.4g}" for p in corners)
    path = f"M{start.x:.4g} {start.y:.4g}Q{middle.x:.4g} {middle.y:.4g} {base.x:.4g} {base.y:.4g}"
    color = classes.split(maxsplit=1)[0]
    return (
        f'<path class="line {classes}" d="{path}"/><polygon class="head {color}" points="{head}"/>'
    )


def number(value: float) -> str:
    """Write a number with four significant digits."""
    short = f"{value:.4g}"
    return "0" if float(short) == 0 else short.replace("-", "−")


def both(torch: float | None, jax: float | None) -> str:
    """Write a number on which torch and JAX agree, or both numbers."""
    left, right = ("None" if v is None else number(v) for v in (torch, jax))
    return left if left == right else f"torch {left}, JAX {right}"


def _style() -> str:
    rules = [*_SHAPES, *_theme(0)]
    scoped = "".join(f".jaxgrad-figure {_scoped(rule)}" for rule in rules)
    dark = "".join(f".jaxgrad-figure {_scoped(rule)}" for rule in _theme(1))
    return f"<style>{scoped}@media (prefers-color-scheme:dark){{{dark}}}</style>"


def _scoped(rules: str) -> str:
    return rules.replace("}.", "}.jaxgrad-figure .")


def _theme(which: int) -> list[str]:
    page, ink = _PAGE[which]
    rules = [f".page{{fill:{page}}}", f"text{{fill:{ink}}}"]
    for name, colors in _COLORS.items():
        stroke, area = colors[which]
        rules += [
            f".line.{name}{{stroke:{stroke}}}",
            f".box.{name}{{stroke:{stroke};fill:{area}}}",
            f"text.{name},.head.{name}{{fill:{stroke}}}",
            f".box.solid.{name}{{fill:{stroke}}}",
        ]
    return [*rules, ".box.hollow{fill:none}"]
