"""The arguments of a proof, as the user gave them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.wording import TORCH


Function = Callable[..., Any] | None


@dataclasses.dataclass(frozen=True)
class Request:
    """What `prove` was asked to compare; its docstring describes the fields."""

    module: Any
    fn: Any
    params: Any = None
    inputs: Any = None
    also: Any = ()
    weights: Function | Mapping[str, Any] = None
    outputs: tuple[Function, Function] = (None, None)  # of torch, of JAX
    loss: tuple[Function, Function] = (None, None)
    trainable: Any = None
    optimizer: tuple[Any, Any] | Training | None = None
    steps: int | None = None
    has_state: bool = False
    accept: Mapping[str, Mapping[str, str | tuple[str, float]]] | None = None
    seed: int = 0
    reference: str = TORCH
