"""Sampling images at places: `grid_sample`, `affine_grid`, with torch's borders."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype


KEYS = -0.75  # the parameter of the cubic kernel


def grid_sample(
    input: Array,
    grid: Array,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Array:
    """The values of images or volumes at given places.

    Args:
        input: `(N, C, H, W)` or `(N, C, D, H, W)`.
        grid: `(N, ..., 2)` or `(N, ..., 3)`: x, y (, z), where -1 and 1 are the ends.
        mode: "bilinear", "nearest" (a half goes to the even element) or "bicubic".
        padding_mode: What is outside: "zeros", "border" or "reflection".
        align_corners: -1 and 1 are the centres of the corner elements, not their outer edges.

    Raises:
        ValueError: There is no such mode.
        RuntimeError: The shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[[[0.0, 1.0, 2.0]]]])
        >>> print(grid_sample(x, jnp.array([[[[0.5, 0.0]]]]), align_corners=True))
        [[[[1.5]]]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.grid_sample`.

    Differs from jax in:
        1. On and beyond the border the gradient by the grid is 0 with "border"
           (`map_coordinates(mode="nearest")`: on the border it is not).
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
    places = input.ndim - 2
    if places not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != places:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size and grid to have size "
            f"{places} in last dimension, but got input with sizes {list(input.shape)} and grid "
            f"with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and places == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(input.shape)}"
        )
    align = bool(align_corners)
    taps = {"nearest": _nearest, "bilinear": _linear, "bicubic": _cubic}[mode]

    def sampled(x: Array, g: Array) -> Array:
        every = []
        inside, weights = jnp.ones((), bool), jnp.ones((), x.dtype)
        for d, n in enumerate(x.shape[2:]):
            at = g[..., places - 1 - d]
            at = (at + 1) / 2 * (n - 1) if align else ((at + 1) * n - 1) / 2
            if mode != "bicubic":
                at = _padded(at, n, padding_mode, align)
            chosen = taps(at)
            if mode == "bicubic":
                chosen = [(_padded(i, n, padding_mode, align), w) for i, w in chosen]
            shape = [1] * d + [-1] + [1] * (places - 1 - d)  # the taps of each dim have an axis
            index, there, weight = (
                jnp.stack(part, -1).reshape(*at.shape, *shape)
                for part in zip(*(_bounded(i, n, w) for i, w in chosen), strict=True)
            )
            every.append(index)
            inside, weights = inside & there, weights * weight
        batch = np.arange(x.shape[0]).reshape(-1, *[1] * (2 * places))
        values = jnp.where(inside[..., None], x[(batch, slice(None), *every)], 0)
        total = (values * weights[..., None]).sum(range(places + 1, 2 * places + 1))
        return jnp.moveaxis(total, -1, 1)

    return in_opmath(sampled, input, grid)


def affine_grid(theta: Array, size: Sequence[int], align_corners: bool | None = None) -> Array:
    """The places that an affine map of the output's places has in the input, for `grid_sample`.

    Args:
        theta: `(N, 2, 3)` or `(N, 3, 4)`.
        size: `(N, C, H, W)` or `(N, C, D, H, W)`.
        align_corners: As in `grid_sample`.

    Returns:
        `(N, H, W, 2)` or `(N, D, H, W, 3)`.

    Raises:
        ValueError: theta has another shape, or is not of floats.
        NotImplementedError: The size has neither four nor five numbers.

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
    places = len(size) - 2
    if theta.shape[1:] != (places, places + 1):
        raise ValueError(
            f"Expected a batch of {places}D affine matrices of shape Nx{places}x{places + 1} for "
            f"size {list(size)}. Got {list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")

    def placed(t: Array) -> Array:
        lines = [
            jnp.asarray(_line(n, bool(align_corners)), t.dtype).reshape(-1, *[1] * (places - 1 - d))
            for d, n in enumerate(size[2:])
        ]
        axes = [jnp.broadcast_to(line, tuple(size[2:])) for line in lines[::-1]]
        base = jnp.stack([*axes, jnp.ones_like(axes[0])], -1)
        return jnp.einsum("...j,nij->n...i", base, t)

    return in_opmath(placed, theta)


def _line(n: int, align: bool) -> np.ndarray:
    """From -1 to 1 in the middle of n elements."""
    if n <= 1:
        return np.zeros(n)
    return np.linspace(-1, 1, n) * (1 if align else (n - 1) / n)


def _padded(at: Array, n: int, mode: str, align: bool) -> Array:
    if mode == "zeros":
        return at
    if mode == "reflection":
        at = _reflected(at, *((0, n - 1) if align else (-0.5, n - 0.5)))
    return _clipped(at, end=n - 1)


# On the border too there is no gradient.
@derivative(lambda t, _, at, end: t * jnp.where((at > 0) & (at < end), 1, 0))
def _clipped(at: Array, *, end: int) -> Array:
    return jnp.where(at > 0, jnp.minimum(at, end), 0)


def _reflected(at: Array, low: float, high: float) -> Array:
    span = high - low
    if not span:
        return jnp.zeros_like(at)
    far = jnp.where(at - low < 0, low - at, at - low)
    flips = jnp.floor(far / span)
    rest = far - flips * span
    return jnp.where(flips % 2 == 0, rest + low, span - rest + low)


Taps = list[tuple[Array, Array]]


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


# The kernel of Keys at a distance up to 1, and up to 2. Their derivatives are one factor each: an
# infinite value would meet itself with both signs in the parts.
@derivative(lambda t, _, x: t * ((3 * (KEYS + 2) * x - 2 * (KEYS + 3)) * x))
def _near(x: Array) -> Array:
    return ((KEYS + 2) * x - (KEYS + 3)) * x * x + 1


@derivative(lambda t, _, x: t * ((3 * KEYS * x - 10 * KEYS) * x + 8 * KEYS))
def _far(x: Array) -> Array:
    return ((KEYS * x - 5 * KEYS) * x + 8 * KEYS) * x - 4 * KEYS


def _bounded(index: Array, n: int, weight: Array) -> tuple[Array, Array, Array]:
    """The index as one that exists, whether it did, and its weight."""
    index = jax.lax.stop_gradient(index)
    inside = (index >= 0) & (index <= n - 1)
    return jnp.where(inside, index, 0).astype(jnp.int32), inside, weight
