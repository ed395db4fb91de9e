"""Remember everything that running a module can change beside its weights, and put it back.

A forward pass may set attributes, fill caches and lists, count calls, register hooks, and draw
random numbers.
"""

from __future__ import annotations

import collections
import functools
import random
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


MOST = 100_000  # objects that are visited; a module may refer to a whole data set
CONTAINERS = (dict, list, set, collections.deque)  # and their subclasses
_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")  # of a tensor: a dict, or None
LEFT_ALONE = (type, types.ModuleType, types.FunctionType, types.MethodType, functools.partial)


class Snapshot:
    """The attributes of a module and of the objects in them, and the random number generators."""

    def __init__(self, module: nn.Module):
        self._containers: list[tuple[Any, Any]] = []  # a container, and a copy of it
        self._arrays: list[tuple[Any, Any]] = []  # an array, and a copy of its numbers
        self._generators: list[tuple[torch.Generator, Tensor]] = []
        self.tensors: list[Tensor] = []  # that are neither parameters nor buffers
        own = [*module.parameters(), *module.buffers()]
        self._own = {id(x) for x in own}
        self._visit(module)
        self._hooks = [
            (x, name, dict(getattr(x, name) or {}))
            for x in (*own, *self.tensors)
            if x.is_leaf
            for name in _HOOKS
        ]
        self._random = torch.get_rng_state(), random.getstate()
        self._numpy_random = np.random.get_state()  # noqa: NPY002  # a module may use it

    def _visit(self, root: Any) -> None:
        visited: set[int] = set()
        todo = collections.deque([root])
        while todo and len(visited) < MOST:
            x = todo.popleft()
            if id(x) in visited or id(x) in self._own or isinstance(x, LEFT_ALONE):
                continue
            visited.add(id(x))
            if isinstance(x, Tensor):
                self.tensors.append(x)
                self._arrays.append((x, x.detach().clone()))
            elif isinstance(x, np.ndarray):
                self._arrays.append((x, x.copy()))
            elif isinstance(x, torch.Generator):
                self._generators.append((x, x.get_state()))
            elif isinstance(x, tuple):
                todo += x
            else:
                if isinstance(x, CONTAINERS):
                    self._containers.append((x, _plain(x)))
                    todo += _members(x)
                attributes = attributes_of(x)
                if attributes is not None:
                    self._containers.append((attributes, dict(attributes)))
                    todo += attributes.values()

    def rewind(self) -> None:
        """Put back attributes, the contents of containers, hooks, and numbers in plain arrays."""
        for x, name, before in self._hooks:
            hooks = getattr(x, name)
            if hooks is not None and not _same(hooks, before):
                refill(hooks, before)
        for x, before in self._containers:
            if not _same(x, before):
                refill(x, before)
        for x, before in self._arrays:
            x_data = x.data if isinstance(x, Tensor) else x
            if isinstance(x, Tensor) and x_data.shape == before.shape:
                x_data.copy_(before)
            elif isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = before

    def restore(self) -> None:
        """Put back everything, including the states of the random number generators."""
        self.rewind()
        for generator, state in self._generators:
            generator.set_state(state)
        torch.set_rng_state(self._random[0])
        random.setstate(self._random[1])
        np.random.set_state(self._numpy_random)  # noqa: NPY002


def attributes_of(x: Any) -> dict[str, Any] | None:
    """Return the attributes of an object that Python code may have changed, or None."""
    package = type(x).__module__.partition(".")[0]
    if package in ("torch", "numpy", "jax", "jaxlib", "builtins") and not isinstance(x, nn.Module):
        return None
    attributes = getattr(x, "__dict__", None)
    return attributes if type(attributes) is dict else None


def _plain(x: Any) -> Any:
    """Return a container's members in a plain container of the same kind."""
    for kind in (dict, list, set):
        if isinstance(x, kind):
            return kind(x)
    return list(x)


def _members(x: Any) -> Iterator[Any]:
    yield from x.values() if isinstance(x, dict) else x


def _same(x: Any, before: Any) -> bool:
    """Whether a container has the same members, the very same objects, in the same order."""
    if len(x) != len(before):
        return False
    if isinstance(x, dict):
        pairs = zip(x.items(), before.items(), strict=True)
        return all(k is key and v is value for (k, v), (key, value) in pairs)
    if isinstance(x, set):
        return {id(y) for y in x} == {id(y) for y in before}
    return all(y is other for y, other in zip(x, before, strict=True))


def refill(x: Any, before: Any) -> None:
    """Replace the members of a container."""
    x.clear()
    x.update(before) if isinstance(x, dict | set) else x.extend(before)
