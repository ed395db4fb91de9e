"""Sizes of convolutions and pools: one number or one for each spatial dim, and torch's errors."""

from __future__ import annotations

from collections.abc import Sequence

import jax


Sizes = int | Sequence[int]


def sizes(given: Sizes, places: int, name: str) -> tuple[int, ...]:
    """One number for each spatial dim.

    Raises:
        RuntimeError: There are neither one nor `places` of them.
    """
    if isinstance(given, int):
        return (given,) * places
    found = tuple(given)
    if len(found) == 1:
        return found * places
    if len(found) != places:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {places} values to match "
            f"the dimensions, but got {name}={list(found)}"
        )
    return found


def at_least(least: int, name: str, fun: str, found: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes, if none of them is smaller.

    Raises:
        RuntimeError: One is.
    """
    if min(found) < least:
        bound = "must be greater than zero" if least == 1 else "must not be negative"
        raise RuntimeError(f"{fun}() {name} {bound}, but got {list(found)}")
    return found


def batched(input: jax.Array, places: int, fun: str) -> tuple[jax.Array, bool]:
    """`(N, C, ...)`, and whether the batch was there.

    Raises:
        RuntimeError: There are more or less dims than `(N, C, ...)` or `(C, ...)` has.
    """
    if input.ndim not in (places + 1, places + 2):
        raise RuntimeError(
            f"{fun}: Expected {places + 1}D or {places + 2}D (batch mode) tensor for input, but "
            f"got: {list(input.shape)}"
        )
    return (input, True) if input.ndim == places + 2 else (input[None], False)
