"""Fractional max pooling: windows at random positions, which are passed or drawn with a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, require_floating
from jaxgrad.functional._core.windows import Sizes, batched, sizes
from jaxgrad.functional.pooling.max import MaxPool, take_maxima


@overload
def fractional_max_pool2d(
    input: Array,
    kernel_size: Sizes,
    output_size: Sizes | None = ...,
    output_ratio: Sequence[float] | None = ...,
    return_indices: Literal[False] = ...,
    _random_samples: Array | None = ...,
    *,
    key: Array | None = ...,
) -> Array: ...
@overload
def fractional_max_pool2d(
    input: Array,
    kernel_size: Sizes,
    output_size: Sizes | None = ...,
    output_ratio: Sequence[float] | None = ...,
    *,
    return_indices: Literal[True],
    _random_samples: Array | None = ...,
    key: Array | None = ...,
) -> MaxPool: ...


def fractional_max_pool2d(
    input: Array,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Array | None = None,
    *,
    key: Array | None = None,
) -> Array | MaxPool:
    """Maximum over 2D windows at random positions.

    Args:
        input: Image, `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: Size of the window.
        output_size: Number of windows in each dim.
        output_ratio: Output size relative to the input size, if `output_size` is None.
        return_indices: Whether to also return the flat index of each maximum.
        _random_samples: Offsets of the windows in W and H, `(N, C, 2)` in [0, 1).
        key: Key of `jax.random` that draws the offsets, if they are not passed.

    Raises:
        ValueError: Neither a size nor a ratio is passed, or neither samples nor a key.
        RuntimeError: The windows do not fit into the input.

    Example:
        >>> import jax.numpy as jnp
        >>> half = jnp.full((1, 1, 2), 0.5)
        >>> x = jnp.arange(16.0).reshape(1, 1, 4, 4)
        >>> print(fractional_max_pool2d(x, 2, 2, _random_samples=half)[0, 0])
        [[ 5.  7.]
         [13. 15.]]

    Torch: `torch.nn.functional.fractional_max_pool2d`.
    """
    return _fractional_max_pool(2, input, kernel_size, output_size, output_ratio, return_indices,
                 _random_samples, key)  # fmt: skip


@overload
def fractional_max_pool3d(
    input: Array,
    kernel_size: Sizes,
    output_size: Sizes | None = ...,
    output_ratio: Sequence[float] | None = ...,
    return_indices: Literal[False] = ...,
    _random_samples: Array | None = ...,
    *,
    key: Array | None = ...,
) -> Array: ...
@overload
def fractional_max_pool3d(
    input: Array,
    kernel_size: Sizes,
    output_size: Sizes | None = ...,
    output_ratio: Sequence[float] | None = ...,
    *,
    return_indices: Literal[True],
    _random_samples: Array | None = ...,
    key: Array | None = ...,
) -> MaxPool: ...


def fractional_max_pool3d(
    input: Array,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Array | None = None,
    *,
    key: Array | None = None,
) -> Array | MaxPool:
    """Maximum over 3D windows at random positions in `(N, C, D, H, W)` or `(C, D, H, W)`.

    `_random_samples` are the offsets of the windows in D, H and W, `(N, C, 3)` in [0, 1); the other
    arguments and the errors are those of `fractional_max_pool2d`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.arange(27.0).reshape(1, 1, 3, 3, 3)
        >>> print(fractional_max_pool3d(x, 2, 1, key=jax.random.key(0)).ravel())
        [26.]

    Torch: `torch.nn.functional.fractional_max_pool3d`.
    """
    return _fractional_max_pool(3, input, kernel_size, output_size, output_ratio, return_indices,
                 _random_samples, key)  # fmt: skip


def _fractional_max_pool(
    places: int,
    input: Array,
    kernel_size: Sizes,
    output_size: Sizes | None,
    output_ratio: Sequence[float] | None,
    return_indices: bool,
    samples: Array | None,
    key: Array | None,
) -> Array | MaxPool:
    name = f"fractional_max_pool{places}d"
    x, had_batch = batched(require_floating(input, name), places, name)
    kernel = sizes(kernel_size, places, "kernel_size")
    spatial = x.shape[2:]
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        output_size = [int(n * r) for n, r in zip(spatial, output_ratio, strict=True)]
    outs = sizes(output_size, places, "output_size")
    for n, k, out in zip(spatial, kernel, outs, strict=True):
        if out + k - 1 > n - (places == 3):  # in 3D torch allows one element fewer
            raise RuntimeError(
                f"{name}(): pool size {k} too large relative to input size {n} for {out} windows"
            )
    if samples is None:
        if key is None:
            raise ValueError(f"{name} draws its windows at random; pass key=jax.random.key(...)")
        samples = jax.random.uniform(key, (*x.shape[:2], places), x.dtype)
    samples = array(samples, "_random_samples")
    if samples.shape != (*x.shape[:2], places):
        raise RuntimeError(
            f"{name}: expected _random_samples of shape {[*x.shape[:2], places]}, but got "
            f"{list(samples.shape)}"
        )
    order = (1, 0) if places == 2 else (0, 1, 2)  # in 2D torch orders the samples (W, H)
    at = jnp.zeros((*x.shape[:2], *(1,) * 2 * places), int)
    for i, (n, k, out) in enumerate(zip(spatial, kernel, outs, strict=True)):
        member = _window_starts(samples[..., order[i]], n, k, out)[..., None] + np.arange(k)
        shape = [1] * 2 * places
        shape[i], shape[places + i] = out, k
        at = at * n + member.reshape(*x.shape[:2], *shape)
    at = at.reshape(*x.shape[:2], *outs, -1)
    flat = jax.lax.stop_gradient(x).reshape(*x.shape[:2], -1)
    values = jnp.take_along_axis(flat, at.reshape(*x.shape[:2], -1), 2).reshape(at.shape)
    nan = jnp.isnan(values)
    last = at.shape[-1] - 1 - jnp.argmax(nan[..., ::-1], -1)
    best = jnp.where(nan.any(-1), last, jnp.argmax(values, -1))
    index = jnp.take_along_axis(at, best[..., None], -1)[..., 0]
    return take_maxima(x, index, had_batch, return_indices)


def _window_starts(sample: Array, n: int, k: int, out: int) -> Array:
    """Return the start of every window; the last window ends where the input ends."""
    alpha = (n - k) / (out - 1) if out > 1 else 0.0
    u = jax.lax.stop_gradient(sample)[..., None]
    alpha = jnp.asarray(alpha, u.dtype)
    starts = jnp.trunc((np.arange(out) + u) * alpha) - jnp.trunc(u * alpha)
    return jnp.where(np.arange(out) == out - 1, n - k, starts.astype(int))
