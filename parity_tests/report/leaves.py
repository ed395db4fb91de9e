"""The results that the table of a run lists: both values, the control's, and how they compare."""

import dataclasses
import math
from typing import Any

import numpy as np

from jaxgrad.parity.compare import FLOAT64_RTOL, FLOOR_ULP, TORCH_ERRORS, Leaf
from jaxgrad.parity.prove.text import number
from parity_tests.case import Case
from parity_tests.report.rows import shown
from parity_tests.runner.engine import Result


LEAVES_SHOWN = 12  # at most, where torch and JAX differ
LEAVES_OF_PASSED = 5
WORDS = {
    "bitwise": "same bits",
    "close": "equal up to rounding",
    "deviation": "differs as documented",
    "fail": "fails",
    "error": "raised an exception",
    "blind": "blind",
}
NAMED = 6  # results that a table leaves out, at most


def shown_leaves(result: Result) -> list[Leaf]:
    """Return the leaves to list: those that fail, or else have the largest difference.

    At least one of them changes in the negative control, if any leaf does. Failed leaves come
    first, then those that change.
    """
    order = sorted(result.leaves, key=lambda x: (x.verdict != "fail", -_finite(x.ulp_at_scale)))
    most = LEAVES_OF_PASSED if result.verdict in ("bitwise", "close") else LEAVES_SHOWN
    few = order[:most]
    if len(order) > most and not any(changed(result, leaf) for leaf in few):
        few = [*few[:-1], next((leaf for leaf in order if changed(result, leaf)), few[-1])]
    few.sort(key=lambda x: (x.verdict != "fail", changed(result, x) is None))
    return [_where_changed(result, leaf) for leaf in few]


def _where_changed(result: Result, leaf: Leaf) -> Leaf:
    """Return an array with torch's bits at the element that the negative control changes most."""
    gone = changed(result, leaf)
    if gone is None or result.verdict == "deviation" or leaf.verdict != "bitwise":
        return leaf
    if gone.path != leaf.path or gone.kind != "value" or not leaf.index:
        return leaf
    return dataclasses.replace(leaf, index=gone.index, torch=gone.torch, jax=gone.torch)


def without(result: Result, leaf: Leaf) -> str:
    """Return the value of a leaf in the negative control, which lacks the tool.

    If the leaf differs only at another element than the one in the table, name that element.
    """
    value = leaf_value(result.without.get(leaf.path, ""))
    gone = changed(result, leaf)
    if gone is not None and gone.path == leaf.path and leaf.index and gone.index == leaf.index:
        return leaf_value(gone.jax)
    if gone is None or value != leaf_value(leaf.jax):
        return value
    return f"at {list(gone.index)} {leaf_value(gone.jax)} instead of {leaf_value(gone.torch)}"


def changed(result: Result, leaf: Leaf) -> Leaf | None:
    """Return how a leaf differs in the negative control, or None if it does not."""
    above = (leaf.path, *(leaf.path[:i] for i, c in enumerate(leaf.path) if c == "/"), "")
    return next((gone for gone in result.changed if gone.path in above), None)


def largest(result: Result) -> str:
    """Describe the leaf that differs most: both values of a deviation, else a number of ULP."""
    leaf = min(shown_leaves(result), key=lambda x: (x.verdict != "fail", -_finite(x.ulp_at_scale)))
    if result.verdict == "deviation" or leaf.kind in ("structure", "dtype", "shape"):
        at = f"{leaf.path}{list(leaf.index) if leaf.index else ''}" or "the program"
        return f"{at}: torch {leaf_value(leaf.torch)}, JAX {leaf_value(leaf.jax)}"
    return f"{leaf.path}, {number(leaf.ulp_at_scale)} ULP"


def judged(result: Result, leaf: Leaf) -> str:
    """Return the verdict of one result in words."""
    if leaf.verdict == "fail":
        return "differs" if result.verdict == "deviation" else "fails"
    return "zero up to rounding" if leaf.structural_zero else WORDS[leaf.verdict]


def distance(leaf: Leaf) -> str:
    """Return a leaf's difference in ULP, if it is a difference of values."""
    return number(leaf.ulp_at_scale) if leaf.kind in ("", "value") else ""


def allowed(case: Case, result: Result) -> str:
    """Say in a few words how large a difference may be."""
    tolerance = case.tolerance_in(result.dtype)
    if tolerance is not None:
        return f"{tolerance.rtol:g} of scale"
    if result.dtype == "float64":
        return f"{FLOAT64_RTOL / np.finfo(float).eps:.0f} ULP ({FLOAT64_RTOL:g} of scale)"
    return f"{FLOOR_ULP:g} ULP, or {TORCH_ERRORS:g} times torch's own error"


def leaf_value(x: Any) -> str:
    """Return one side of a leaf: a number with all digits, a whole array or exception in short."""
    whole = isinstance(x, BaseException) or (isinstance(x, np.ndarray) and x.ndim > 0)
    return shown(x) if whole else str(x)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.inf


def left_out(result: Result) -> str:
    """Name the results that the table does not list, by their verdicts."""
    listed = {leaf.path for leaf in shown_leaves(result)}
    rest = [leaf for leaf in result.leaves if leaf.path not in listed]
    groups: dict[str, list[str]] = {}
    for leaf in rest:
        groups.setdefault(judged(result, leaf), []).append(leaf.path or "the program")
    return "; ".join(f"{_listed(paths)}: {verdict}" for verdict, paths in groups.items())


def _listed(paths: list[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(paths[:NAMED]) + (f" and {more} more" if more > 0 else "")
