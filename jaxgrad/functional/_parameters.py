"""Parameters of distributions as arrays of one floating dtype."""

from __future__ import annotations

from typing import Any

import jax

from ._arguments import floating, promoted


Array = jax.Array


def _floats(*args: Any) -> list[Array]:
    return [floating(x) for x in promoted(*args)]


def _one(name: str, first: Any, second: Any, names: str = "probs and logits") -> None:
    if (first is None) == (second is None):
        raise TypeError(f"{name} needs one of {names}, not both or neither")
