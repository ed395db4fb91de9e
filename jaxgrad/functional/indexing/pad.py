"""Padding, with torch's order of dims and its padding modes."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import reject


def pad(
    input: Array, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Array:
    """Pad the ends of the last dims; negative amounts crop.

    Args:
        input: Any shape; for modes other than "constant" `(N, C, ...)` or `(C, ...)`.
        pad: Amounts before and after the last dim, then for the dim before it, and so on.
        mode: "constant", "reflect", "replicate" or "circular".
        value: The constant; None means 0.

    Raises:
        RuntimeError: There are too many amounts, an amount is too large for the mode, or `value` is
            passed with a mode other than "constant".
        NotImplementedError: The mode does not exist for this number of dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pad(jnp.array([[[1.0, 2.0, 3.0]]]), (2, 1), "reflect")[0, 0])
        [3. 2. 1. 2. 3. 2.]

    Torch: `torch.nn.functional.pad`.
    """
    x = array(input)
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, it is {len(pad)}")
    if len(pad) // 2 > x.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {x.ndim}"
        )
    ends = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    first = x.ndim - len(ends)
    if mode == "constant":
        for (low, high), n in zip(ends, x.shape[first:], strict=True):
            if n + low + high < 0:
                raise RuntimeError(
                    f"The input size {n}, plus negative padding {low} and {high} resulted in a "
                    "negative output size"
                )
        fill = jnp.asarray(0 if value is None else value, x.dtype)
        return jax.lax.pad(x, fill, [(0, 0, 0)] * first + [(low, high, 0) for low, high in ends])
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode != "circular":
        reject(f"pad of mode '{mode}'", "bool", x)
    if x.ndim - len(ends) not in (1, 2) or not 1 <= len(ends) <= 3:
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now; "
            f"got {mode} padding of {len(ends)} dims of a {x.ndim}D input"
        )
    for axis, (low, high) in enumerate(ends, start=first):
        n = x.shape[axis]
        if n + low + high < (1 if mode != "circular" else 0):
            raise RuntimeError(
                f"input is too small: dimension {axis} of size {n} with the padding ({low}, {high})"
                f" would have the size {n + low + high}"
            )
        at = np.arange(-low, n + high)
        if mode == "reflect":
            if max(low, high) >= n:
                raise RuntimeError(
                    "Argument #4: Padding size should be less than the corresponding input "
                    f"dimension, but got: padding ({low}, {high}) at dimension {axis} of input "
                    f"{list(x.shape)}"
                )
            at = n - 1 - np.abs(n - 1 - np.abs(at))
        elif mode == "replicate":
            at = np.clip(at, 0, n - 1)
        else:
            # Negative amounts crop first; the others repeat what is left.
            start, left = max(-low, 0), n + min(low, 0) + min(high, 0)
            if max(low, high) > max(left, 0):
                raise RuntimeError(
                    "Padding value causes wrapping around more than once: "
                    f"({low}, {high}) of {max(left, 0)}"
                )
            at = start + (at - start) % max(left, 1)
        x = jnp.take(x, at % max(n, 1), axis)
    return x
