"""Compare two observations: structure, then dtype, then shape, then value.

An observation is a pytree of arrays, `None` ("no gradient"), static values (str, int, bool) and
exceptions. The reference may also contain `Raises`, which matches exceptions by type and by words
in their message. This module does not use torch or JAX: all arrays are numpy arrays.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgrad._core import argument_names
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.ulp import (
    distance,
    epsilon,
    histogram,
    is_array,
    is_inexact_dtype,
    scale_of,
    spacing,
    wide,
)


FLOAT64_RTOL = 1e-12  # relative to the leaf's scale
STRUCTURAL_ZERO = 1e-13  # relative to the tree's scale, in float64
CONTROL_RTOL = 1e-6  # a negative control must differ by more, relative to the leaf's scale
FLOOR_ULP = 4.0
TORCH_ERRORS = 3.0

ABSENT = "no such leaf"  # shown in place of a value where only one side has the leaf
PASSED = ("bitwise", "close", "deviation")
_EPS64 = float(np.finfo(np.float64).eps)
_KINDS = ("structure", "dtype", "shape", "value")


class Raises(NamedTuple):
    """Match exceptions of a given type whose message contains certain words."""

    type: type[BaseException]
    words: str = ""

    def matches(self, error: object) -> bool:
        return isinstance(error, self.type) and self.words in str(error)


class Tolerance(NamedTuple):
    """A bound on differences, relative to a leaf's scale, and the reason for it."""

    rtol: float
    why: str
    dtype: str = ""  # the only dtype that it is for; every dtype if empty


@dataclasses.dataclass(frozen=True)
class Leaf:
    """The result of the comparison at one path of the two trees."""

    path: str
    verdict: str  # bitwise | close | fail
    kind: str = ""  # what failed: structure | dtype | shape | value
    text: str = ""  # the reason in words
    index: tuple[int, ...] = ()
    torch: Any = None  # its value at the worst index
    jax: Any = None
    scale: float = 0.0
    difference: float = 0.0
    allowed: float = 0.0
    ulp_at_scale: float = 0.0
    max_rel: float = 0.0
    oracle_ratio: float | None = None
    structural_zero: bool = False
    histogram: tuple[int, ...] = ()  # number of elements by ULP distance, see ulp.BINS

    @property
    def differs(self) -> bool:
        """Whether this leaf differs enough for a negative control."""
        if self.kind and self.kind != "value":
            return True
        return self.verdict == "fail" and not self.difference <= CONTROL_RTOL * self.scale


class Comparison(NamedTuple):
    """The verdict of a comparison with the result for every leaf."""

    verdict: str  # bitwise | close | fail | error
    leaves: tuple[Leaf, ...]
    text: str = ""

    @property
    def first(self) -> Leaf | None:
        """The first failing leaf; structure comes before dtype, shape and value."""
        failed = [leaf for leaf in self.leaves if leaf.verdict == "fail"]
        return min(failed, key=lambda leaf: _KINDS.index(leaf.kind), default=None)

    @property
    def worst(self) -> Leaf | None:
        """The first failing leaf, or else the leaf with the largest difference in ULP."""
        by_ulp = max(self.leaves, key=lambda leaf: leaf.ulp_at_scale, default=None)
        return self.first or by_ulp


def flatten(tree: PyTree, path: str = "") -> dict[str, Any]:
    """Return a tree's leaves keyed by path (`layer/weight`); lists and tuples are equivalent."""
    if isinstance(tree, Raises):
        return {path: tree}
    if isinstance(tree, Mapping):
        items = [(str(key), tree[key]) for key in sorted(tree, key=str)]
    elif isinstance(tree, tuple) and hasattr(tree, "_fields"):
        items = list(zip(tree._fields, tree, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        items = [(str(i), item) for i, item in enumerate(tree)]
    else:
        return {path: tree}
    leaves: dict[str, Any] = {}
    for key, item in items:
        leaves |= flatten(item, f"{path}/{key}" if path else key)
    return leaves


@argument_names.spelt
def compare(
    torch: PyTree,
    jax: PyTree,
    *,
    oracle: PyTree = None,
    reruns: Sequence[PyTree] = (),
    tolerance: Tolerance | None = None,
    zeros: bool = False,
) -> Comparison:
    """Return whether two observations are numerically identical, and where they differ.

    Args:
        torch: The reference's observation, with numpy arrays as leaves.
        jax: The observation under test.
        oracle: The reference's observation in float64 on the same (rounded) inputs. If given, a
            value passes if its error against the oracle is at most three times torch's own error.
        reruns: torch's observations for inputs perturbed by one ULP, which measure that error.
        tolerance: A looser bound with its reason, which replaces the rules above.
        zeros: Whether to accept a reference that contains only zeros.

    Returns:
        A `Comparison` with the verdict, the result for every leaf, and a description.
    """
    left, right = flatten(torch), flatten(jax)
    if not any(leaf is not None for leaf in (*left.values(), *right.values())):
        return Comparison("error", (), "nothing was compared: the observation holds no value")
    truth = flatten(oracle) if oracle is not None else {}
    others = [flatten(rerun) for rerun in reruns]
    source = truth or left
    tree_scale = max((scale_of(leaf) for leaf in source.values()), default=0.0)

    leaves = []
    for path in dict.fromkeys((*left, *right)):
        if path not in left or path not in right:
            absent, present = ("torch", "JAX") if path not in left else ("JAX", "torch")
            pair = left.get(path, ABSENT), right.get(path, ABSENT)
            text = f"{absent} has no such leaf, {present} has {_show(pair[path in right])}"
            leaves.append(Leaf(path, "fail", "structure", text, torch=pair[0], jax=pair[1]))
            continue
        exact = truth[path] if is_array(truth.get(path)) else None
        runs = [run[path] for run in (left, *others) if is_array(run.get(path))]
        pair = left[path], right[path]
        leaves.append(_compare_leaf(path, *pair, exact, runs, tree_scale, tolerance))
    failed = Comparison("fail", tuple(leaves)).first
    if failed is not None:
        return Comparison("fail", tuple(leaves), f"{failed.path or 'the value'}: {failed.text}")
    numbers = [leaf for leaf in left.values() if is_array(leaf) and leaf.dtype != bool]
    if numbers and not zeros and not any(np.any(leaf != 0) for leaf in numbers):
        text = "only zeros were compared; pass zeros=True if that is intended"
        return Comparison("error", tuple(leaves), text)
    bitwise = all(leaf.verdict == "bitwise" for leaf in leaves)
    return Comparison("bitwise" if bitwise else "close", tuple(leaves))


def _compare_leaf(
    path: str,
    torch: Any,
    jax: Any,
    oracle: np.ndarray | None,
    runs: list[np.ndarray],
    tree_scale: float,
    tolerance: Tolerance | None,
) -> Leaf:
    def fail(kind: str, text: str) -> Leaf:
        return Leaf(path, "fail", kind, text, torch=torch, jax=jax)

    if _category(torch) != _category(jax):
        return fail("structure", f"torch has {_show(torch)}, JAX has {_show(jax)}")
    if not is_array(torch):
        if isinstance(torch, float):
            return fail("structure", "a Python float has no dtype; return an array")
        same = torch.matches(jax) if isinstance(torch, Raises) else _same_static(torch, jax)
        if same:
            return Leaf(path, "bitwise", torch=torch, jax=jax)
        text = f"torch has {_show(torch)}, JAX has {_show(jax)}"
        return dataclasses.replace(fail("value", text), difference=math.inf)
    if torch.dtype != jax.dtype:
        return fail("dtype", f"torch has dtype {torch.dtype}, JAX has {jax.dtype}")
    if torch.shape != jax.shape:
        return fail("shape", f"torch has shape {torch.shape}, JAX has {jax.shape}")
    if not is_inexact_dtype(torch.dtype):
        if np.array_equal(torch, jax):
            first = (0,) * torch.ndim if torch.size else ()
            at = (torch[first], jax[first]) if torch.size else (None, None)
            return Leaf(path, "bitwise", index=first, torch=at[0], jax=at[1])
        index = tuple(int(i) for i in np.argwhere(torch != jax)[0])
        text = f"at {_at(index)} torch has {torch[index]}, JAX has {jax[index]}"
        return dataclasses.replace(
            fail("value", text),
            index=index,
            torch=torch[index],
            jax=jax[index],
            difference=math.inf,
        )
    return _compare_floats(path, torch, jax, oracle, runs, tree_scale, tolerance)


class _Error(NamedTuple):
    """The elementwise error of a float leaf and the bound that the rules set."""

    values: np.ndarray
    allowed: float
    scale: float
    oracle_ratio: float | None = None
    structural_zero: bool = False


def _error(
    torch: np.ndarray,
    jax: np.ndarray,
    reference: np.ndarray,
    runs: list[np.ndarray],
    tree_scale: float,
    tolerance: Tolerance | None,
) -> _Error:
    eps, scale = epsilon(torch.dtype), scale_of(torch)
    zero = scale_of(reference) <= STRUCTURAL_ZERO * tree_scale
    if zero and bool(np.all(np.isfinite(wide(reference)))):
        # Neither framework may exceed the noise level; their relative difference is meaningless.
        errors = np.maximum(distance(jax, reference), distance(torch, reference))
        allowed = STRUCTURAL_ZERO * tree_scale * eps / _EPS64
        return _Error(errors, allowed, tree_scale, structural_zero=True)
    if tolerance is not None:
        return _Error(distance(torch, jax), tolerance.rtol * scale, scale)
    if reference is torch:
        rtol = FLOAT64_RTOL if eps == _EPS64 else FLOOR_ULP * eps
        return _Error(distance(torch, jax), rtol * scale, scale)
    errors = distance(jax, reference)
    own = max((float(np.max(distance(run, reference), initial=0.0)) for run in runs), default=0.0)
    allowed = max(TORCH_ERRORS * own, FLOOR_ULP * spacing(scale, torch.dtype))
    ratio = float(np.max(errors, initial=0.0)) / (allowed / TORCH_ERRORS) if allowed else 0.0
    return _Error(errors, allowed, scale, ratio)


def _compare_floats(
    path: str,
    torch: np.ndarray,
    jax: np.ndarray,
    oracle: np.ndarray | None,
    runs: list[np.ndarray],
    tree_scale: float,
    tolerance: Tolerance | None,
) -> Leaf:
    reference = torch if oracle is None or oracle.shape != torch.shape else oracle
    error = _error(torch, jax, reference, runs, tree_scale, tolerance)
    difference = float(np.max(error.values, initial=0.0))
    passed = difference <= error.allowed
    flat = int(np.argmax(error.values)) if torch.size else 0
    index = tuple(int(i) for i in np.unravel_index(flat, torch.shape)) if torch.size else ()
    at = (torch[index], jax[index]) if torch.size else (None, None)
    scale, apart, size = scale_of(torch), distance(torch, jax), np.abs(wide(torch))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = np.where((size > 0) & np.isfinite(size), apart / size, 0.0)
    widest, ulp = float(np.max(apart, initial=0.0)), spacing(scale, torch.dtype)
    ulp_at_scale = widest / ulp if ulp else (math.inf if widest else 0.0)
    text = ""
    if not passed:
        text = (
            f"at {_at(index)} torch has {at[0]}, JAX has {at[1]}: {ulp_at_scale:.3g} ULP at leaf "
            f"scale {scale:.3g}, off by {difference:.3g} where {error.allowed:.3g} is allowed"
        )
        if reference is not torch:
            text += f" (the float64 oracle has {reference[index]})"
    same_bits = torch.tobytes() == jax.tobytes()
    return Leaf(
        path,
        "bitwise" if same_bits and passed else "close" if passed else "fail",
        "" if passed else "value",
        text,
        index=index,
        torch=at[0],
        jax=at[1],
        scale=error.scale,
        difference=difference,
        allowed=error.allowed,
        ulp_at_scale=ulp_at_scale,
        max_rel=float(np.max(relative, initial=0.0)),
        oracle_ratio=error.oracle_ratio,
        structural_zero=error.structural_zero,
        histogram=histogram(torch, jax),
    )


def _category(leaf: Any) -> str:
    if leaf is None:
        return "None"
    if isinstance(leaf, Raises | BaseException):
        return "exception"
    return "array" if is_array(leaf) else "static"


def _same_static(torch: Any, jax: Any) -> bool:
    if isinstance(torch, BaseException):
        return type(torch) is type(jax) and str(torch) == str(jax)
    return type(torch) is type(jax) and torch == jax


def _show(leaf: Any) -> str:
    if isinstance(leaf, Raises):
        return f"{leaf.type.__name__} containing {leaf.words!r}"
    if isinstance(leaf, BaseException):
        return f"{type(leaf).__name__}: {leaf}"
    if is_array(leaf):
        text = f"an array {leaf.dtype}{list(leaf.shape)}"
        return f"{text} = {leaf.tolist()}" if leaf.size <= 8 else text
    return repr(leaf)


def _at(index: tuple[int, ...]) -> str:
    return str(list(index)) if index else "[]"
