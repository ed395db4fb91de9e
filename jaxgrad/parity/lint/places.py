"""Masks of the elements of an equation at which torch's convention differs from JAX's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import source
from jaxgrad._core.jaxpr import abstract, inner, walk
from jaxgrad.parity.lint.walking import Visit, name_of


Place = Callable[[Visit], Any]  # maps an equation to a mask, or to None if it is not affected


def where(*holds: Callable[..., Any]) -> Place:
    """Return a function that marks the elements at which each operand satisfies its predicate."""

    def place(visit: Visit) -> Any:
        values = [np.asarray(x) for x in visit.ins[: len(holds)]]
        return math.prod((np.asarray(h(x)) for h, x in zip(holds, values, strict=True)), start=True)

    return place


def if_active(index: int, place: Place) -> Place:
    """Apply `place` only to equations in which the operand `index` is differentiated."""
    return lambda visit: place(visit) if visit.active[index] else None


def is_zero(x: np.ndarray) -> Any:
    return x == 0


def real_zero(visit: Visit) -> Any:
    """Mark the zeros of a real array; for complex arrays both gradients agree."""
    x = np.asarray(visit.ins[0])
    return None if x.dtype.kind == "c" or "logsumexp" in source.callers(visit.eqn) else x == 0


def lgamma_at_zero(visit: Visit) -> Any:
    """Mark zeros, except since JAX 0.11, where the gradient is -inf as in torch."""
    return np.asarray(visit.ins[0]) == 0 if np.isnan(jax.grad(jax.lax.lgamma)(0.0)) else None


def hypot_at_zero(visit: Visit) -> Any:
    """Mark (0, 0), except since JAX 0.12, where the gradient is NaN as in torch."""
    return None if np.isnan(jax.grad(jnp.hypot)(0.0, 0.0)) else where(is_zero, is_zero)(visit)


def always(visit: Visit) -> Any:
    return np.ones(visit.outs[0].shape, bool)


def is_complex(visit: Visit) -> Any:
    return always(visit) if np.iscomplexobj(np.asarray(visit.ins[0])) else None


def out_is_zero(visit: Visit) -> Any:
    return np.asarray(visit.outs[0]) == 0 if np.size(visit.ins[0]) else None


def equal(visit: Visit) -> Any:
    return np.equal(*map(np.asarray, visit.ins[:2]))


def at_a_constant(visit: Visit) -> Any:
    """Mark where a variable equals a constant, as in a handwritten relu or clamp."""
    return None if all(visit.active) else equal(visit)


def at_a_bound(first: int) -> Place:
    """Return a function that marks where the operand `first` equals another operand."""

    def place(visit: Visit) -> Any:
        x = np.asarray(visit.ins[first])
        bounds = [np.asarray(b) for i, b in enumerate(visit.ins) if i != first]
        return np.logical_or.reduce([np.broadcast_to(x == b, x.shape) for b in bounds])

    return if_active(first, place)


def tied_in_one_axis(visit: Visit) -> Any:
    """Mark ties in a reduction over one axis; over several axes, torch's `amax` agrees with JAX."""
    axes, x = visit.eqn.params["axes"], np.asarray(visit.ins[0])
    if len(axes) != 1:
        return None
    best = np.expand_dims(np.asarray(visit.outs[0]), axes)
    return np.sum(x == best, axis=axes) > 1


def tied_so_far(visit: Visit) -> Any:
    """Mark elements that equal the running maximum of the preceding elements."""
    axis, x, out = visit.eqn.params["axis"], np.asarray(visit.ins[0]), np.asarray(visit.outs[0])
    if visit.eqn.params["reverse"]:
        x, out = np.flip(x, axis), np.flip(out, axis)
    head = [slice(None)] * x.ndim
    tail = list(head)
    head[axis], tail[axis] = slice(None, -1), slice(1, None)
    return x[tuple(tail)] == out[tuple(head)]


def reversed_sort(visit: Visit) -> Any:
    """Mark equal neighbours in an ascending sort that is then reversed."""
    source = visit.source(visit.eqn.invars[0])
    if source is None or name_of(source) not in ("sort", "sort()"):
        return None
    axes = visit.eqn.params["dimensions"]
    return np.diff(np.asarray(visit.ins[0]), axis=axes[0]) == 0 if len(axes) == 1 else None


def tied_in_top(visit: Visit) -> Any:
    x, best = np.asarray(visit.ins[0]), np.asarray(visit.outs[0])
    return np.sum(x[..., None, :] == best[..., :, None], axis=-1) > 1


def norm_by_hand(visit: Visit) -> Any:
    """Mark zeros of `sqrt(sum(x * x))`, the handwritten form of torch's norm."""
    total = visit.source(visit.eqn.invars[0])
    if total is None or total.primitive.name != "reduce_sum":
        return None
    square = visit.source(total.invars[0])
    if square is None:
        return None
    name, ins = square.primitive.name, square.invars
    squared = (
        name == "square"
        or (name == "mul" and ins[0] is ins[1])
        or (name == "integer_pow" and square.params["y"] == 2)
    )
    return np.asarray(visit.ins[0]) == 0 if squared else None


def _inside(visit: Visit) -> dict[str, jex_core.JaxprEqn]:
    return {p.eqn.primitive.name: p.eqn for sub in inner(visit.eqn) for p in walk(sub)}


def zero_norm(visit: Visit) -> Any:
    names = _inside(visit)
    smooth = ("sqrt" in names or "pow" in names) and "svd" not in names
    return out_is_zero(visit) if smooth else None


def zero_largest(visit: Visit) -> Any:
    names = _inside(visit)
    of_entries = "abs" in names and not {"svd", "reduce_sum"} & set(names)
    return out_is_zero(visit) if of_entries else None


def zero_entry_of_p1(visit: Visit) -> Any:
    names = _inside(visit)
    plain = {"abs", "reduce_sum"} <= set(names) and not {"sqrt", "pow", "svd", "reduce_max"} & set(
        names
    )
    return np.asarray(visit.ins[0]) == 0 if plain else None


def median_differs(visit: Visit) -> Any:
    """Mark medians of an even number of elements, and tied medians of a whole array."""
    x, out = np.asarray(visit.ins[0]), np.asarray(visit.outs[0])
    count = x.size // max(out.size, 1)
    if count % 2 == 0:
        return np.ones(out.shape, bool)
    return np.sum(x == out) > 1 if out.size == 1 else None


def rank_is_one_less(visit: Visit) -> Any:
    """Mark singular matrices whose cofactors are not all zero."""
    x = np.asarray(visit.ins[0])
    singular = np.asarray(visit.outs[0]) == 0
    return singular & (np.linalg.matrix_rank(x) == x.shape[-1] - 1)


def minus_infinity(visit: Visit) -> Any:
    return np.asarray(visit.outs[-1]) == -np.inf


def became_nonfinite(visit: Visit) -> Any:
    """Mark finite matrices whose result is not finite; torch raises an error for them."""
    if not all(np.isfinite(np.asarray(x)).all() for x in visit.ins):
        return None
    finite = np.isfinite(np.asarray(visit.outs[0]))
    return ~finite.all(axis=(-2, -1) if finite.ndim >= np.ndim(visit.ins[0]) > 1 else -1)


def not_symmetric(visit: Visit) -> Any:
    x = np.asarray(visit.ins[0])
    return (x != np.conj(np.swapaxes(x, -1, -2))).any(axis=(-2, -1))


# --- indices --------------------------------------------------------------------------------------


def _outside(indices: np.ndarray, dims: tuple[int, ...], shape: Any, sizes: Any) -> Any:
    last = np.array([shape[d] - sizes[d] for d in dims])
    return ((indices < 0) | (indices > last)).any(axis=-1)


def gathered_outside(visit: Visit) -> Any:
    numbers, sizes = visit.eqn.params["dimension_numbers"], visit.eqn.params["slice_sizes"]
    dims = numbers.start_index_map
    return _outside(np.asarray(visit.ins[1]), dims, visit.ins[0].shape, sizes) if dims else None


def sliced_outside(first: int, sized: int) -> Place:
    """Mark slices that exceed their operand; `sized` is the operand with their shape, or -1."""

    def place(visit: Visit) -> Any:
        shape = visit.ins[0].shape
        sizes = visit.eqn.params["slice_sizes"] if sized < 0 else visit.ins[sized].shape
        starts = np.array([int(i) for i in visit.ins[first:]])
        return _outside(starts, tuple(range(len(shape))), shape, sizes) if shape else None

    return place


def scattered_outside(visit: Visit) -> Any:
    operand, indices, updates = visit.ins
    numbers = visit.eqn.params["dimension_numbers"]
    dims = numbers.scatter_dims_to_operand_dims
    alone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window = iter(updates.shape[d] for d in numbers.update_window_dims)
    sizes = [1 if d in alone else next(window) for d in range(operand.ndim)]
    return _outside(np.asarray(indices), dims, operand.shape, sizes) if dims else None


def scattered_twice(visit: Visit) -> Any:
    """Mark updates of a scatter that write to the same index as another update."""
    if not visit.active[2]:
        return None
    indices = np.asarray(visit.ins[1])
    numbers = visit.eqn.params["dimension_numbers"]
    grid = np.indices(indices.shape[:-1])
    batch = [grid[d][..., None] for d in numbers.scatter_indices_batching_dims]
    rows = np.concatenate([*batch, indices], -1).reshape(-1, indices.shape[-1] + len(batch))
    _, back, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return (count > 1)[back.reshape(-1)] if rows.size else None


# --- types ----------------------------------------------------------------------------------------


def promoted_by_a_scalar(visit: Visit) -> Any:
    """Mark arrays that a 0-d array promotes in JAX; torch keeps the array's dtype."""
    mine, other = visit.eqn.invars[:2]
    pairs = ((mine, other), (other, mine))
    promoted = any(_was_promoted(visit, a) and _is_scalar(visit, b) for a, b in pairs)
    return always(visit) if promoted else None


def _was_promoted(visit: Visit, atom: Any) -> bool:
    cast = visit.source(atom)
    if cast is None or cast.primitive.name != "convert_element_type" or source.is_written(cast):
        return False
    was = abstract(cast.invars[0])
    return (
        was.shape != ()
        and jnp.issubdtype(was.dtype, jnp.floating)
        and was.dtype.itemsize < abstract(atom).dtype.itemsize
    )


def _is_scalar(visit: Visit, atom: Any) -> bool:
    source = visit.source(atom)
    if source is not None and source.primitive.name == "broadcast_in_dim":
        # A broadcast literal is an array, such as `jnp.ones`.
        return isinstance(source.invars[0], jex_core.Var) and not abstract(source.invars[0]).shape
    return not abstract(atom).shape
