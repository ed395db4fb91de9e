"""The arguments of a proof, as the user gave them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any


Function = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Request:
    """What `prove` was asked to compare; its docstring describes the fields."""

    module: Any
    fn: Any
    params: Any = None
    inputs: Any = None
    weights: Function | Mapping[str, Any] | None = None
    outputs: tuple[Function | None, Function | None] | None = None
    loss: tuple[Function | None, Function | None] | None = None
    trainable: Any = None
    optimizer: tuple[Function | None, Any] | None = None
    steps: int = 0
    has_state: bool = False
    seed: int = 0

    @property
    def torch_pick(self) -> Function | None:
        """The function that selects torch's outputs."""
        return self.outputs[0] if self.outputs else None

    @property
    def jax_pick(self) -> Function | None:
        """The function that selects JAX's outputs."""
        return self.outputs[1] if self.outputs else None

    @property
    def torch_loss(self) -> Function | None:
        """The loss of torch's outputs."""
        return self.loss[0] if self.loss else None

    @property
    def jax_loss(self) -> Function | None:
        """The loss of JAX's outputs."""
        return self.loss[1] if self.loss else None
