"""Sequences and dicts of modules, with torch's keys in the state dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flax import nnx

from jaxgrad.nnx.module import Layer


Module = Callable[..., Any]  # a layer, or a function without parameters


class Container(Layer):
    """Base class of containers, whose children are attributes under their names in torch."""

    names: tuple[str, ...]  # the order of the children; flax sorts the attributes

    def __init__(self) -> None:
        super().__init__()
        self.names = ()

    def __len__(self) -> int:
        return len(self.names)

    def _add(self, name: str, module: Any) -> None:
        """Add a child, or replace the one with this name."""
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {type(name).__name__}")
        if not callable(module) and not isinstance(module, nnx.Module):
            several = isinstance(module, list | tuple)
            hint = "; pass the modules one by one, as in Sequential(*modules)" if several else ""
            raise TypeError(f"{type(module).__name__} is not a Module subclass{hint}")
        if name not in self.names:
            if hasattr(self, name):
                raise KeyError(f"attribute '{name}' already exists")
            if "." in name:
                raise KeyError(f'module name can\'t contain ".", got: {name}')
            if not name:
                raise KeyError('module name can\'t be empty string ""')
            self.names = (*self.names, name)
        setattr(self, name, module)

    def _remove(self, name: str) -> Any:
        module = getattr(self, name)
        delattr(self, name)
        self.names = tuple(n for n in self.names if n != name)
        return module


class _Sequence(Container):
    """Base class of containers whose children are numbered."""

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self.names])

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            part = type(self)()
            for name in self.names[index]:
                part._add(name if type(self) is Sequential else str(len(part)), getattr(self, name))
            return part
        return getattr(self, self.names[self._place(index)])

    def __setitem__(self, index: int, module: Module) -> None:
        self._add(self.names[self._place(index)], module)

    def __delitem__(self, index: int | slice) -> None:
        place = 0 if isinstance(index, slice) else self._place(index)
        removed = self.names[index if isinstance(index, slice) else slice(place, place + 1)]
        kept = [getattr(self, n) for n in self.names if n not in removed]
        self._replace(kept)

    def __add__(self, other: Iterable[Module]) -> Any:
        return type(self)().extend([*self, *other])

    def append(self, module: Module) -> Any:
        """Add a module at the end and return the container."""
        self._add(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end and return the container."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__} takes a list of modules, but got {type(modules).__name__}"
            )
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before the one at `index`, renumber the others, and return the container."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._replace(modules)
        return self

    def pop(self, index: int = -1) -> Any:
        """Remove a module and return it; the others are renumbered."""
        module = self[index]
        del self[index]
        return module

    def _replace(self, modules: Iterable[Any]) -> None:
        for name in self.names:
            self._remove(name)
        self.extend(modules)

    def _place(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return index % len(self)


class Sequential(_Sequence):
    """Call modules one after the other, each with the output of the previous one.

    Unlike in `flax.nnx.Sequential`, a tuple is passed on as one argument, as in torch.

    Args:
        *args: Modules, or one dict of modules, whose keys become their names. A function without
            parameters may stand for a module.

    Raises:
        TypeError: An argument is neither a module nor a function.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear, ReLU, state_dict
        >>> model = Sequential(Linear(3, 4, rngs=nnx.Rngs(0)), ReLU())
        >>> print(model(jnp.ones((2, 3), "float32")).shape, list(state_dict(model)))
        (2, 4) ['0.weight', '0.bias']

    Torch: `torch.nn.Sequential`.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self._add(name, module)
        else:
            self.extend(args)

    def __call__(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleList(_Sequence):
    """A list of modules; slices, `append`, `extend`, `insert`, `pop` and `+` work as for lists.

    Args:
        modules: The modules.

    Raises:
        TypeError: An element is neither a module nor a function.

    Example:
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear, state_dict
        >>> layers = ModuleList(Linear(3, 3, bias=False, rngs=nnx.Rngs(i)) for i in range(2))
        >>> print(list(state_dict(layers)))
        ['0.weight', '1.weight']

    Torch: `torch.nn.ModuleList`.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())


class ModuleDict(Container):
    """A dict of modules, in the order of insertion.

    Args:
        modules: The modules by name.

    Raises:
        KeyError: A name contains a dot, is empty, or is the name of a method.

    Example:
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear, state_dict
        >>> layers = ModuleDict({"head": Linear(3, 3, bias=False, rngs=nnx.Rngs(0))})
        >>> print(list(state_dict(layers)), "head" in layers)
        ['head.weight'] True

    Torch: `torch.nn.ModuleDict`.
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, key: str) -> Any:
        if key not in self.names:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, module: Module) -> None:
        self._add(key, module)

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, key: object) -> bool:
        return key in self.names

    def keys(self) -> tuple[str, ...]:
        """Return the names."""
        return self.names

    def values(self) -> list[Any]:
        """Return the modules."""
        return [getattr(self, name) for name in self.names]

    def items(self) -> list[tuple[str, Any]]:
        """Return the names and modules."""
        return [(name, getattr(self, name)) for name in self.names]

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, or replace those with the same names."""
        pairs: list[Any] = list(modules.items() if isinstance(modules, Mapping) else modules)
        if not all(isinstance(pair, tuple | list) for pair in pairs):
            raise TypeError("ModuleDict takes a dict of modules, or pairs of a name and a module")
        for name, module in pairs:
            self._add(name, module)

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        self[key]
        return self._remove(key)

    def clear(self) -> None:
        """Remove all modules."""
        for name in self.names:
            self._remove(name)
