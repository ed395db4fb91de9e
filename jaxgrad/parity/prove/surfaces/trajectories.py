"""The way that the weights go, on both sides, under some steps of an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.jax_side import lifting
from jaxgrad.parity.prove.jax_side.port import FAST
from jaxgrad.parity.prove.jax_side.program import JaxProgram
from jaxgrad.parity.prove.torch_side.side import State, marks
from jaxgrad.parity.prove.weights.likeness import same_leaf
from jaxgrad.parity.ulp import scale_of


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof


class Trajectories(NamedTuple):
    """The weights by torch's names after some steps, and the optimizers' states after the last."""

    before: State
    theirs: Mapping[int, State]
    ours: Mapping[int, State]
    again: Sequence[Mapping[int, State]]  # torch's with every number moved by an ULP
    moments: Mapping[str, Mapping[str, np.ndarray]]  # torch's, by parameter
    opt_state: Any  # optax's


def run(proof: Proof, optimizer: tuple[Any, Any], steps: int) -> Trajectories:
    """Both optimizers on the first draw."""
    factory, tx = optimizer
    theirs = proof.side.steps(factory, steps)
    ours, opt_state = _optax(proof, tx, steps)
    before = proof.draws[0].state
    return Trajectories(before, theirs.states, ours, theirs.again, theirs.moments, opt_state)


def _optax(proof: Proof, tx: Any, steps: int) -> tuple[dict[int, State], Any]:
    """The optax loop that a user writes: `jax.grad`, update, apply."""
    if not hasattr(tx, "init") or not hasattr(tx, "update"):
        raise ProofError(f"optimizer=: {type(tx).__name__} is no optax transformation")
    made, port = proof.port.program, proof.port
    count = len(made.param_paths)
    leaves = [jnp.asarray(x) for x in port.leaves(proof.draws[0])]
    trains = proof.train or [True] * count
    moves = [trains[i] and jnp.issubdtype(leaves[i].dtype, jnp.inexact) for i in range(count)]

    def tree(values: list[Any]) -> Any:
        return made.fill([x if m else None for x, m in zip(values, moves, strict=True)])

    state = tx.init(tree(leaves[:count]))
    given, lifted = (
        jax.jit(fun, compiler_options=FAST) for fun in (tx.update, lifting.lifted(tx.update))
    )
    found: dict[int, State] = {}
    for step in range(1, steps + 1):
        got = proof.gradients(proof.draws[0], leaves=leaves)
        pairs = zip(leaves[:count], got.leaves, strict=False)
        grads = [jnp.zeros_like(x) if g is None else jnp.conj(g) for x, g in pairs]
        args = tree(grads), state, tree(leaves[:count])
        # A schedule that optax computes in float32 is off by 1e-8, and no fault of the port; where
        # float32 makes it another schedule, it is judged as it is.
        try:
            as_lifted = lifted(*args)
        except Exception as error:
            raise ProofError(
                f"optimizer=: the update of the optax transformation raised "
                f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
            ) from error
        try:
            as_given = given(*args)
        except TypeError:  # it takes no float64
            as_given = as_lifted
        change, state = as_lifted if _alike(as_given[0], as_lifted[0]) else as_given
        new = jax.tree.leaves(optax.apply_updates(tree(leaves[:count]), change))
        numbers = [i for i in range(count) if moves[i]]
        for i, x in zip(numbers, new, strict=True):
            leaves[i] = x
        if port.has_state:
            _thread(made, leaves, got.outputs)
        if step in marks(steps):
            found[step] = port.weights.values_of([np.asarray(x) for x in leaves[:count]])
    return found, state


def _alike(given: Any, lifted: Any) -> bool:
    """Whether the two differ by float32's rounding alone."""
    leaves = [map(np.asarray, jax.tree.leaves(tree)) for tree in (given, lifted)]
    pairs = zip(*leaves, strict=True)
    return all(np.max(np.abs(x - y), initial=0.0) <= 1e-4 * scale_of(y) for x, y in pairs)


def _thread(made: JaxProgram, leaves: list[Any], outputs: list[np.ndarray]) -> None:
    """The new state goes back, in place, to where params hold it, if they do."""
    for path, x in zip(made.state_paths, outputs[len(made.out_paths) :], strict=True):
        for i, other in enumerate(made.param_paths):
            if same_leaf(path, other):
                leaves[i] = jnp.asarray(x)
