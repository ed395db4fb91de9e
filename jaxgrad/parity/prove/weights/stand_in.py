"""Values that a converter can use like torch tensors or numpy arrays, but that JAX traces."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np


_COPIES = frozenset({"numpy", "detach", "cpu", "clone", "contiguous", "to", "float", "double"})
_SAME = {"permute": "transpose", "view": "reshape"}  # torch's method -> JAX's


class StandIn(np.lib.mixins.NDArrayOperatorsMixin):
    """A JAX value with the methods of a torch tensor that converters use.

    numpy functions of it compute with the JAX function of the same name.
    """

    def __init__(self, value: Any):
        self.value = value

    def __jax_array__(self) -> Any:
        return self.value

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a traced value has no numbers, so it cannot become a numpy array")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        """Compute with JAX's ufunc of the same name."""
        fun = getattr(jnp, ufunc.__name__)
        return _call(fun if method == "__call__" else getattr(fun, method), args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Compute with JAX's function of the same name."""
        del types
        module: Any = jnp
        for part in func.__module__.split(".")[1:]:
            module = getattr(module, part, module)
        return _call(getattr(module, func.__name__), args, kwargs)

    def __getitem__(self, index: Any) -> StandIn:
        return StandIn(self.value[index])

    def __len__(self) -> int:
        return len(self.value)

    def t(self) -> StandIn:
        """Transpose, as torch's `t`."""
        return StandIn(self.value.T)

    def transpose(self, *axes: Any) -> StandIn:
        """Permute the axes, or swap two axes of several as in torch."""
        if len(axes) == 2 and self.value.ndim != 2:
            return StandIn(jnp.swapaxes(self.value, *axes))
        return StandIn(self.value.transpose(*axes))

    def unsqueeze(self, dim: int) -> StandIn:
        """Insert an axis of length 1."""
        return StandIn(jnp.expand_dims(self.value, dim))

    def chunk(self, chunks: int, dim: int = 0) -> list[StandIn]:
        """Split an axis into equal parts."""
        return [StandIn(x) for x in jnp.split(self.value, chunks, dim)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _COPIES:
            return lambda *_, **__: self
        member = getattr(self.value, _SAME.get(name, name))
        if not callable(member):
            return StandIn(member) if isinstance(member, jax.Array) else member

        def method(*args: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
            kwargs |= {} if dim is None else {"axis": dim}
            return _call(member, args, kwargs | ({"keepdims": True} if keepdim else {}))

        return method


@contextlib.contextmanager
def kept_by_numpy() -> Iterator[None]:
    """Let `np.asarray` and `np.array` return stand-ins unchanged."""

    def keeping(convert: Any) -> Any:
        return lambda x, *args, **kwargs: (
            x if isinstance(x, StandIn) else convert(x, *args, **kwargs)
        )

    names = ("asarray", "array", "ascontiguousarray", "asanyarray")
    with mock.patch.multiple(np, **{name: keeping(getattr(np, name)) for name in names}):
        yield


def unwrapped(tree: Any) -> Any:
    """Replace the stand-ins in a tree by their values."""
    return jax.tree.map(
        lambda x: x.value if isinstance(x, StandIn) else x,
        tree,
        is_leaf=lambda x: isinstance(x, StandIn),
    )


def _call(fun: Any, args: Any, kwargs: Any) -> Any:
    result = fun(*unwrapped(args), **unwrapped(kwargs))
    return jax.tree.map(StandIn, result)
