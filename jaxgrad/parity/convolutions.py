"""Convolutions in float64, in the forms that XLA computes fast on a CPU.

XLA has no fast kernel for a convolution in float64 with groups, with dilation of the input, with
much padding, or with few features. Such convolutions are common in gradients and in small
networks, and take 20 to 100 times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import Path, evaluate, inner, plain, walk


_FEW = 16  # features; XLA has no fast kernel if neither the input nor the output has more
_POSITIONS = 4  # of an output, for which XLA's kernel is slower than a product for each
_MOST = 200  # positions of the kernel or of the output that become matrix products
_LARGEST_TABLE = 2**22  # elements of the kernel times those of the output, along one axis
_LARGEST = 2**27  # elements of the copies of the input that one product reads


def with_fast_convolutions(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same results, whose convolutions in float64 run fast."""

    def faster(*args: Any) -> Any:
        jaxpr, shapes = jax.make_jaxpr(fun, return_shape=True)(*args)
        inside = {place.path for place in walk(jaxpr) if any(map(_has_slow, inner(place.eqn)))}
        leaves = [jnp.asarray(x) for x in jax.tree.leaves(args)]
        outs, _ = evaluate(jaxpr, leaves, _rule, enters=inside.__contains__)
        return jax.tree.unflatten(jax.tree.structure(shapes), outs)

    return faster


def _has_slow(jaxpr: Any) -> bool:
    return any(is_slow(place.eqn) for place in walk(jaxpr))


def is_slow(eqn: Any) -> bool:
    """Return whether an equation is a convolution that XLA computes without its fast kernel."""
    if eqn.primitive.name != "conv_general_dilated" or eqn.outvars[0].aval.dtype != jnp.float64:
        return False
    if _has_few_features(eqn) or max(eqn.params["lhs_dilation"]) > 1 or _is_padded_much(eqn):
        return True
    return _has_few_outputs(eqn) or _reads_zeros(eqn)


def _has_few_features(eqn: Any) -> bool:
    """Return whether groups or few features keep a convolution from XLA's fast kernel.

    The forward pass of a depthwise convolution is fast.
    """
    params = eqn.params
    groups = params["feature_group_count"] * params["batch_group_count"]
    output, features, *dims = params["dimension_numbers"].rhs_spec
    shape = eqn.invars[1].aval.shape
    is_depthwise = params["feature_group_count"] == shape[output] > 1 and shape[features] == 1
    if is_depthwise and max(params["lhs_dilation"]) == 1 and not _is_padded_much(eqn):
        return math.prod(shape[d] for d in dims) > math.prod(
            eqn.outvars[0].aval.shape[d] for d in params["dimension_numbers"].out_spec[2:]
        )
    return groups > 1 or max(shape[output], shape[features]) <= _FEW


def _has_few_outputs(eqn: Any) -> bool:
    """Return whether a kernel of several elements is moved to a few positions only."""
    params = eqn.params
    _, _, *dims = params["dimension_numbers"].rhs_spec
    kernel = math.prod(eqn.invars[1].aval.shape[d] for d in dims)
    output = math.prod(
        eqn.outvars[0].aval.shape[d] for d in params["dimension_numbers"].out_spec[2:]
    )
    groups = params["feature_group_count"] * params["batch_group_count"]
    return groups == 1 and output <= _POSITIONS < kernel


class _Used(NamedTuple):
    """The parts of the kernel and of the output, along one axis, that read the input."""

    taps: slice
    outputs: slice


def _used(eqn: Any) -> list[_Used] | None:
    """Return what reads the input along each axis; None if something else is between elements."""
    params = eqn.params
    numbers = params["dimension_numbers"]
    if max(params["lhs_dilation"]) > 1:
        return None
    used = []
    for i, (low, _) in enumerate(params["padding"]):
        size = eqn.invars[0].aval.shape[numbers.lhs_spec[2 + i]]
        taps = np.arange(eqn.invars[1].aval.shape[numbers.rhs_spec[2 + i]])
        outputs = np.arange(eqn.outvars[0].aval.shape[numbers.out_spec[2 + i]])
        if taps.size * outputs.size > _LARGEST_TABLE:
            return None
        dilated, moved = params["rhs_dilation"][i] * taps, params["window_strides"][i] * outputs
        read = np.add.outer(dilated, moved) - low
        inside = (read >= 0) & (read < size)
        if not inside.any():
            return None
        used.append(_Used(_range(inside.any(1)), _range(inside.any(0))))
    return used


def _range(used: np.ndarray) -> slice:
    """Return the range from the first element that is true to the last one."""
    (numbers,) = np.nonzero(used)
    return slice(int(numbers[0]), int(numbers[-1]) + 1)


def _reads_zeros(eqn: Any) -> bool:
    """Return whether a part of the kernel or of the output reads nothing but the padding."""
    numbers = eqn.params["dimension_numbers"]
    used = _used(eqn) or ()
    return any(
        axis.taps != slice(0, eqn.invars[1].aval.shape[numbers.rhs_spec[2 + i]])
        or axis.outputs != slice(0, eqn.outvars[0].aval.shape[numbers.out_spec[2 + i]])
        for i, axis in enumerate(used)
    )


def _without_zeros(x: Any, w: Any, eqn: Any) -> Any:
    """Return a convolution without the parts that read nothing but the padding."""
    params, numbers = eqn.params, eqn.params["dimension_numbers"]
    kernel, ends, padding = [slice(None)] * w.ndim, [(0, 0)] * x.ndim, []
    for i, axis in enumerate(_used(eqn) or ()):
        size, (low, _) = x.shape[numbers.lhs_spec[2 + i]], params["padding"][i]
        stride, dilation = params["window_strides"][i], params["rhs_dilation"][i]
        kernel[numbers.rhs_spec[2 + i]] = axis.taps
        first, count = axis.outputs.start, axis.outputs.stop - axis.outputs.start
        low -= dilation * axis.taps.start + stride * first
        reach = (count - 1) * stride + dilation * (axis.taps.stop - axis.taps.start - 1) + 1
        padding.append((low, reach - size - low))
        total = eqn.outvars[0].aval.shape[numbers.out_spec[2 + i]]
        ends[numbers.out_spec[2 + i]] = (first, total - axis.outputs.stop)

    def convolution(x: Any, w: Any) -> Any:
        return compat.bind(eqn, [x, w], padding=tuple(padding))

    w = w[tuple(kernel)]
    (smaller,) = compat.open_jaxpr(jax.make_jaxpr(convolution)(x, w))[0].eqns
    (y,), _ = _rule(smaller, (), [x, w], None)
    return jnp.pad(y, ends)


def _is_padded_much(eqn: Any) -> bool:
    """Return whether the padding is more than half of the kernel."""
    params = eqn.params
    _, _, *dims = params["dimension_numbers"].rhs_spec
    extents = [
        dilation * (eqn.invars[1].aval.shape[d] - 1)
        for d, dilation in zip(dims, params["rhs_dilation"], strict=True)
    ]
    return any(2 * max(pads) > n for pads, n in zip(params["padding"], extents, strict=True))


def _rule(eqn: Any, path: Path, args: list[Any], slot: Any) -> tuple[list[Any], Any]:
    if not is_slow(eqn):
        return plain(eqn, path, args, slot)
    params, (x, w) = eqn.params, args
    if _reads_zeros(eqn):
        return [_without_zeros(x, w, eqn)], None
    if _is_transposed(eqn):
        return [_transposed(x, w, eqn)], None
    x = _padded(
        x, params["dimension_numbers"].lhs_spec[2:], params["padding"], params["lhs_dilation"]
    )
    if _has_few_features(eqn) or _has_few_outputs(eqn):
        y = _products(x, w, eqn)
        if y is not None:
            return [y], None
    still = (1,) * len(params["padding"])
    options = dict(padding=((0, 0),) * len(still), lhs_dilation=still)
    return compat.bind(eqn, [x, w], **options), None


def _is_transposed(eqn: Any) -> bool:
    """Return whether a convolution is the gradient of one with strides, in few shifts."""
    params = eqn.params
    if max(params["lhs_dilation"]) == 1 or params["batch_group_count"] > 1:
        return False
    if max(*params["window_strides"], *params["rhs_dilation"]) > 1:
        return False
    kernel = [eqn.invars[1].aval.shape[d] for d in params["dimension_numbers"].rhs_spec[2:]]
    shifts = [-(-k // s) for k, s in zip(kernel, params["lhs_dilation"], strict=True)]
    return math.prod(shifts) <= _MOST


def _transposed(x: Any, w: Any, eqn: Any) -> Any:
    """Return a transposed convolution as one matrix product, without the zeros between elements.

    Each element of the input gives a block of the output. Kernels that are longer than the stride
    give blocks that overlap: they are cut into pieces of the stride's length, which are shifted.
    """
    params = eqn.params
    numbers, strides = params["dimension_numbers"], params["lhs_dilation"]
    groups = params["feature_group_count"]
    x, w = x.transpose(numbers.lhs_spec), w.transpose(numbers.rhs_spec)
    batch, features, *sizes = x.shape
    kernel, dims = w.shape[2:], len(sizes)
    pieces = [-(-k // s) for k, s in zip(kernel, strides, strict=True)]
    w = jnp.flip(w, tuple(range(2, 2 + dims))).reshape(groups, -1, *w.shape[1:])
    ends = [(0, n * s - k) for n, s, k in zip(pieces, strides, kernel, strict=True)]
    w = jnp.pad(w, [(0, 0)] * 3 + ends)
    w = w.reshape(*w.shape[:3], *(n for pair in zip(pieces, strides, strict=True) for n in pair))
    x = jnp.moveaxis(x.reshape(batch, groups, features // groups, *sizes), 1, 0)
    blocks = lax.dot_general(w, x, (((2,), (2,)), ((0,), (0,))))  # (G, O, *pieces, N, *sizes)
    first, last = 2, 2 + 2 * dims
    order = [axis for d in range(dims) for axis in (last + 1 + d, first + 2 * d + 1)]
    places = [first + 2 * d for d in range(dims)]
    blocks = blocks.transpose(*places, last, 0, 1, *order)  # (*pieces, N, G, O, I, s, J, s, ...)
    lengths = [n * s for n, s in zip(sizes, strides, strict=True)]
    whole: Any = 0.0
    for at in np.ndindex(*pieces):
        part = blocks[at].reshape(batch, -1, *lengths)
        shifts = [(i * s, (n - 1 - i) * s) for i, s, n in zip(at, strides, pieces, strict=True)]
        whole = whole + jnp.pad(part, [(0, 0), (0, 0), *shifts])
    cut = [(0, 0, 0), (0, 0, 0)]
    for d, (low, _) in enumerate(params["padding"]):
        before = low - (kernel[d] - 1)
        out = eqn.outvars[0].aval.shape[numbers.out_spec[2 + d]]
        cut.append((before, out - before - whole.shape[2 + d], 0))
    whole = lax.pad(whole, jnp.zeros((), whole.dtype), cut)
    return whole.transpose(np.argsort(numbers.out_spec))


def _padded(
    x: Any, dims: Sequence[int], padding: Sequence[tuple[int, int]], dilation: Sequence[int]
) -> Any:
    """Add the padding and the zeros between elements; XLA does not move them back."""
    ends = [(0, 0, 0)] * x.ndim
    for dim, (low, high), step in zip(dims, padding, dilation, strict=True):
        ends[dim] = (low, high, step - 1)
    if not any(map(any, ends)):
        return x
    return lax.optimization_barrier(lax.pad(x, jnp.zeros((), x.dtype), ends))


def _products(x: Any, w: Any, eqn: Any) -> Any:
    """Return a convolution without padding as matrix products, or None if they are too large."""
    params = eqn.params
    numbers = params["dimension_numbers"]
    groups = max(params["feature_group_count"], params["batch_group_count"])
    x, w = x.transpose(numbers.lhs_spec), w.transpose(numbers.rhs_spec)
    batch, features, *sizes = x.shape
    kernel = w.shape[2:]
    strides, dilations = params["window_strides"], params["rhs_dilation"]
    output = [
        (size - dilation * (k - 1) - 1) // stride + 1
        for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True)
    ]
    if params["batch_group_count"] > 1:
        x = x.reshape(groups, -1, *x.shape[1:])
    else:
        x = jnp.moveaxis(x.reshape(batch, groups, features // groups, *sizes), 1, 0)
    w = w.reshape(groups, -1, *w.shape[1:])
    by_tap = math.prod(kernel) <= math.prod(output)
    few, many = (kernel, output) if by_tap else (output, kernel)
    if math.prod(few) > _MOST:
        return None
    steps, within = (dilations, strides) if by_tap else (strides, dilations)
    windows = [
        x[(..., *(slice(s * i, s * i + d * (n - 1) + 1, d)
                  for i, s, d, n in zip(at, steps, within, many, strict=True)))]
        for at in np.ndindex(*few)
    ]  # fmt: skip
    if by_tap:
        y = _of_taps(windows, w.reshape(*w.shape[:3], -1))
    else:
        y = _of_positions(windows, w, output)
    y = y.reshape(y.shape[0], -1, *output)
    return y.transpose(np.argsort(numbers.out_spec))


def _of_taps(windows: Sequence[Any], w: Any) -> Any:
    """Multiply the windows of the input, one for each kernel element, by the kernel.

    Args:
        windows: K arrays `(G, N, I, *P)`, for G groups and the output positions P.
        w: `(G, O, I, K)`.
    """
    count = max(1, _LARGEST // windows[0].size)
    y = 0.0
    for at in range(0, len(windows), count):
        patches, taps = jnp.stack(windows[at : at + count], 3), w[..., at : at + count]
        y = y + lax.dot_general(taps, patches, (((2, 3), (2, 3)), ((0,), (0,))))  # (G, O, N, *P)
    return jnp.moveaxis(y, 2, 0)


def _of_positions(windows: Sequence[Any], w: Any, output: Sequence[int]) -> Any:
    """Multiply the windows of the input, one for each output position, by the kernel.

    Args:
        windows: Arrays `(G, N, I, *K)`, for G groups and the kernel's sizes K.
        w: `(G, O, I, *K)`.
        output: The sizes of the output.
    """
    over = tuple(range(2, w.ndim))
    rows = [lax.dot_general(x, w, ((over, over), ((0,), (0,)))) for x in windows]  # (G, N, O)
    y = jnp.stack(rows, -1).reshape(*rows[0].shape, *output)
    return jnp.moveaxis(y, 1, 0)
