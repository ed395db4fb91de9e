"""Report on complex parameters, for which JAX's gradient is the conjugate of torch's."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.training_steps import trajectories
from jaxgrad.parity.prove.training_steps.trajectories import Trajectories
from jaxgrad.parity.prove.wording import Difference, Told


_CONJUGATE = "optax.chain(optax.stateless(lambda g, _: jax.tree.map(jnp.conj, g)), tx)"
_SPLIT = "optax.contrib.split_real_and_imaginary(tx)"
_CONFIRMED = "rerunning {} gives torch's weights"


def statement(evidence: Evidence) -> str:
    """Return the gradients surface's sentence on complex parameters; "" if there are none."""
    names = complex_parameters(evidence)
    if not names:
        return ""
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    text = f"complex parameters ({listed}): JAX's gradient is the conjugate of torch's"
    difference = Told(f"{text}; pass jnp.conj(grads) to the optimizer", text)
    return difference.says(evidence.reference)


def complex_parameters(evidence: Evidence) -> list[str]:
    """Return the complex parameters that have a gradient in torch and a leaf in the port."""
    weights, grads = evidence.port.weights, evidence.runs[0].grads
    return [
        name
        for name, gradient in grads.items()
        if gradient is not None
        and name in weights.tensors
        and any(np.iscomplexobj(weights.leaves[i]) for i in weights.leaves_of(name))
    ]


def cause(
    evidence: Evidence,
    training: Training,
    paths: Trajectories,
    agrees: Callable[[Trajectories], bool],
) -> str:
    """Return the change of the optax transformation with which the port trains as torch does.

    Args:
        evidence: All runs.
        training: The user's training step.
        paths: The weights of both frameworks.
        agrees: Whether no weight and no average of the port differs from torch's.
    """
    if not complex_parameters(evidence):
        return ""
    for text, tx in _variants(training.optax):
        if not evidence.may_search("conjugated gradients"):
            break
        changed = dataclasses.replace(training, optax=tx)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            states, averages, _ = trajectories.of_port(evidence, changed, paths.torch)
        if agrees(paths._replace(jax=states, averages=(paths.averages[0], averages))):
            return text.says(evidence.reference)
    return ""


def _variants(tx: Any) -> Iterator[tuple[Difference, Any]]:
    """Yield transformations that treat complex gradients as torch's optimizers do."""
    conjugate = optax.stateless(lambda grads, _: jax.tree.map(jnp.conj, grads))
    split = optax.contrib.split_real_and_imaginary
    gradient = "JAX's gradient of a complex parameter is the conjugate of torch's"
    moments = "torch's optimizers treat a complex number as two real ones"
    write = f"pass jnp.conj(grads) to the optimizer, as {_CONJUGATE} does"
    yield _told(gradient, write, "JAX with conjugated gradients"), optax.chain(conjugate, tx)
    yield _told(moments, f"use {_SPLIT}", f"JAX with {_SPLIT}"), split(tx)
    use = _CONJUGATE.replace("tx", _SPLIT)
    both = f"{gradient}, and {moments}"
    yield _told(both, f"use {use}", f"JAX with {use}"), optax.chain(conjugate, split(tx))


def _told(what: str, write: str, rerun: str) -> Difference:
    """Return a difference with what to write in a port to JAX, and how JAX was rerun."""
    port = _CONFIRMED.format("the port with this change")
    return Told(f"{what}: {write} ({port})", f"{what} ({_CONFIRMED.format(rerun)})")
