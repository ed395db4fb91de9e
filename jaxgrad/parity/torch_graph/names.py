"""Find the names of the modules and leaf tensors in a torch program."""

from __future__ import annotations

import collections
import inspect
import sys
from collections.abc import Collection, Iterator
from typing import Any

from torch import Tensor, nn


class Names:
    """The program's modules and leaf tensors by `id`, kept alive so that no id is reused."""

    def __init__(self, program: Any, args: Any, kwargs: Any):
        """Collect the arguments' names, and the modules in the arguments and the closure."""
        self.leaves: dict[str, Tensor] = {}
        self._modules: dict[int, nn.Module] = {}
        self._arguments: dict[str, str] = {}
        try:
            named: dict[str, Any] = dict(inspect.signature(program).bind(*args, **kwargs).arguments)
        except (TypeError, ValueError):
            named = {f"arg{i}": value for i, value in enumerate(args)} | kwargs
        for argument, tree in named.items():
            for path, value in flat(tree):
                if isinstance(value, Tensor):
                    self._arguments[str(id(value))] = path or argument
        cells = [cell.cell_contents for cell in getattr(program, "__closure__", None) or ()]
        for _, value in flat([named, cells, program]):
            if isinstance(value, nn.Module):
                self.module(value)

    def module(self, module: nn.Module) -> None:
        self._modules[id(module)] = module

    def leaf(self, x: Tensor) -> str:
        """Register a leaf and return its key, which `find` replaces by a name."""
        self.leaves[str(id(x))] = x
        return str(id(x))

    def find(
        self, read: Collection[str], running: Collection[int]
    ) -> tuple[dict[str, str], dict[int, tuple[str, ...]]]:
        """Return the names of the used leaves `read` and the paths of the used modules."""
        roots = self._roots(set(read), set(running))
        names: dict[str, str] = {}
        paths: dict[int, tuple[str, ...]] = {}
        count: collections.Counter[str] = collections.Counter()
        for root in roots:
            prefix = ()
            if len(roots) > 1:
                name = _variable(root) or type(root).__name__.lower()
                count[name] += 1
                prefix = (name if count[name] == 1 else f"{name} ({count[name]})",)
            for path, module in root.named_modules():
                paths[id(module)] = (*prefix, *filter(None, path.split(".")))
            for path, parameter in root.named_parameters():
                names.setdefault(self.leaf(parameter), ".".join((*prefix, path)))
        for key in sorted(set(read) - set(names), key=list(self.leaves).index):
            names[key] = (
                self._arguments.get(key) or _variable(self.leaves[key]) or f"leaf{len(names)}"
            )
        return names, paths

    def _roots(self, read: set[str], running: set[int]) -> list[nn.Module]:
        """Return the used modules that are not submodules of another module."""
        known = self._modules.values()
        inner = {id(part) for module in known for part in module.modules() if part is not module}
        return [
            module
            for module in known
            if id(module) not in inner
            and (
                any(str(id(p)) in read for p in module.parameters())
                or any(id(part) in running for part in module.modules())
            )
        ]


def flat(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested dicts, lists and tuples with their paths."""
    if isinstance(tree, dict):
        items = [(str(key), value) for key, value in tree.items()]
    elif isinstance(tree, list | tuple):
        items = [(str(i), value) for i, value in enumerate(tree)]
    else:
        yield path, tree
        return
    for key, value in items:
        yield from flat(value, f"{path}.{key}" if path else key)


def tensors(tree: Any) -> list[Tensor]:
    return [value for _, value in flat(tree) if isinstance(value, Tensor)]


def _variable(value: Any) -> str:
    """Return the name of a variable or attribute of the running program with this value."""
    held = list(_locals())
    inside = (pair for _, holder in held for pair in _parts(holder))
    for name, other in (*held, *inside):
        if other is value and name != "self":
            return name
    return ""


def _locals() -> Iterator[tuple[str, Any]]:
    """Yield the running program's local variables, innermost function first."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] not in ("torch", "jaxgrad"):
            yield from list(frame.f_locals.items())
        frame = frame.f_back


def _parts(holder: Any) -> list[tuple[str, Any]]:
    """Return a dict's items or an object's attributes, but nothing for a module."""
    if isinstance(holder, dict):
        return [(key, value) for key, value in list(holder.items()) if isinstance(key, str)]
    if isinstance(holder, nn.Module | type) or inspect.ismodule(holder):
        return []
    return list(getattr(holder, "__dict__", {}).items())
