"""Prove the training step of a port."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
import optax
import torch
from torch import nn

from jaxgrad import grad_modes, optim
from jaxgrad._core.typing import PyTree
from jaxgrad.backward import depends_on
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.modes.modes import in_mode
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.step_functions import StepFunctions
from jaxgrad.parity.port.proof.verifying import STEP, beside_step, prefixed, silent
from jaxgrad.parity.port.source.refusals import KEPT, PortError
from jaxgrad.parity.port.training.optimizers import rebuilt
from jaxgrad.parity.port.training.recipes import Recipe
from jaxgrad.parity.prove.prove import prove
from jaxgrad.parity.prove.training import Training


STEPS = 3


class WithLoss(nn.Module):
    """A module and the loss of its outputs; its inputs are those of the module and the targets."""

    def __init__(self, module: nn.Module, recipe: Recipe, inputs: PyTree) -> None:
        super().__init__()
        self.module, self.loss = module, recipe.loss
        self.count = len(inputs)
        self.names = list(inputs) if isinstance(inputs, Mapping) else None

    def forward(self, *batch: Any) -> torch.Tensor:
        inputs, targets = batch[: self.count], batch[self.count :]
        if self.names is None:
            outputs = self.module(*inputs)
        else:
            outputs = self.module(**dict(zip(self.names, inputs, strict=True)))
        return outputs if self.loss is None else self.loss(outputs, *targets)


def step_proved(
    ported: Ported, recipe: Recipe, inputs: PyTree, seed: int,
    show: Callable[[str], None] = silent, time_limit: float | None = None,
) -> Ported:  # fmt: skip
    """Return a port with the proof of its training step; `show` is called with each step's name.

    The loss and the optimizer are proved over `STEPS` steps of torch's loop. Then `train_step` must
    do the same as that loss and that optimizer.

    Raises:
        PortError: torch's training loop gives other parameters.
    """
    module, functions = ported.layout.module, ported.step_functions(seed)
    whole = WithLoss(module, recipe, inputs)
    values = inputs.values() if isinstance(inputs, Mapping) else inputs
    batch = tuple(to_numpy(x) for x in (*values, *recipe.targets))
    training = Training(
        lambda _: rebuilt(recipe.optimizer), _transformation(recipe, functions),
        scheduler=recipe.scheduler, clip=recipe.clip, total=recipe.total,
    )  # fmt: skip

    def weights(state: Any) -> Any:
        return functions.params({k.removeprefix("module."): x for k, x in state.items()})

    with in_mode(module, training=True):
        whole.training = True
        params = weights(whole.state_dict())
        live = _live(functions, params, batch)
        report = prove(
            whole, functions.loss, params, batch,
            weights=weights, trainable=live, optimizer=training, steps=STEPS,
            seed=seed, has_state=functions.has_state, progress=prefixed(STEP, show),
            time_limit=time_limit,
        )  # fmt: skip
    name = type(module).__name__
    report = dataclasses.replace(report, name=f"{name} | train_step")
    reports = beside_step({**ported.reports, STEP: report})
    if report.verdict != "pass":
        failed = dataclasses.replace(ported, reports=reports)
        raise PortError(
            f"the training step of the port of {name} is not proved:\n{report}{KEPT}",
            ported=failed,
        )
    require_same_steps(functions, recipe, params, batch)
    targets = tuple(map(to_numpy, recipe.targets))
    return dataclasses.replace(ported, reports=reports, targets=targets)


def _live(functions: StepFunctions, params: Any, batch: tuple[Any, ...]) -> Any:
    """Return the tree of bools: the trained leaves that have a gradient; torch skips the others."""
    trained, others = _split(params, functions.trainable)

    def loss(trained: Any) -> Any:
        value = functions.loss(grad_modes.combine(trained, others), *batch)
        return value[0] if functions.has_state else value

    live = iter(jax.tree.leaves(depends_on(loss, trained)))
    return jax.tree.map(lambda flag: flag and next(live), functions.trainable)


def _split(params: Any, trainable: Any) -> tuple[Any, Any]:
    """Return the trained leaves and the others, each with None in the other's places."""
    trained = jax.tree.map(lambda x, t: x if t else None, params, trainable)
    return trained, jax.tree.map(lambda x, t: None if t else x, params, trainable)


def _transformation(recipe: Recipe, functions: StepFunctions) -> Any:
    """Return what `train_step` does with JAX's gradients."""
    parts = [functions.optimizer]
    if recipe.clip is not None:
        parts.insert(0, optim.clip_grad_norm(recipe.clip))
    if any(p.is_complex() for g in recipe.optimizer.param_groups for p in g["params"]):
        parts.insert(0, optax.stateless(lambda grads, _: jax.tree.map(jax.numpy.conj, grads)))
    return parts[0] if len(parts) == 1 else optax.chain(*parts)


def require_same_steps(
    functions: StepFunctions, recipe: Recipe, params: Any, batch: tuple[Any, ...]
) -> None:
    """Compare `train_step` with the loss and the optimizer that were proved.

    Raises:
        PortError: They give different parameters.
    """
    trainable = functions.trainable
    tx = _transformation(recipe, functions)

    def loss_of(trained: Any, others: Any) -> tuple[Any, Any]:
        params = grad_modes.combine(trained, others)
        loss = functions.loss(params, *batch)
        return loss if functions.has_state else (loss, params)

    params = jax.tree.map(jax.numpy.asarray, params)
    found, found_state = params, functions.init(params)
    trained, others = _split(params, trainable)
    state, live = tx.init(trained), _live(functions, params, batch)
    for _ in range(STEPS):
        found, found_state, loss = functions.step(found, found_state, *batch)
        grads, (wanted, params) = _gradients(loss_of, trained, others)
        grads = jax.tree.map(lambda is_live, g: g if is_live else None, live, grads)
        updates, state = tx.update(grads, state, trained)
        trained, others = optax.apply_updates(trained, updates), _split(params, trainable)[1]
        want = grad_modes.combine(trained, others), state, wanted
        have = jax.tree.leaves((found, found_state, loss))
        pairs = zip(have, jax.tree.leaves(want), strict=True)
        if not all(np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in pairs):
            raise PortError(
                "train_step differs from the loss and the optimizer that are proved"
                "; this is a fault of jaxgrad, please report it"
            )


def _gradients(function: Any, trained: Any, others: Any) -> tuple[Any, Any]:
    def value(trained: Any) -> tuple[Any, Any]:
        loss, params = function(trained, others)
        return loss.squeeze(), (loss, params)

    (_, aux), grads = jax.value_and_grad(value, has_aux=True)(trained)
    return grads, aux
