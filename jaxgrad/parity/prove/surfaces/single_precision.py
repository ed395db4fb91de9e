"""The gradients in float32, as they will be trained: how much each side loses there.

float64 says whether the port is right; float32 says what its formulas are worth. A variance written
E[x^2] - E[x]^2 is right in float64, and wrong in float32 where the mean is large.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat
from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.jax_side.port import FAST
from jaxgrad.parity.ulp import scale_of


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof

FLOOR = 4 * float(np.finfo(np.float32).eps)  # of scale: torch may be right by luck
MUCH = 30  # times torch's error: worth a word to the person who trains with it
_LARGEST = 10_000_000  # numbers in the weights: beyond, float32 would cost minutes and gigabytes


class Loss(NamedTuple):
    """What float32 costs one gradient, as a share of its scale."""

    name: str
    torch: float
    jax: float

    @property
    def ratio(self) -> float:
        """JAX's error over torch's."""
        return self.jax / max(self.torch, FLOOR)


def loss_of_digits(proof: Proof) -> Loss | None:
    """The gradient for which JAX loses most beside torch; None where float32 cannot be run."""
    state = proof.draws[0].state
    if not proof.live or sum(np.size(x) for x in state.values()) > _LARGEST:
        return None
    found = proof.differentiated[0].leaves
    exact = proof.named(proof.differentiated[0])
    ours = _in_jax(proof)
    if ours is None:
        return None
    grads = [None if f is None else g for g, f in zip(ours, found, strict=True)]
    rounded = proof.named(dataclasses.replace(proof.differentiated[0], leaves=grads))
    theirs = [proof.theirs(run) for run in proof.side.single(proof.draws[0])]
    right = proof.theirs(proof.runs[0])
    judged = {j.name for j in proof.judged_gradients[0] if j.verdict == "pass" and j.scale}
    losses = [
        Loss(
            name,
            max(_share(run[name], right[name]) for run in theirs),
            _share(rounded[name], exact[name]),
        )
        for name in exact
        if name in judged
    ]
    return max(losses, key=lambda loss: loss.ratio, default=None)


def _in_jax(proof: Proof) -> list[Any] | None:
    """The gradients of the user's own program in float32, by its leaves."""
    port = proof.port
    given = cast([np.asarray(x) for x in port.leaves(proof.draws[0])], np.float32)
    moves = [x.dtype.kind in "fc" for x in given]
    cotangents = cast(port.cotangents(), np.float32)

    def objective(moving: list[Any]) -> Any:
        leaves = [m if m is not None else x for m, x in zip(moving, given, strict=True)]
        return port.objective(port.program.fun(*leaves), cotangents)

    with compat.enable_x64(False):
        moving = [jnp.asarray(x) if m else None for x, m in zip(given, moves, strict=True)]
        try:
            grads = jax.jit(jax.grad(objective), compiler_options=FAST)(moving)
        except Exception:  # a program that asks for float64 itself
            return None
        return [None if g is None else np.conj(_wide(g)) for g in grads]


def _wide(x: Any) -> np.ndarray:
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)


def _share(x: Any, exact: Any) -> float:
    """How far `x` is from `exact`, as a share of its scale."""
    if x is None or exact is None:
        return 0.0
    off = float(np.max(np.abs(np.asarray(x) - exact), initial=0.0))
    return off / (scale_of(np.asarray(exact)) or 1.0) if np.isfinite(off) else float("inf")


def said(loss: Loss) -> tuple[str, str]:
    """A clause for the gradients surface, and a note where there is something to do."""
    clause = f"in float32 at most {max(loss.ratio, 0.01):.2g} times torch's own error"
    if loss.ratio <= MUCH:
        return clause, ""
    return clause, (
        f"in float32 the gradient of {loss.name} is off by {loss.jax:.1g} of its scale, torch's by "
        f"{loss.torch:.1g}: the same in exact arithmetic, but a formula that loses digits (a "
        "variance as E[x^2] - E[x]^2, a log of a softmax, a sum of squares that overflows)"
    )
