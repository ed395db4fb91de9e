"""What a torch program calls its modules and leaves."""

from __future__ import annotations

import collections
import inspect
import sys
from collections.abc import Collection, Iterator
from typing import Any

from torch import Tensor, nn


class Names:
    """The modules and leaves that were met, by `id`; they are held, so that an id stays theirs."""

    def __init__(self, program: Any, args: Any, kwargs: Any):
        """Learn the names of the arguments, and the modules among them and in the closure."""
        self.leaves: dict[str, Tensor] = {}
        self._modules: dict[int, nn.Module] = {}
        self._given: dict[str, str] = {}
        try:
            named: dict[str, Any] = dict(inspect.signature(program).bind(*args, **kwargs).arguments)
        except (TypeError, ValueError):
            named = {f"arg{i}": value for i, value in enumerate(args)} | kwargs
        for argument, tree in named.items():
            for path, value in flat(tree):
                if isinstance(value, Tensor):
                    self._given[str(id(value))] = path or argument
        cells = [cell.cell_contents for cell in getattr(program, "__closure__", None) or ()]
        for _, value in flat([named, cells, program]):
            if isinstance(value, nn.Module):
                self.module(value)

    def module(self, module: nn.Module) -> None:
        self._modules[id(module)] = module

    def leaf(self, x: Tensor) -> str:
        """Remember a leaf; what stands for it until it has a name."""
        self.leaves[str(id(x))] = x
        return str(id(x))

    def find(
        self, read: Collection[str], running: Collection[int]
    ) -> tuple[dict[str, str], dict[int, tuple[str, ...]]]:
        """The names of leaves and the paths of modules.

        Args:
          read: The leaves that are used.
          running: The modules, by id, that are.
        """
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
            names[key] = self._given.get(key) or _variable(self.leaves[key]) or f"leaf{len(names)}"
        return names, paths

    def _roots(self, read: set[str], running: set[int]) -> list[nn.Module]:
        """The modules that are part of no other, of those that are used."""
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
    """The leaves of dicts, lists and tuples, with their paths."""
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
    """What the running program calls it, in whatever function: a variable, or part of one."""
    held = list(_locals())
    inside = (pair for _, holder in held for pair in _parts(holder))
    for name, other in (*held, *inside):
        if other is value and name != "self":
            return name
    return ""


def _locals() -> Iterator[tuple[str, Any]]:
    """The variables of the running program, the innermost function's first."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] not in ("torch", "jaxgrad"):
            yield from list(frame.f_locals.items())
        frame = frame.f_back


def _parts(holder: Any) -> list[tuple[str, Any]]:
    """What an object or a dict of the program holds, by name; a module's parts have their paths."""
    if isinstance(holder, dict):
        return [(key, value) for key, value in list(holder.items()) if isinstance(key, str)]
    if isinstance(holder, nn.Module | type) or inspect.ismodule(holder):
        return []
    return list(getattr(holder, "__dict__", {}).items())
