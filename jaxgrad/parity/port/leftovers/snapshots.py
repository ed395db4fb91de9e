"""Take a snapshot of a module's parameters, buffers and attributes, and compare two of them."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.values.equal import same


DEEPEST = 6
_OWN = frozenset(vars(nn.Module()))  # `_parameters`, `_modules`, hooks, ...
_CONTAINERS = list | set | frozenset | collections.deque
_LIBRARIES = ("torch", "numpy", "jax", "jaxlib", "builtins")


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference between two snapshots of a module.

    Attributes:
        path: The path of the value that differs, as in `blocks.0.attn.scale`.
        owner: The module or object that has the value as an attribute.
        kind: "tensor" for the values of a parameter or buffer, "flag" for its `requires_grad`,
            "mode" for `training`, "set" for an attribute that was assigned, "changed" for an object
            that was changed in place, "argument" for a tensor that was passed to the module.
    """

    path: str
    owner: Any
    kind: str

    @property
    def name(self) -> str:
        """The name of the attribute in its owner."""
        return self.path.rpartition(".")[2]


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """The values that a module and its submodules held at one time, keyed by path."""

    tensors: Mapping[str, torch.Tensor]
    flags: Mapping[str, bool]
    attributes: Mapping[str, tuple[Any, Any]]  # the object, and a copy of what it held
    owners: Mapping[str, Any]

    @classmethod
    def of(cls, module: nn.Module) -> Snapshot:
        """Take a snapshot of a module; a tensor with several names is listed under each of them."""
        tensors, flags, attributes, owners = {}, {}, {}, {}
        for prefix, child in module.named_modules(remove_duplicate=False):
            start = f"{prefix}." if prefix else ""
            for name, x in (*child._parameters.items(), *child._buffers.items()):
                if x is not None:
                    tensors[start + name] = x.detach().clone()
                    flags[start + name] = x.requires_grad
                owners[start + name] = child
            flags[f"{start}training"], owners[f"{start}training"] = child.training, child
            own = {name: x for name, x in vars(child).items() if name not in _OWN}
            for path, owner, x in _attributes(child, own, start, set()):
                attributes[path], owners[path] = (x, _frozen(x, 0)), owner
        return cls(tensors, flags, attributes, owners)

    def differences(self, after: Snapshot) -> Iterator[Difference]:
        """Yield the differences between this snapshot and a later one of the same module."""
        owners = {**self.owners, **after.owners}
        for path in dict.fromkeys([*self.tensors, *after.tensors]):
            old, new = self.tensors.get(path), after.tensors.get(path)
            if old is None or new is None or not same(old, new):
                yield Difference(path, owners[path], "tensor")
        for path, flag in self.flags.items():
            if after.flags.get(path, flag) != flag:
                kind = "mode" if path.rpartition(".")[2] == "training" else "flag"
                yield Difference(path, owners[path], kind)
        for path in dict.fromkeys([*self.attributes, *after.attributes]):
            old, new = self.attributes.get(path), after.attributes.get(path)
            if old is None or new is None:
                yield Difference(path, owners[path], "set")
            elif not _equal(old[1], new[1]):
                in_place = old[0] is new[0] and not isinstance(old[0], _SIMPLE)
                yield Difference(path, owners[path], "changed" if in_place else "set")


_SIMPLE = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))


def _attributes(
    owner: Any, own: Mapping[str, Any], start: str, known: set[int]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path, owner and value of each attribute, including those of held objects."""
    for name, x in own.items():
        yield start + name, owner, x
        for path, held in _objects(x, start + name, 0):
            if id(held) not in known:
                known.add(id(held))
                yield from _attributes(held, vars(held), f"{path}.", known)


def _objects(x: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the objects in a value that have attributes, with their paths."""
    if _is_object(x):
        yield path, x
    elif depth < DEEPEST and isinstance(x, Mapping):
        for key, value in x.items():
            yield from _objects(value, f"{path}.{key}", depth + 1)
    elif depth < DEEPEST and isinstance(x, list | tuple | collections.deque):
        for n, value in enumerate(x):
            yield from _objects(value, f"{path}.{n}", depth + 1)


def _is_object(x: Any) -> bool:
    """Return whether a value is an object of the user's program, not a module or a function."""
    if isinstance(x, nn.Module | type | Mapping | _CONTAINERS | tuple) or callable(x):
        return False
    is_own = type(x).__module__.partition(".")[0] not in _LIBRARIES
    return is_own and type(getattr(x, "__dict__", None)) is dict


@dataclasses.dataclass(frozen=True)
class _Held:
    """A container, and copies of what it held."""

    kind: type
    keys: tuple[Any, ...]
    values: tuple[Any, ...]


def _frozen(x: Any, depth: int) -> Any:
    """Return a copy of a value to compare with later; other objects are returned themselves."""
    if isinstance(x, torch.Tensor):
        return x, x.detach().clone()
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, nn.Module | type) or depth > DEEPEST:
        return x
    if isinstance(x, Mapping):
        return _held(x, tuple(x), x.values(), depth)
    if isinstance(x, tuple | list | collections.deque):
        return _held(x, (), x, depth)
    if isinstance(x, set | frozenset):
        return frozenset(x)
    return x


def _held(x: Any, keys: tuple[Any, ...], values: Any, depth: int) -> _Held:
    return _Held(type(x), keys, tuple(_frozen(v, depth + 1) for v in values))


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, tuple) and isinstance(new, tuple):  # a tensor that is set anew may be equal
        return old[0] is new[0] and same(old[1], new[1])
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return np.array_equal(old, new, equal_nan=old.dtype.kind in "fc")
    if isinstance(old, _Held) and isinstance(new, _Held):
        alike = old.kind is new.kind and len(old.values) == len(new.values)
        return alike and old.keys == new.keys and all(map(_equal, old.values, new.values))
    if old is new:
        return True
    try:
        return type(old) is type(new) and bool(old == new)
    except Exception:  # objects that cannot be compared
        return False
