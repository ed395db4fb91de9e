"""The modules of a torch module as the port has them: classes, layers, lists and ties."""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from jaxgrad.parity.port.nnx import layers
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values.parts import is_list


@dataclasses.dataclass(frozen=True)
class Modules:
    """The modules by their first paths.

    Attributes:
        root: The torch module.
        constants: The tensors that no state_dict has, by path.
        sequences: The paths of the modules that are `nnx.Sequential`.
        methods: The functions that are methods of each path.
    """

    root: nn.Module
    constants: Mapping[str, torch.Tensor]
    sequences: Mapping[str, Sequence[object]]
    methods: Mapping[str, Sequence[Written]]

    @functools.cached_property
    def by_path(self) -> dict[str, nn.Module]:
        """The modules by their first paths, without those that are parts of layers."""
        found: dict[str, nn.Module] = {}
        inside: set[nn.Module] = set()
        for path, module in self.root.named_modules():
            if module not in inside:
                found[path] = module
            if path and layers.is_layer(module):
                inside |= set(module.modules())
        return found

    @functools.cached_property
    def first(self) -> dict[int, str]:
        return {id(module): path for path, module in self.by_path.items()}

    @functools.cached_property
    def _kinds(self) -> dict[str, str]:
        return {}

    def kind(self, path: str) -> str:
        """Return whether a module is a "layer", "list", "dict", "class" or "nothing" here."""
        if path not in self._kinds:
            self._kinds[path] = self._kind(path)
        return self._kinds[path]

    def _kind(self, path: str) -> str:
        module = self.by_path[path]
        if path and layers.is_layer(module):
            return "layer"
        if not self._has_content(path):
            return "nothing"
        if self.methods.get(path):
            return "class"
        if is_list(module):
            return "list"
        if type(module) in (nn.ModuleDict, nn.ParameterDict):
            return "dict"
        return "class"

    def is_class(self, path: str) -> bool:
        """Return whether a module, which may be reached by another path too, is of a class."""
        module = self.root.get_submodule(path)
        if id(module) not in self.first:  # a part of a layer
            return not is_list(module)
        return self.kind(self.first[id(module)]) == "class"

    def _has_content(self, path: str) -> bool:
        module = self.by_path[path]
        if self.methods.get(path) or not path or self.tensors(path):
            return True
        inner = [self.first[id(m)] for m in module._modules.values() if m is not None]
        return any(self.kind(p) != "nothing" for p in inner)

    def children(self, path: str) -> dict[str, str]:
        """Return the first path of each child by its name."""
        if self.kind(path) == "layer":
            return {}
        modules = self.by_path[path]._modules
        return {name: self.first[id(m)] for name, m in modules.items() if m is not None}

    def height(self, path: str) -> int:
        """Return the length of the longest chain of modules below one."""
        return 1 + max((self.height(p) for p in self.children(path).values()), default=0)

    def level(self, path: str) -> int:
        """Return a number that is larger than that of each module below one.

        Where that is possible, it is the same for all modules of a class.
        """
        return self._levels[path]

    @functools.cached_property
    def _levels(self) -> dict[str, int]:
        heights = {path: self.height(path) for path in self.by_path}
        alike: dict[type, list[str]] = defaultdict(list)
        for path, module in self.by_path.items():
            if path and self.kind(path) == "class" and not is_torch(type(module)):
                alike[type(module)].append(path)
        levels = dict(heights)
        for _ in range(len(alike) + 1):
            before = dict(levels)
            for paths in alike.values():
                levels |= dict.fromkeys(paths, max(levels[p] for p in paths))
            for path in sorted(levels, key=lambda path: heights[path]):
                below = (levels[p] + 1 for p in self.children(path).values())
                levels[path] = max(levels[path], *below, 0)
            if levels == before:
                return levels
        return heights  # a class has modules of its own class below it

    def tensors(self, path: str) -> dict[str, torch.Tensor]:
        """Return the tensors of a module itself: parameters, buffers, then other attributes."""
        module, prefix = self.by_path[path], f"{path}." if path else ""
        own = {**module._parameters, **module._buffers}
        found = {name: x for name, x in own.items() if x is not None}
        for name, x in self.constants.items():
            if name.rpartition(".")[0] == path and name.removeprefix(prefix) not in found:
                found[name.removeprefix(prefix)] = x
        return found

    def persists(self, path: str, name: str) -> bool:
        """Return whether a tensor of a module is in its state_dict."""
        module = self.by_path[path]
        is_buffer = name in module._buffers and name not in module._non_persistent_buffers_set
        return name in module._parameters or is_buffer

    @functools.cached_property
    def ties(self) -> dict[str, dict[str, str]]:
        """Return the parts that are the same object as an earlier one, by the module around both.

        A tie is the path of the later part -> that of the earlier one, both below the module.
        """
        found: dict[str, dict[str, str]] = defaultdict(dict)
        earlier: dict[int, str] = {}
        for path in self.by_path:
            prefix = f"{path}." if path else ""
            for name, tensor in self.tensors(path).items():
                start = earlier.setdefault(id(tensor), prefix + name)
                if start != prefix + name:
                    _tie(found, prefix + name, start)
            for name, child in self.children(path).items():
                if child != prefix + name and self.kind(child) != "nothing":
                    _tie(found, prefix + name, child)
        return found


def _tie(found: dict[str, dict[str, str]], later: str, earlier: str) -> None:
    left, right = later.split("."), earlier.split(".")
    shared = 0
    while left[shared] == right[shared]:
        shared += 1
    around = ".".join(left[:shared])
    found[around][".".join(left[shared:])] = ".".join(right[shared:])
