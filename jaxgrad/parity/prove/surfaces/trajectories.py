"""Run some steps of an optimizer in both frameworks and record the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad.parity.compiling import QUICK
from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side import lifting
from jaxgrad.parity.prove.jax_side.program import JaxProgram
from jaxgrad.parity.prove.torch_side.side import State, compared_steps
from jaxgrad.parity.prove.weights.likeness import same_leaf
from jaxgrad.parity.ulp import scale_of


Optimizers = tuple[Any, Any]  # torch's factory, optax transformation


class Trajectories(NamedTuple):
    """Weights after some steps, keyed by torch's names, and the final optimizer states."""

    before: State
    torch: Mapping[int, State]
    jax: Mapping[int, State]
    reruns: Sequence[Mapping[int, State]]  # torch's with every number perturbed by an ULP
    moments: Mapping[str, Mapping[str, np.ndarray]]  # torch's optimizer state by parameter
    opt_state: Any  # optax's


def run(evidence: Evidence, optimizer: Optimizers, steps: int) -> Trajectories:
    """Run both optimizers on the first draw of weights and inputs."""
    factory, tx = optimizer
    expected = evidence.torch_side.steps(factory, steps)
    actual, opt_state = _optax(evidence, tx, steps)
    before = evidence.draws[0].state
    return Trajectories(
        before, expected.states, actual, expected.reruns, expected.moments, opt_state
    )


def _optax(evidence: Evidence, tx: Any, steps: int) -> tuple[dict[int, State], Any]:
    """Run the usual optax loop: `jax.grad`, `tx.update`, `optax.apply_updates`."""
    if not hasattr(tx, "init") or not hasattr(tx, "update"):
        raise ProofError(f"optimizer=: {type(tx).__name__} is not an optax transformation")
    program, port = evidence.port.program, evidence.port
    count = len(program.param_paths)
    leaves = [jnp.asarray(x) for x in port.leaves(evidence.draws[0])]
    mask = evidence.trainable or [True] * count
    trained = [mask[i] and jnp.issubdtype(leaves[i].dtype, jnp.inexact) for i in range(count)]

    def tree(values: list[Any]) -> Any:
        return program.fill([x if t else None for x, t in zip(values, trained, strict=True)])

    state = tx.init(tree(leaves[:count]))
    given, lifted = (
        jax.jit(fun, compiler_options=QUICK) for fun in (tx.update, lifting.lifted(tx.update))
    )
    states: dict[int, State] = {}
    for step in range(1, steps + 1):
        gradients = evidence.gradients(evidence.draws[0], leaves=leaves)
        pairs = zip(leaves[:count], gradients.leaves, strict=False)
        grads = [jnp.zeros_like(x) if g is None else jnp.conj(g) for x, g in pairs]
        updates, state = _update(given, lifted, (tree(grads), state, tree(leaves[:count])))
        new = jax.tree.leaves(optax.apply_updates(tree(leaves[:count]), updates))
        numbers = [i for i in range(count) if trained[i]]
        for i, x in zip(numbers, new, strict=True):
            leaves[i] = x
        if port.has_state:
            _store_state(program, leaves, gradients.outputs)
        if step in compared_steps(steps):
            states[step] = port.weights.values_of([np.asarray(x) for x in leaves[:count]])
    return states, state


def _update(given: Callable[..., Any], lifted: Callable[..., Any], args: Any) -> Any:
    """Return the update and state lifted to float64, unless they are too far from the originals.

    A schedule that optax computes in float32 is off by 1e-8, which is not the port's fault. If
    the difference exceeds float32 rounding, the original update is judged.
    """
    try:
        as_lifted = lifted(*args)
    except Exception as error:
        raise ProofError(
            f"optimizer=: the update of the optax transformation raised "
            f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        ) from error
    try:
        as_given = given(*args)
    except TypeError:  # the update rejects float64
        return as_lifted
    return as_lifted if _nearly_equal(as_given[0], as_lifted[0]) else as_given


def _nearly_equal(given: Any, lifted: Any) -> bool:
    """Whether two updates differ only by the rounding of float32."""
    leaves = [map(np.asarray, jax.tree.leaves(tree)) for tree in (given, lifted)]
    pairs = zip(*leaves, strict=True)
    return all(np.max(np.abs(x - y), initial=0.0) <= 1e-4 * scale_of(y) for x, y in pairs)


def _store_state(program: JaxProgram, leaves: list[Any], outputs: Sequence[np.ndarray]) -> None:
    """Write the new state in place to the leaves of params that hold it."""
    for path, x in zip(program.state_paths, outputs[len(program.out_paths) :], strict=True):
        for i, other in enumerate(program.param_paths):
            if same_leaf(path, other):
                leaves[i] = jnp.asarray(x)
