"""The params tree of a port: torch's names as nested dicts, numbered children as lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad.parity.port.values.parts import is_numbered


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where the tensors of a module are in the params tree of its port."""

    module: nn.Module
    used: frozenset[str]  # the paths of the tensors that the port reads
    constants: Mapping[str, torch.Tensor]  # those that no state_dict has

    def ties(self) -> dict[str, str]:
        """Return each path of a tensor that has an earlier path too: alias -> first."""
        first: dict[int, str] = {}
        found: dict[str, str] = {}
        for path, tensor in _tensors(self.module):
            if path not in self.used:
                continue
            if id(tensor) in first:
                found[path] = first[id(tensor)]
            else:
                first[id(tensor)] = path
        return found

    def tree(self, leaves: Mapping[str, Any]) -> Any:
        """Return the params tree with these leaves; every module has a place in it."""
        return _node(self.module, "", leaves, self.used)

    def paths(self) -> list[str]:
        """Return the paths of the leaves of the tree."""
        ties = self.ties()
        own = [path for path, _ in _tensors(self.module) if path in self.used and path not in ties]
        return own + [path for path in self.constants if path not in own]

    def names(self) -> dict[int, str]:
        """Return the path of the leaf of each parameter in the tree, by the parameter's `id`."""
        own = set(self.paths())
        named = self.module.named_parameters(remove_duplicate=False)
        return {id(p): path for path, p in named if path in own}

    def buffers(self) -> list[str]:
        """Return the paths of the leaves that are not parameters."""
        parameters = {n for n, _ in self.module.named_parameters(remove_duplicate=False)}
        return [path for path in self.paths() if path not in parameters]

    def complex_parameters(self) -> list[str]:
        """Return the paths of the complex parameters, whose gradients JAX conjugates."""
        named = self.module.named_parameters(remove_duplicate=False)
        own = {n for n, p in named if p.is_complex() and p.requires_grad}
        return [path for path in self.paths() if path in own]

    def params(self, state_dict: Mapping[str, torch.Tensor], *, wide: bool = False) -> Any:
        """Return the params tree of a state_dict.

        Args:
            state_dict: The tensors of the module by name.
            wide: Whether the constants are in float64 also if no tensor of the state_dict is.
        """
        wide = wide or _is_wide(state_dict)
        held = dict(_tensors(self.module)) | dict(self.constants)
        leaves = {}
        for path in self.paths():
            value = copy_to_numpy(state_dict.get(path, held[path]))
            is_constant = path in self.constants and path not in state_dict
            leaves[path] = _widened(value) if is_constant and wide else value
        return self.tree(leaves)

    def check(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Raise as torch's `load_state_dict` does, if a state_dict is that of another module.

        Keys that the port does not use may be missing.

        Raises:
            RuntimeError: Keys are missing or unexpected, or a shape differs.
        """
        module = self.module
        stored, held = module.state_dict(), dict(_tensors(module)) | dict(self.constants)
        missing = [x for x in self.paths() if x in stored and x not in state_dict]
        unexpected = [x for x in state_dict if x not in stored and x not in held]
        problems = [
            f"{what} key(s) in state_dict: {', '.join(map(repr, keys))}."
            for what, keys in (("Missing", missing), ("Unexpected", unexpected))
            if keys
        ]
        problems += [
            f"size mismatch for {x}: the state_dict has {list(np.shape(state_dict[x]))}, the "
            f"module has {list(np.shape(held[x]))}."
            for x in self.paths()
            if x in state_dict and np.shape(state_dict[x]) != np.shape(held[x])
        ]
        if problems:
            kind = type(module).__name__
            raise RuntimeError(f"Error(s) in loading state_dict for {kind}: {' '.join(problems)}")

    def trainable(self) -> Any:
        """Return the tree of bools: which leaves torch's optimizer would train."""
        flags = {
            path: p.requires_grad
            for path, p in self.module.named_parameters(remove_duplicate=False)
        }
        return self.tree({path: flags.get(path, False) for path in self.paths()})


def _is_wide(state_dict: Mapping[str, torch.Tensor]) -> bool:
    return any(np.asarray(x).dtype == np.float64 for x in map(copy_to_numpy, state_dict.values()))


def _widened(x: np.ndarray) -> np.ndarray:
    """Return a constant in float64 or complex128, in which the weights are."""
    if x.dtype.kind not in "fc":
        return x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _tensors(module: nn.Module) -> list[tuple[str, torch.Tensor]]:
    return [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]


def _node(module: nn.Module, path: str, leaves: Mapping[str, Any], used: frozenset[str]) -> Any:
    """Return the tree of a module; lists that the port goes over are kept without leaves too."""
    prefix = f"{path}." if path else ""
    own = {
        name: leaves[prefix + name]
        for name in [*module._parameters, *module._buffers, *_extra(prefix, leaves)]
        if prefix + name in leaves
    }
    children = {
        name: {} if m is None else _node(m, prefix + name, leaves, used)
        for name, m in module._modules.items()
    }
    if is_numbered(module):
        return list(children.values())
    filled = {
        name: child for name, child in children.items() if _has_leaf(child) or prefix + name in used
    }
    return own | filled


def _extra(prefix: str, leaves: Mapping[str, Any]) -> list[str]:
    return [
        p.removeprefix(prefix)
        for p in leaves
        if p.startswith(prefix) and "." not in p.removeprefix(prefix)
    ]


def _has_leaf(tree: Any) -> bool:
    if isinstance(tree, dict):
        return any(map(_has_leaf, tree.values()))
    if isinstance(tree, list):
        return any(map(_has_leaf, tree))
    return isinstance(tree, np.ndarray | bool | np.generic) or tree is not None
