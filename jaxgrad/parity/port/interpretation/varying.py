"""Find the calls of `torch.chunk` that split an axis whose size may change.

Such an axis may have a size that the number of chunks does not divide; torch then gives a smaller
last chunk. The module runs in torch on inputs of other sizes, and its calls are compared.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.interpretation.witnesses import resized
from jaxgrad.parity.port.values.inputs import tensors
from jaxgrad.parity.prove.record.torch_side.borrowed import Borrowed


Line = tuple[str, int]  # a file and a line of it
_CHUNKS = (torch.chunk, torch.Tensor.chunk, torch.unsafe_chunk, torch.Tensor.unsafe_chunk)


def varying_chunks(module: nn.Module, inputs: PyTree) -> frozenset[Line]:
    """Return the lines that call `chunk` on an axis whose size depends on those of the inputs."""
    own = _sizes(module, inputs)
    if not own:
        return frozenset()
    others = [_sizes(module, other) for other in resized(inputs)]
    return frozenset(
        line for line, sizes in own.items() if any(_differ(sizes, o.get(line, [])) for o in others)
    )


def _differ(sizes: list[int], others: list[int]) -> bool:
    """Return whether two runs split axes of different sizes in the calls that both of them make."""
    return any(a != b for a, b in zip(sizes, others, strict=False))


def _sizes(module: nn.Module, inputs: PyTree) -> dict[Line, list[int]]:
    """Run the module, and return the sizes of the axes that each line splits with `chunk`."""
    seen = _Chunks()
    borrowed = Borrowed(module)
    try:
        with (
            borrowed.in_dtype(None), torch.random.fork_rng(devices=[]), torch.no_grad(),
            contextlib.suppress(Exception), seen,  # torch may refuse another size after some calls
            warnings.catch_warnings(action="ignore"),  # of a size that the user did not give
        ):  # fmt: skip
            example = tensors(inputs, module)
            module(**example) if isinstance(example, Mapping) else module(*example)
    finally:
        borrowed.give_back()
    return seen.sizes


class _Chunks(TorchFunctionMode):
    """Note the size of the axis that each call of `chunk` splits."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[Line, list[int]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _CHUNKS:
            x = args[0] if args else kwargs["input"]
            dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
            self.sizes.setdefault(_line(sys._getframe(1)), []).append(x.shape[dim])
        return func(*args, **kwargs)


def _line(frame: FrameType | None) -> Line:
    """Return the line of the program that has called torch."""
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "torch":
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
