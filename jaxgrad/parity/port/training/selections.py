"""Write a short test of paths that selects given leaves of the params."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxgrad.parity.port.source import syntax


def selection(names: Sequence[str], others: Sequence[str]) -> str:
    """Return an expression of `name` that is true for these paths and false for the others.

    >>> selection(["a/bias", "b/bias"], ["a/weight"])
    'name.split("/")[-1] == "bias"'
    >>> selection(["trunk/0/bias", "trunk/0/weight"], ["head/bias", "head/weight"])
    'name.startswith("trunk/")'
    """
    elsewhere = {_last(name) for name in others}
    lasts = list(dict.fromkeys(_last(n) for n in names if _last(n) not in elsewhere))
    rest = [n for n in names if _last(n) not in lasts]
    prefixes = list(dict.fromkeys(p for n in rest if (p := _prefix(n, others))))
    exact = [n for n in rest if not _prefix(n, others)]
    tests = [
        _one_of('name.split("/")[-1] == {}', 'name.split("/")[-1] in {}', lasts),
        _one_of("name.startswith({})", "name.startswith({})", prefixes),
        _one_of("name == {}", "name in {}", exact),
    ]
    return " or ".join(test for test in tests if test)


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
