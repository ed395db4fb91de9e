"""Write a short test of paths that selects given leaves of the params."""

from __future__ import annotations

import ast
import collections
from collections.abc import Sequence

from jaxgrad.parity.port.source import syntax


def selection(names: Sequence[str], others: Sequence[str]) -> str:
    """Return an expression of `name` that is true for these paths and false for the others.

    A test is on the last part or on a prefix only if several of the paths have it.

    >>> selection(["a/bias", "b/bias"], ["a/weight"])
    'name.split("/")[-1] == "bias"'
    >>> selection(["trunk/0/bias", "trunk/0/weight"], ["head/bias", "head/weight"])
    'name.startswith("trunk/")'
    """
    elsewhere = {_last(name) for name in others}
    counts = collections.Counter(map(_last, names))
    lasts = [last for last, count in counts.items() if last not in elsewhere and count > 1]
    rest = [n for n in names if _last(n) not in lasts]
    starts = collections.Counter(p for n in rest if (p := _prefix(n, others)))
    prefixes = [prefix for prefix, count in starts.items() if count > 1]
    exact = [n for n in rest if _prefix(n, others) not in prefixes]
    tests = [
        _one_of('name.split("/")[-1] == {}', 'name.split("/")[-1] in {}', lasts),
        _one_of("name.startswith({})", "name.startswith({})", prefixes),
        _one_of("name == {}", "name in {}", exact),
    ]
    return " or ".join(test for test in tests if test)


def negated(test: str) -> str:
    """Return an expression of `name` that is true where a selection is false.

    >>> negated('name in ("a", "b")')
    'name not in ("a", "b")'
    """
    return _quoted(syntax.negated(ast.parse(test, mode="eval").body))


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _prefix(name: str, others: Sequence[str]) -> str:
    """Return the shortest prefix `a/b/` that none of the others has; "" if there is none."""
    parts = name.split("/")
    for count in range(1, len(parts)):
        prefix = "/".join(parts[:count]) + "/"
        if not any(other.startswith(prefix) for other in others):
            return prefix
    return ""


def _one_of(single: str, several: str, values: Sequence[str]) -> str:
    if not values:
        return ""
    literal = syntax.literal(values[0] if len(values) == 1 else tuple(values))
    return (single if len(values) == 1 else several).format(_quoted(literal))


def _quoted(node: ast.expr) -> str:
    return syntax.text(node).replace("'", '"')
