"""Mark where a browser may break a line inside code in a table, so that words stay whole."""

import re


LONG = 16  # least length of a word that is broken outside of code, or at its capitals
NAME = 10  # least length of a name with underscores that is broken outside of code
# Matches a table cell, unless it contains a listing or another table.
_CELL = re.compile(r"<td\b[^>]*>(?:(?!<table|<pre|<td\b).)*?</td>", re.DOTALL)
_TEXT = re.compile(r'(<span class="pre">|>)([^<]+)')
_WORD = re.compile(r"[^\s<>]+")
# Matches a separator in code, after which a line may break, but not the point of a number.
_SEPARATOR = re.compile(r"(?<=[\w)\]\"'])(?:(?<!\d)\.|\.(?!\d)|[_(\[,=/|:]+)(?=[\w\"'(\[{&.*-])")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_NAME = re.compile(r"[A-Za-z0-9]+")


def with_breaks(html: str) -> str:
    """Return the HTML of a page with `<wbr>` after each separator of code in its tables.

    Names such as `CosineAnnealingWarmRestarts`, which are wider than a column on a phone, may be
    broken before a capital. In prose, only long words such as paths are broken.
    """
    return _CELL.sub(lambda cell: _TEXT.sub(_marked, cell[0]), html)


def _marked(match: re.Match[str]) -> str:
    opening, text = match.groups()
    is_code = opening != ">"
    return opening + _WORD.sub(lambda word: _broken(word[0], is_code), text)


def _broken(word: str, is_code: bool) -> str:
    if not is_code and len(word) < (NAME if "_" in word else LONG):
        return word
    word = _NAME.sub(lambda name: _at_capitals(name[0]), word)
    return _SEPARATOR.sub(r"\g<0><wbr>", word)


def _at_capitals(name: str) -> str:
    return _CAPITAL.sub("<wbr>", name) if len(name) >= LONG else name
