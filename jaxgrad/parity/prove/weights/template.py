"""A tree of params as leaves by path, and the way back: plain trees and flax nnx modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad._core import paths
from jaxgrad.parity.prove.record import adapters


class Template:
    """The params of a port: their floating leaves by path, and a function that replaces them."""

    def __init__(self, params: Any):
        self.params = params
        self.tree = adapters.as_function(lambda tree: tree, params).params
        self.leaves: dict[str, Any] = {
            path: x
            for path, x in paths.named(self.tree)
            if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact)
        }

    def filled(self, leaves: Mapping[str, np.ndarray]) -> Any:
        """Return params of the same type with these leaves, in the dtype of the old ones."""

        def leaf(path: str, x: Any) -> Any:
            new = leaves.get(path)
            return x if new is None else jnp.asarray(new.astype(x.dtype))

        return adapters.like(self.params, paths.map_named(leaf, self.tree))
