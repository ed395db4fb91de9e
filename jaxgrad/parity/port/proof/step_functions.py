"""The training functions of a port over one tree of params, as its proof calls them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class StepFunctions:
    """The training functions of a port, with the keys of its draws.

    Attributes:
        loss: `loss(params, *batch)`, which returns the loss, or with `has_state` the pair of the
            loss and the new params.
        optimizer: The port's optax transformation.
        init: `init(params) -> opt_state`.
        step: `step(params, opt_state, *batch) -> (params, opt_state, loss)`.
        params: Returns the params of a state_dict.
        trainable: The tree of bools that says which leaves torch's optimizer trains.
        has_state: Whether the params have buffers that change.
    """

    loss: Callable[..., Any]
    optimizer: Any
    init: Callable[[Any], Any]
    step: Callable[..., Any]
    params: Callable[[Any], Any]
    trainable: Any
    has_state: bool
