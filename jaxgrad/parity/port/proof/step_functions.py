"""The training functions of a port over one tree of params, as its proof calls them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax

from jaxgrad.grad_modes import partition


FILTER = "TRAINED"  # the nnx filter in the file, unless every nnx.Param is trained


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


@dataclasses.dataclass(frozen=True)
class Steps:
    """The training step of a written port, over a tree of params.

    Attributes:
        params: The params before the first step.
        trained: Those that the optimizer trains.
        init: `init(params) -> opt_state`.
        step: `step(params, opt_state, *batch) -> (params, opt_state, loss)`.
    """

    params: Any
    trained: Any
    init: Callable[[Any], Any]
    step: Callable[..., Any]


def steps_of_params(space: Mapping[str, Any], params: Any, seed: int) -> Steps:
    """Return the training step of functions, from the names that their file defines."""
    step = space["train_step"]
    draws = "rng" in inspect.signature(step).parameters
    keys = {"rng": jax.random.key(seed)} if draws else {}
    is_trained = space.get("is_trained")
    trained = params if is_trained is None else partition(params, is_trained)[0]
    return Steps(params, trained, space["init_optimizer"], functools.partial(step, **keys))


def steps_of_model(space: Mapping[str, Any], model: Any) -> Steps:
    """Return the training step of a flax model over the tree of its variables."""
    from flax import nnx

    variables = Variables(model)

    def step(params: Any, opt_state: Any, *batch: Any) -> Any:
        model = variables.model(params)
        opt_state, loss = space["train_step"](model, opt_state, *batch)
        return variables.tree(model), opt_state, loss

    trained = nnx.to_pure_dict(nnx.state(model, space.get(FILTER, nnx.Param)))
    return Steps(
        variables.tree(model), trained,
        lambda params: space["init_optimizer"](variables.model(params)), step,
    )  # fmt: skip


class Variables:
    """Convert a flax model to the tree of its variables and back; its random keys stay."""

    def __init__(self, model: Any) -> None:
        from flax import nnx

        self._filter = nnx.Not(nnx.RngState)
        self._graph, self._draws, _ = nnx.split(model, nnx.RngState, ...)

    def tree(self, model: Any) -> Any:
        """Return the tree of the variables of a model."""
        from flax import nnx

        return nnx.to_pure_dict(nnx.state(model, self._filter))

    def model(self, params: Any) -> Any:
        """Return a new model with the variables in a tree."""
        from flax import nnx

        return nnx.merge(self._graph, self._draws, params, copy=True)
