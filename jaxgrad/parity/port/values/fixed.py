"""Know the tensors of a run that depend on sizes and configuration alone, such as a causal mask.

A test on such a tensor has one answer for each size, so the port folds it; a test on any other
tensor has to stay a test. Tensors that depend on buffers too are known by the names of those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


_FILLED = ("new_zeros", "new_ones", "zeros_like", "ones_like")  # whatever the first tensor holds
_MARK = "_depends_on_sizes_alone"
_BUFFERS = "_depends_on_buffers"
_SAMPLERS = ("bernoulli", "bernoulli_", "multinomial", "normal", "poisson", "dropout")


class Marking(TorchFunctionMode):
    """Mark each new tensor of a run that is computed from marked tensors and numbers alone."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.buffers = tables(module)

    def __enter__(self) -> Any:
        for name, buffer in self.buffers.items():
            setattr(buffer, _BUFFERS, frozenset({name}))
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        for buffer in {id(x): x for x in self.buffers.values()}.values():  # it may have two names
            delattr(buffer, _BUFFERS)
        super().__exit__(*error)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        fixed = getattr(func, "__name__", "") in _FILLED or all(
            map(is_fixed, _tensors((args, kwargs)))
        )
        before = torch.get_rng_state() if fixed else None
        result = func(*args, **kwargs)
        drew = before is not None and not torch.equal(before, torch.get_rng_state())
        read = [buffers_of(x) for x in _tensors((args, kwargs))]
        if fixed and not drew:
            for tensor in _tensors(result):
                setattr(tensor, _MARK, True)
        elif not fixed and None not in read and not _draws(func):
            for tensor in _tensors(result):
                if buffers_of(tensor) is None:
                    setattr(tensor, _BUFFERS, frozenset[str]().union(*(x or () for x in read)))
        elif args and isinstance(args[0], torch.Tensor) and _writes(func, result, args[0]):
            setattr(args[0], _MARK, False)
        return result


def is_fixed(tensor: torch.Tensor) -> bool:
    """Return whether a tensor of the run depends on sizes and configuration alone."""
    return getattr(tensor, _MARK, False)


def tables(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return the buffers of a module, and the tensors without a gradient in its attributes."""
    found = dict(module.named_buffers())
    for path, child in module.named_modules():
        for name, x in vars(child).items():
            if isinstance(x, torch.Tensor) and not x.requires_grad:
                found.setdefault(f"{path}.{name}" if path else name, x)
    return found


def buffers_of(tensor: torch.Tensor) -> frozenset[str] | None:
    """Return the buffers on which a tensor depends, or None if it depends on anything else."""
    return frozenset() if is_fixed(tensor) else getattr(tensor, _BUFFERS, None)


def _draws(func: Any) -> bool:
    return "rand" in getattr(func, "__name__", "") or getattr(func, "__name__", "") in _SAMPLERS


def _writes(func: Any, result: Any, target: torch.Tensor) -> bool:
    return result is target or getattr(func, "__name__", "") == "__setitem__"


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, dict):
        yield from _tensors(tuple(tree.values()))
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _tensors(part)
