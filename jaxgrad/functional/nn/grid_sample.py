"""Sampling images at given positions: `grid_sample` and `affine_grid`, with torch's borders."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype


KEYS = -0.75  # the parameter of Keys' cubic convolution kernel


def grid_sample(
    input: Array,
    grid: Array,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Array:
    """Sample images or volumes at the positions of a grid.

    Args:
        input: `(N, C, H, W)` or `(N, C, D, H, W)`.
        grid: `(N, ..., 2)` or `(N, ..., 3)`, positions (x, y) or (x, y, z) from -1 to 1.
        mode: "bilinear", "nearest" (halves round to the even element) or "bicubic".
        padding_mode: Values outside the input: "zeros", "border" or "reflection".
        align_corners: Whether -1 and 1 are the centers of the corner elements, not their edges.

    Raises:
        ValueError: A mode is not one of those above.
        RuntimeError: The shapes or dtypes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[[[0.0, 1.0, 2.0]]]])
        >>> print(grid_sample(x, jnp.array([[[[0.5, 0.0]]]]), align_corners=True))
        [[[[1.5]]]]

    Torch: `torch.nn.functional.grid_sample`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. With "border" the gradient with respect to the grid is 0 on and outside the border
           (`map_coordinates(mode="nearest")`: only outside).
    """
    reject("grid_sample", "bool integer complex", input, grid)
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    input, grid = array(input), array(grid, "grid")
    require_same_dtype("grid_sample", input=input, grid=grid)
    rank = input.ndim - 2
    if rank not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != rank:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size and grid to have size "
            f"{rank} in last dimension, but got input with sizes {list(input.shape)} and grid "
            f"with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and rank == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(input.shape)}"
        )
    align = bool(align_corners)
    taps = {"nearest": _nearest, "bilinear": _linear, "bicubic": _cubic}[mode]

    def sampled(x: Array, g: Array) -> Array:
        indices = []
        inside, weights = jnp.ones((), bool), jnp.ones((), x.dtype)
        for d, n in enumerate(x.shape[2:]):
            at = g[..., rank - 1 - d]
            at = (at + 1) / 2 * (n - 1) if align else ((at + 1) * n - 1) / 2
            if mode != "bicubic":
                at = _padded(at, n, padding_mode, align)
            pairs = taps(at)
            if mode == "bicubic":
                pairs = [(_padded(i, n, padding_mode, align), w) for i, w in pairs]
            shape = [1] * d + [-1] + [1] * (rank - 1 - d)  # each dim has its own axis of taps
            index, exists, weight = (
                jnp.stack(column, -1).reshape(*at.shape, *shape)
                for column in zip(*(_bounded(i, n, w) for i, w in pairs), strict=True)
            )
            indices.append(index)
            inside, weights = inside & exists, weights * weight
        batch = np.arange(x.shape[0]).reshape(-1, *[1] * (2 * rank))
        values = jnp.where(inside[..., None], x[(batch, slice(None), *indices)], 0)
        total = (values * weights[..., None]).sum(range(rank + 1, 2 * rank + 1))
        return jnp.moveaxis(total, -1, 1)

    return in_opmath(sampled, input, grid)


def affine_grid(theta: Array, size: Sequence[int], align_corners: bool | None = None) -> Array:
    """Apply affine maps to the output positions, giving a grid for `grid_sample`.

    Args:
        theta: `(N, 2, 3)` or `(N, 3, 4)`.
        size: Output size, `(N, C, H, W)` or `(N, C, D, H, W)`.
        align_corners: As in `grid_sample`.

    Returns:
        `(N, H, W, 2)` or `(N, D, H, W, 3)`.

    Raises:
        ValueError: `theta` has the wrong shape or is not floating, or a size is not positive.
        NotImplementedError: The size does not have four or five numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> theta = jnp.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> print(affine_grid(theta, (1, 1, 1, 2))[0, 0])
        [[-0.5  0. ]
         [ 0.5  0. ]]

    Torch: `torch.nn.functional.affine_grid`.
    """
    reject("affine_grid", "complex", theta)
    theta = array(theta, "theta")
    if not is_floating(theta):
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(size)}."
        )
    rank = len(size) - 2
    if theta.shape[1:] != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for "
            f"size {list(size)}. Got {list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")

    def transformed(t: Array) -> Array:
        lines = [
            jnp.asarray(_line(n, bool(align_corners)), t.dtype).reshape(-1, *[1] * (rank - 1 - d))
            for d, n in enumerate(size[2:])
        ]
        axes = [jnp.broadcast_to(line, tuple(size[2:])) for line in lines[::-1]]
        base = jnp.stack([*axes, jnp.ones_like(axes[0])], -1)
        return jnp.einsum("...j,nij->n...i", base, t)

    return in_opmath(transformed, theta)


def _line(n: int, align: bool) -> np.ndarray:
    """Return the coordinates, in [-1, 1], of n elements along a dim."""
    if n <= 1:
        return np.zeros(n)
    return np.linspace(-1, 1, n) * (1 if align else (n - 1) / n)


def _padded(at: Array, n: int, mode: str, align: bool) -> Array:
    if mode == "zeros":
        return at
    if mode == "reflection":
        at = _reflected(at, *((0, n - 1) if align else (-0.5, n - 0.5)))
    return _clipped(at, end=n - 1)


# The gradient is 0 even exactly on the border.
@derivative(lambda t, _, at, end: t * jnp.where((at > 0) & (at < end), 1, 0))
def _clipped(at: Array, *, end: int) -> Array:
    return jnp.where(at > 0, jnp.minimum(at, end), 0)


def _reflected(at: Array, low: float, high: float) -> Array:
    span = high - low
    if not span:
        return jnp.zeros_like(at)
    distance = jnp.where(at - low < 0, low - at, at - low)
    flips = jnp.floor(distance / span)
    rest = distance - flips * span
    return jnp.where(flips % 2 == 0, rest + low, span - rest + low)


Taps = list[tuple[Array, Array]]  # the indices that an interpolation reads, and their weights


def _nearest(at: Array) -> Taps:
    index = jnp.round(at)
    return [(index, jnp.ones_like(at))]


def _linear(at: Array) -> Taps:
    low = jnp.floor(at)
    return [(low, low + 1 - at), (low + 1, at - low)]


def _cubic(at: Array) -> Taps:
    low = jnp.floor(at)
    t = at - low
    weights = [_far(t + 1), _near(t), _near(1 - t), _far(2 - t)]
    return [(low + i - 1, w) for i, w in enumerate(weights)]


# Keys' kernel at distances up to 1 and from 1 to 2. Each derivative is a single factor, because a
# sum of terms would give inf - inf for an infinite cotangent.
@derivative(lambda t, _, x: t * ((3 * (KEYS + 2) * x - 2 * (KEYS + 3)) * x))
def _near(x: Array) -> Array:
    return ((KEYS + 2) * x - (KEYS + 3)) * x * x + 1


@derivative(lambda t, _, x: t * ((3 * KEYS * x - 10 * KEYS) * x + 8 * KEYS))
def _far(x: Array) -> Array:
    return ((KEYS * x - 5 * KEYS) * x + 8 * KEYS) * x - 4 * KEYS


def _bounded(index: Array, n: int, weight: Array) -> tuple[Array, Array, Array]:
    """Return the index (0 if out of range), a mask of indices in range, and the weight."""
    index = jax.lax.stop_gradient(index)
    inside = (index >= 0) & (index <= n - 1)
    return jnp.where(inside, index, 0).astype(jnp.int32), inside, weight
