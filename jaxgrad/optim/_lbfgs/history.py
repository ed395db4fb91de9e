"""L-BFGS history: past steps and gradient changes, which determine the search direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class LBFGSState(NamedTuple):
    """torch's L-BFGS state: vectors concatenate all parameters, histories are oldest first."""

    func_evals: Any
    n_iter: Any
    d: Any
    t: Any
    old_dirs: Any  # (history_size, n); the first `num_old` rows are in use
    old_stps: Any
    ro: Any
    num_old: Any
    H_diag: Any
    prev_flat_grad: Any
    prev_loss: Any
    count: Any = None


def remember(state: LBFGSState, grad: jax.Array, first: Any) -> LBFGSState:
    """Append the last iteration to the history, unless its curvature is too small."""
    y, s = grad - state.prev_flat_grad, state.d * state.t
    ys = jnp.dot(y, s)
    keep = ~first & (ys > 1e-10)
    full = state.num_old == len(state.ro)
    at = jnp.where(full, len(state.ro) - 1, state.num_old)

    def put(history: jax.Array, new: Any) -> jax.Array:
        shifted = jnp.where(full, jnp.roll(history, -1, 0), history)
        return jnp.where(keep, shifted.at[at].set(new), history)

    return state._replace(
        old_dirs=put(state.old_dirs, y),
        old_stps=put(state.old_stps, s),
        ro=put(state.ro, 1.0 / ys),
        num_old=jnp.where(keep & ~full, state.num_old + 1, state.num_old),
        H_diag=jnp.where(keep, ys / jnp.dot(y, y), state.H_diag),
    )


def direction(state: LBFGSState, grad: jax.Array) -> jax.Array:
    """Return the negative gradient times the inverse Hessian approximated from the history."""
    n, dirs, stps, ro = state.num_old, state.old_dirs, state.old_stps, state.ro

    def backward(k: Any, carry: Any) -> Any:
        q, al = carry
        i = n - 1 - k
        al_i = jnp.dot(stps[i], q) * ro[i]
        return q - al_i * dirs[i], al.at[i].set(al_i)

    def forward(i: Any, r: Any) -> Any:
        return r + (al[i] - jnp.dot(dirs[i], r) * ro[i]) * stps[i]

    q, al = lax.fori_loop(0, n, backward, (-grad, jnp.zeros_like(ro)))
    return lax.fori_loop(0, n, forward, q * state.H_diag)
