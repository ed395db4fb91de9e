"""Put the pictures of a case into the report page, one for a page and one for a phone."""

import re
from collections.abc import Sequence

import markupsafe


WIDEST = 450  # pixels of a narrow picture that a phone can shrink and keep readable
_CLASS = 'class="jaxgrad-graph'
_STYLE = re.compile(r"<style>.*?</style>\s*", re.DOTALL)


def drawing(svgs: Sequence[str]) -> markupsafe.Markup:
    """Return the markup of a case's picture: one for a page, one for a phone, if it is narrower.

    A phone shrinks a narrow picture to its width, but scrolls one that would be too small to read.
    """
    wide, narrow = svgs[0], svgs[-1]
    shown = without_style(wide)
    if _width(narrow) < _width(wide):
        both = ((wide, "wide"), (narrow, "narrow"))
        named = (svg.replace(_CLASS, f"{_CLASS} {name}", 1) for svg, name in both)
        shown = "".join(map(without_style, named))
    hint = '<p class="hint dim">The picture is wider than this screen: scroll it sideways →</p>'
    return markupsafe.Markup(shown if _width(narrow) <= WIDEST else hint + shown)


def without_style(svg: str) -> str:
    """Return a picture without its style sheet, which the page has once for all pictures."""
    return _STYLE.sub("", svg)


def style_of(svgs: list[str]) -> str:
    """Return the different style sheets of the pictures, as markup."""
    return "".join(dict.fromkeys(style for svg in svgs for style in _STYLE.findall(svg)))


def _width(svg: str) -> float:
    return float(re.findall(r'\bwidth="([\d.]+)"', svg)[0])
