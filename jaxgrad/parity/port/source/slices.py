"""Write slices as ruff does: `x[:n]`, and `x[: n + 1]` where a bound is more than a name."""

from __future__ import annotations

import dataclasses
import io
import itertools
import re
import tokenize


@dataclasses.dataclass
class _Bracket:
    """An open bracket: where its current index starts, and where its colons are."""

    kind: str
    start: int
    colons: list[int] = dataclasses.field(default_factory=list)
    in_lambda: bool = False


def with_spaces(source: str) -> str:
    """Return a line with a space on each side of the colon of a slice with a long bound."""
    if ":" not in source or "\n" in source:
        return source
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, IndentationError):
        return source
    found: list[tuple[int, int, list[int]]] = []
    stack: list[_Bracket] = []
    for token in tokens:
        text, place = token.string, token.start[1]
        if token.type == tokenize.NAME and text == "lambda" and stack:
            stack[-1].in_lambda = True
        if token.type != tokenize.OP:
            continue
        if text in "([{":
            stack.append(_Bracket(text, place + 1))
        elif stack and text in ")]},":
            last = stack[-1]
            if last.kind == "[" and last.colons:
                found.append((last.start, place, last.colons))
            if text == ",":
                stack[-1] = _Bracket(last.kind, place + 1, in_lambda=last.in_lambda)
            else:
                stack.pop()
        elif stack and text == ":":
            if stack[-1].in_lambda:
                stack[-1].in_lambda = False
            else:
                stack[-1].colons.append(place)
    return _edited(source, found)


def _edited(source: str, found: list[tuple[int, int, list[int]]]) -> str:
    """Return the line with the slices rewritten, the last one first."""
    inserts: list[int] = []
    for start, end, colons in found:
        edges = [start - 1, *colons, end]
        bounds = [source[a + 1 : b].strip() for a, b in itertools.pairwise(edges)]
        if all(re.fullmatch(r"-?\w*", bound) for bound in bounds):
            continue
        for n, colon in enumerate(colons):
            inserts += [colon] if bounds[n] else []
            inserts += [colon + 1] if bounds[n + 1] else []
    for place in sorted(inserts, reverse=True):
        source = f"{source[:place]} {source[place:]}"
    return source
