"""At which elements a convention of torch's differs: a mask for an equation that was seen."""

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
from jaxgrad.parity.lint.walking import Seen, name_of


Place = Callable[[Seen], Any]  # a mask, or None where the rule says nothing


def where(*holds: Callable[..., Any]) -> Place:
    """Where each of these holds of its own operand, and an operand moves."""

    def place(seen: Seen) -> Any:
        values = [np.asarray(x) for x in seen.ins[: len(holds)]]
        return math.prod((np.asarray(h(x)) for h, x in zip(holds, values, strict=True)), start=True)

    return place


def moved(index: int, place: Place) -> Place:
    """The same where this operand is one that is differentiated."""
    return lambda seen: place(seen) if seen.moves[index] else None


def is_zero(x: np.ndarray) -> Any:
    return x == 0


def real_zero(seen: Seen) -> Any:
    """At 0 of a real array; of a complex one JAX's is torch's."""
    x = np.asarray(seen.ins[0])
    return None if x.dtype.kind == "c" or "logsumexp" in source.callers(seen.eqn) else x == 0


def lgamma_at_zero(seen: Seen) -> Any:
    """Since 0.11 JAX has torch's -inf: ask it."""
    return np.asarray(seen.ins[0]) == 0 if np.isnan(jax.grad(jax.lax.lgamma)(0.0)) else None


def always(seen: Seen) -> Any:
    return np.ones(seen.outs[0].shape, bool)


def is_complex(seen: Seen) -> Any:
    return always(seen) if np.iscomplexobj(np.asarray(seen.ins[0])) else None


def out_is_zero(seen: Seen) -> Any:
    return np.asarray(seen.outs[0]) == 0 if np.size(seen.ins[0]) else None


def equal(seen: Seen) -> Any:
    return np.equal(*map(np.asarray, seen.ins[:2]))


def at_a_constant(seen: Seen) -> Any:
    """Equal, and one of the two is no variable: a relu or a clamp that is written by hand."""
    return None if all(seen.moves) else equal(seen)


def at_a_bound(first: int) -> Place:
    """Where the operand `first` equals one of the others."""

    def place(seen: Seen) -> Any:
        x = np.asarray(seen.ins[first])
        bounds = [np.asarray(b) for i, b in enumerate(seen.ins) if i != first]
        return np.logical_or.reduce([np.broadcast_to(x == b, x.shape) for b in bounds])

    return moved(first, place)


def tied_in_one_axis(seen: Seen) -> Any:
    """Of a reduction along one axis: over several torch has only `amax`, and that is JAX's."""
    axes, x = seen.eqn.params["axes"], np.asarray(seen.ins[0])
    if len(axes) != 1:
        return None
    best = np.expand_dims(np.asarray(seen.outs[0]), axes)
    return np.sum(x == best, axis=axes) > 1


def tied_so_far(seen: Seen) -> Any:
    """Where a running maximum meets its own value again."""
    axis, x, out = seen.eqn.params["axis"], np.asarray(seen.ins[0]), np.asarray(seen.outs[0])
    if seen.eqn.params["reverse"]:
        x, out = np.flip(x, axis), np.flip(out, axis)
    head = [slice(None)] * x.ndim
    tail = list(head)
    head[axis], tail[axis] = slice(None, -1), slice(1, None)
    return x[tuple(tail)] == out[tuple(head)]


def reversed_sort(seen: Seen) -> Any:
    """Equal neighbours in what was sorted upwards and then turned round."""
    source = seen.source(seen.eqn.invars[0])
    if source is None or name_of(source) not in ("sort", "sort()"):
        return None
    (axis,) = seen.eqn.params["dimensions"] if len(seen.eqn.params["dimensions"]) == 1 else (None,)
    return None if axis is None else np.diff(np.asarray(seen.ins[0]), axis=axis) == 0


def tied_in_top(seen: Seen) -> Any:
    x, best = np.asarray(seen.ins[0]), np.asarray(seen.outs[0])
    return np.sum(x[..., None, :] == best[..., :, None], axis=-1) > 1


def norm_by_hand(seen: Seen) -> Any:
    """`sqrt(sum(x * x))` that is 0: a person's way to write torch's norm."""
    total = seen.source(seen.eqn.invars[0])
    if total is None or total.primitive.name != "reduce_sum":
        return None
    square = seen.source(total.invars[0])
    if square is None:
        return None
    name, ins = square.primitive.name, square.invars
    squared = (
        name == "square"
        or (name == "mul" and ins[0] is ins[1])
        or (name == "integer_pow" and square.params["y"] == 2)
    )
    return np.asarray(seen.ins[0]) == 0 if squared else None


def _inside(seen: Seen) -> dict[str, jex_core.JaxprEqn]:
    return {p.eqn.primitive.name: p.eqn for sub in inner(seen.eqn) for p in walk(sub)}


def zero_norm(seen: Seen) -> Any:
    names = _inside(seen)
    smooth = ("sqrt" in names or "pow" in names) and "svd" not in names
    return out_is_zero(seen) if smooth else None


def zero_largest(seen: Seen) -> Any:
    names = _inside(seen)
    of_entries = "abs" in names and not {"svd", "reduce_sum"} & set(names)
    return out_is_zero(seen) if of_entries else None


def zero_entry_of_p1(seen: Seen) -> Any:
    names = _inside(seen)
    plain = {"abs", "reduce_sum"} <= set(names) and not {"sqrt", "pow", "svd", "reduce_max"} & set(
        names
    )
    return np.asarray(seen.ins[0]) == 0 if plain else None


def median_differs(seen: Seen) -> Any:
    """Of an even number, and over everything also where the middle one is there twice."""
    x, out = np.asarray(seen.ins[0]), np.asarray(seen.outs[0])
    count = x.size // max(out.size, 1)
    if count % 2 == 0:
        return np.ones(out.shape, bool)
    return np.sum(x == out) > 1 if out.size == 1 else None


def rank_is_one_less(seen: Seen) -> Any:
    """A singular matrix whose cofactors are not all zero."""
    x = np.asarray(seen.ins[0])
    singular = np.asarray(seen.outs[0]) == 0
    return singular & (np.linalg.matrix_rank(x) == x.shape[-1] - 1)


def minus_infinity(seen: Seen) -> Any:
    return np.asarray(seen.outs[-1]) == -np.inf


def became_nonfinite(seen: Seen) -> Any:
    """A matrix of finite numbers whose result is not: torch would not have gone on."""
    if not all(np.isfinite(np.asarray(x)).all() for x in seen.ins):
        return None
    finite = np.isfinite(np.asarray(seen.outs[0]))
    return ~finite.all(axis=(-2, -1) if finite.ndim >= np.ndim(seen.ins[0]) > 1 else -1)


def not_symmetric(seen: Seen) -> Any:
    x = np.asarray(seen.ins[0])
    return (x != np.conj(np.swapaxes(x, -1, -2))).any(axis=(-2, -1))


# --- indices --------------------------------------------------------------------------------------


def _outside(indices: np.ndarray, dims: tuple[int, ...], shape: Any, sizes: Any) -> Any:
    last = np.array([shape[d] - sizes[d] for d in dims])
    return ((indices < 0) | (indices > last)).any(axis=-1)


def gathered_outside(seen: Seen) -> Any:
    numbers, sizes = seen.eqn.params["dimension_numbers"], seen.eqn.params["slice_sizes"]
    dims = numbers.start_index_map
    return _outside(np.asarray(seen.ins[1]), dims, seen.ins[0].shape, sizes) if dims else None


def sliced_outside(first: int, sized: int) -> Place:
    """`first`: the first start index. `sized`: the operand that says how much is taken, or -1."""

    def place(seen: Seen) -> Any:
        shape = seen.ins[0].shape
        sizes = seen.eqn.params["slice_sizes"] if sized < 0 else seen.ins[sized].shape
        starts = np.array([int(i) for i in seen.ins[first:]])
        return _outside(starts, tuple(range(len(shape))), shape, sizes) if shape else None

    return place


def scattered_outside(seen: Seen) -> Any:
    operand, indices, updates = seen.ins
    numbers = seen.eqn.params["dimension_numbers"]
    dims = numbers.scatter_dims_to_operand_dims
    alone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window = iter(updates.shape[d] for d in numbers.update_window_dims)
    sizes = [1 if d in alone else next(window) for d in range(operand.ndim)]
    return _outside(np.asarray(indices), dims, operand.shape, sizes) if dims else None


def scattered_twice(seen: Seen) -> Any:
    """Sources that another one overwrites."""
    if not seen.moves[2]:
        return None
    indices = np.asarray(seen.ins[1])
    numbers = seen.eqn.params["dimension_numbers"]
    grid = np.indices(indices.shape[:-1])
    batch = [grid[d][..., None] for d in numbers.scatter_indices_batching_dims]
    rows = np.concatenate([*batch, indices], -1).reshape(-1, indices.shape[-1] + len(batch))
    _, back, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return (count > 1)[back.reshape(-1)] if rows.size else None


# --- types ----------------------------------------------------------------------------------------


def widened_by_a_number(seen: Seen) -> Any:
    """An array that JAX made wider for a 0-d array of a wider type; torch keeps the array's."""
    mine, other = seen.eqn.invars[:2]
    widened = _was_widened(seen, mine) and _is_number(seen, other)
    return (
        always(seen) if widened or (_was_widened(seen, other) and _is_number(seen, mine)) else None
    )


def _was_widened(seen: Seen, atom: Any) -> bool:
    cast = seen.source(atom)
    if cast is None or cast.primitive.name != "convert_element_type" or source.is_written(cast):
        return False
    was = abstract(cast.invars[0])
    return (
        was.shape != ()
        and jnp.issubdtype(was.dtype, jnp.floating)
        and was.dtype.itemsize < abstract(atom).dtype.itemsize
    )


def _is_number(seen: Seen, atom: Any) -> bool:
    source = seen.source(atom)
    if source is not None and source.primitive.name == "broadcast_in_dim":
        # Of a literal it is `jnp.ones`.
        return isinstance(source.invars[0], jex_core.Var) and not abstract(source.invars[0]).shape
    return not abstract(atom).shape
