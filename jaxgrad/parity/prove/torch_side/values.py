"""What a run of torch leaves behind: values, calls of modules, outputs and gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import apart


@dataclasses.dataclass
class Value:
    """A floating value of the run: an input, or what one call of torch gave."""

    module: str  # dotted path of the innermost module that was running
    op: str  # torch's name of the function; "input" for an input
    inputs: tuple[int, ...]  # the values it read
    shape: tuple[int, ...]
    print: np.ndarray
    weights: tuple[str, ...] = ()  # the parameters and buffers it read
    data: np.ndarray | None = None
    cotangent: np.ndarray | None = None  # fingerprint of the total cotangent, None where none came
    cotangent_data: np.ndarray | None = None
    call: tuple[Any, Any, Any] | None = None  # function, args, kwargs, where values are kept
    maker: int = -1  # the number of that call: what it made beside this has the same
    requires_grad: bool = True

    @property
    def name(self) -> str:
        return f"{self.module} ({self.op})" if self.module else f"({self.op})"


@dataclasses.dataclass
class Call:
    """One call of a module."""

    module: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    first: int  # the values made while it ran: values[first:last]
    last: int


@dataclasses.dataclass
class TorchRun:
    values: list[Value]
    calls: list[Call]
    outputs: dict[str, np.ndarray]
    output_values: list[int | None]  # where the outputs are among the values
    grads: dict[str, Any]  # arrays, None; in a rerun the largest difference
    input_grads: list[Any]
    buffers: dict[str, np.ndarray]
    loss: float | None
    pins: list[str]  # where the module itself cast to less than float64
    numbers: list[float]  # the floats among the arguments of the calls
    parts: dict[int, np.ndarray]  # see `parts_of`: first value made -> cotangent through that call


def rounding(
    run: TorchRun, reruns: Sequence[TorchRun], read: Callable[[Value], np.ndarray | None]
) -> np.ndarray:
    """How far rounding alone moves a fingerprint of each of torch's values.

    Args:
      run: torch's run.
      reruns: The same with the inputs moved by an ULP.
      read: The fingerprint of a value: its own, or that of its cotangent.

    Returns:
      One number a value.
    """
    noise = np.zeros(len(run.values))
    for again in reruns:
        if len(again.values) == len(run.values):
            pairs = [(read(v), read(w)) for v, w in zip(run.values, again.values, strict=True)]
            off = [0.0 if a is None or b is None else float(apart(a, b)) for a, b in pairs]
            noise = np.maximum(noise, np.nan_to_num(off, posinf=1.0))
    return noise
