"""Format results as rows of text: path, torch, verdict sign, JAX, and JAX without the tool."""

import fnmatch
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxgrad.parity.compare import compare, flatten
from parity_tests.report.text import SIGNS
from parity_tests.runner.engine import Result


MOST = 12  # largest number of rows to print
SMALL = 6  # elements of the largest array that is printed in full
ABSENT = "–"
SAME = "the same"
ZERO = "0 to rounding"
TextRow = tuple[str, ...]


def compared(sides: list[Any], dtype: str, only: str, digits: int = 5) -> Iterator[TextRow]:
    """Yield a row per leaf: path, torch's value, verdict sign, JAX's value.

    If a third observation is given, each row ends with JAX's value without the tool. Numbers have
    `digits` significant digits, and more where different values would look the same.
    """
    left, right, *more = [flatten(side) for side in sides]
    signs, zeros = _signs(*sides[:2])
    gone = _signs(sides[1], sides[2])[0] if more else {}
    for path in dict.fromkeys((*_paths(sides[0]), *_paths(sides[1]))):
        if not any(fnmatch.fnmatch(path, glob) for glob in only.split()):
            continue
        found = [leaves.get(path, ABSENT) for leaves in (left, right, *more)]
        apart = [signs[path] == SIGNS["deviation"]]
        apart += [gone.get(path) == SIGNS["deviation"]] if more else []
        texts = _apart(found, apart, dtype, digits)
        if path in zeros:
            texts[:2] = [ZERO, ZERO]
        if more and gone.get(path) in (SIGNS["bitwise"], SIGNS["close"]):
            texts[2] = SAME
        yield (path, texts[0], signs[path], *texts[1:])


def measured(sides: list[Any]) -> Iterator[TextRow]:
    """Yield a row per measurement in bytes or seconds; measurements are never compared."""
    flat = [flatten(side or {}) for side in sides]
    for path in dict.fromkeys(path for side in flat for path in side):
        left, right, *more = [_amount(path, side.get(path, ABSENT)) for side in flat]
        yield (path, left, "", right, *more)


def cut(rows: list[TextRow]) -> tuple[TextRow, ...]:
    if len(rows) <= MOST + 1:
        return tuple(rows)
    more = (f"… and {len(rows) - MOST} more", *[""] * (len(rows[0]) - 1))
    return (*rows[:MOST], more)


def disagreement(result: Result) -> str:
    """Return how the frameworks disagree in a deviation: by an exception or by a value."""
    differing = [leaf for leaf in result.leaves if leaf.differs]
    torch = any(isinstance(leaf.torch, BaseException) for leaf in differing)
    jax = any(isinstance(leaf.jax, BaseException) for leaf in differing)
    if torch and jax:
        return "both raise"
    return "torch raises" if torch else "JAX raises" if jax else "differs"


def _paths(tree: Any, path: str = "") -> Iterator[str]:
    """Yield the paths that `flatten` returns, in the order in which the program returned them."""
    if not isinstance(tree, Mapping):
        yield from flatten(tree, path)
        return
    for key, item in tree.items():
        yield from _paths(item, f"{path}/{key}" if path else str(key))


def _signs(left: Any, right: Any) -> tuple[dict[str, str], set[str]]:
    """Return a verdict sign for each path, and the paths that are rounding noise around zero."""
    signs = dict.fromkeys((*flatten(left), *flatten(right)), SIGNS["bitwise"])
    leaves = compare(left, right, zeros=True).leaves
    for leaf in leaves:
        word = "deviation" if leaf.differs else "bitwise" if leaf.verdict == "bitwise" else "close"
        signs[leaf.path] = SIGNS[word]
    noise = {leaf.path for leaf in leaves if leaf.structural_zero and leaf.verdict != "bitwise"}
    return signs, noise


def _amount(path: str, value: Any) -> str:
    if path.startswith("seconds") and value != ABSENT:
        return f"{1e6 * float(value):.0f} µs"
    return str(value)


def _apart(found: list[Any], apart: list[bool], dtype: str, digits: int) -> list[str]:
    """Format values; neighbours that differ get as many digits as it takes to see it."""
    texts: list[str] = []
    for more in (digits, *(n for n in (5, 8, 17) if n > digits)):
        texts = [shown(leaf, dtype, more) for leaf in found]
        pairs = zip(apart, texts, texts[1:], strict=False)
        if not any(differ and left == right for differ, left, right in pairs):
            break
    return texts


def shown(leaf: Any, dtype: str = "", digits: int = 5) -> str:
    """Return a short text for a leaf, with the dtype of an array unless it is `dtype`."""
    if isinstance(leaf, BaseException):
        sentence = re.split(r"\.(?: |$|(?=[A-Z][a-z]* ))|\n", str(leaf))[0]
        return f"{type(leaf).__name__}: {textwrap.shorten(sentence, 110, placeholder=' …')}"
    if not isinstance(leaf, np.ndarray | np.generic):
        return str(leaf)
    leaf = np.asarray(leaf)
    low = f"{leaf.dtype} " if leaf.dtype.kind not in "biu" and str(leaf.dtype) != dtype else ""
    if leaf.dtype.kind not in "biufc":
        leaf = leaf.astype(np.float64)  # numpy cannot format bfloat16
    if leaf.size <= SMALL:
        return low + _numbers(leaf.tolist(), digits)
    if leaf.dtype == bool:
        return f"{leaf.sum()} of {leaf.size} true"
    shape = "×".join(str(n) for n in leaf.shape)
    return f"{low}norm {np.linalg.norm(leaf.astype(np.complex128)):.{digits}g} ({shape})"


def _numbers(value: Any, digits: int) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_numbers(item, digits) for item in value)}]"
    return str(value) if isinstance(value, bool | int) else f"{value:.{digits}g}"
