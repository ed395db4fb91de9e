"""Show the lines of a program around those that a finding names, with colored tokens."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import keyword
import re
import tokenize
from collections.abc import Iterator, Sequence

from jaxgrad.parity.prove.listings import Listing


AROUND = 4  # lines that are shown above and below a marked one
_SHORT = 2  # a gap of so few lines is shown too
_HEAD = re.compile(r"\s*(async\s+def|def|class)\b")

Piece = tuple[str, str]  # the class of a token, "" for plain text; and the text


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of a listing.

    Attributes:
        number: Its number in the file.
        pieces: Its text, token by token.
        is_marked: Whether a finding names it.
    """

    number: int
    pieces: tuple[Piece, ...]
    is_marked: bool


@dataclasses.dataclass(frozen=True)
class Part:
    """Consecutive lines of a listing, which a page shows or folds."""

    rows: tuple[Row, ...]
    is_shown: bool


def parts(listing: Listing) -> list[Part]:
    """Split a listing into the lines around the marked ones and the gaps between them.

    The lines around a marked one are of the same function, whose first line is shown too. Without
    a marked line, all lines are shown.
    """
    pieces = colored(listing.lines) if listing.file else [(("", x),) for x in listing.lines]
    rows = [Row(n, line, n in listing.marked) for n, line in enumerate(pieces, start=listing.start)]
    shown = [True] * len(rows)
    if listing.marked:
        near: set[int] = set()
        for number in listing.marked:
            near |= _near(listing.lines, number - listing.start)
        shown = [k in near for k in range(len(rows))]
    runs = [list(group) for _, group in itertools.groupby(range(len(rows)), lambda k: shown[k])]
    for run in runs:
        if len(run) <= _SHORT:
            shown[run[0] : run[-1] + 1] = [True] * len(run)
    return [
        Part(tuple(rows[k] for k in group), is_shown)
        for is_shown, group in itertools.groupby(range(len(rows)), lambda k: shown[k])
    ]


def _near(lines: Sequence[str], marked: int) -> set[int]:
    """Return the indices of the lines to show for the line with the index `marked`."""
    first, end = _function(lines, marked)
    near = range(max(first, marked - AROUND), min(end, marked + AROUND + 1))
    return {first, *near} if _HEAD.match(lines[first]) else set(near)


def _function(lines: Sequence[str], marked: int) -> tuple[int, int]:
    """Return the indices of the first line of the function around a line, and past its last."""
    heads = [k for k in range(marked + 1) if _HEAD.match(lines[k])]
    around = [k for k in heads if k == marked or _indent(lines[k]) < _indent(lines[marked])]
    if not around:
        return 0, len(lines)
    first, end = around[-1], marked + 1
    for k in range(end, len(lines)):
        is_outside = _indent(lines[k]) <= _indent(lines[first])
        if lines[k].strip() and is_outside and not lines[k].lstrip().startswith(")"):
            break  # a parenthesis is the end of a long signature
        end = k + 1 if lines[k].strip() else end
    return first, end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def colored(lines: Sequence[str]) -> list[tuple[Piece, ...]]:
    """Split lines of Python into tokens with a class: keyword, string, number or comment.

    Lines that cannot be tokenized, such as those after the end of a cut statement, stay plain.
    """
    found: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    for kind, (row, column), (last, end) in _tokens(lines):
        for k in range(row, min(last, len(lines)) + 1):
            text = lines[k - 1]
            found[k - 1].append((column if k == row else 0, end if k == last else len(text), kind))
    return [tuple(_pieces(text, tokens)) for text, tokens in zip(lines, found, strict=True)]


def _pieces(text: str, tokens: Sequence[tuple[int, int, str]]) -> Iterator[Piece]:
    """Yield the text of a line, token by token, without empty pieces."""
    at = 0
    for start, end, kind in tokens:
        yield from ((k, x) for k, x in (("", text[at:start]), (kind, text[start:end])) if x)
        at = end
    if text[at:]:
        yield "", text[at:]


def _tokens(lines: Sequence[str]) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Yield the class, start and end of each token that has a color."""
    margin = min((_indent(x) for x in lines if x.strip()), default=0)
    text = iter([f"{x[margin:]}\n" for x in lines])
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # the end of a statement is cut off
        for token in tokenize.generate_tokens(lambda: next(text, "")):
            kind = _kind(token)
            if kind:
                (row, start), (last, end) = token.start, token.end
                yield kind, (row, start + margin), (last, end + margin)


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return "keyword" if keyword.iskeyword(token.string) else ""
    name = tokenize.tok_name[token.type]
    if name == "STRING" or name.startswith("FSTRING"):
        return "string"
    return {"NUMBER": "number", "COMMENT": "comment"}.get(name, "")
