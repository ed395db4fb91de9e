"""L-BFGS with up to `max_iter` iterations per step and torch's line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import argument_names
from jaxgrad._core.typing import PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.transformation import Transformation, broadcast, from_apply, gradients
from jaxgrad.optim._lbfgs.history import LBFGSState, direction, remember
from jaxgrad.optim._lbfgs.wolfe import Point, strong_wolfe


class _Loop(NamedTuple):
    """The carry of the loop over iterations."""

    params: Any
    loss: Any
    grad: Any
    state: LBFGSState
    iteration: Any
    evals: Any
    done: Any


@argument_names.checked
def lbfgs(
    lr: ScalarOrSchedule = 1,
    max_iter: int = 20,
    max_eval: int | None = None,
    tolerance_grad: float = 1e-7,
    tolerance_change: float = 1e-9,
    history_size: int = 100,
    line_search_fn: str | None = None,
    *,
    exact: bool = False,
) -> Transformation:
    """L-BFGS: each step runs several iterations, which evaluate the loss themselves.

    As in `optax.lbfgs`, `update` and `step` take the loss and its gradient at the parameters, and
    the loss function (torch's closure) as `value_fn`:
    `step(grads, state, params, value=loss, value_fn=fun)`. Without `value`, or with None for
    `grads`, both are computed. `value_fn` takes only the parameters and is differentiated by JAX.
    The iterations run in one `lax.while_loop`, so `step` can be jitted.

    Args:
        lr: Step length, or the first trial step of the line search: a number, a 1-element
            array, or a schedule `step -> lr`.
        max_iter: Maximum number of iterations per step.
        max_eval: Maximum number of loss evaluations per step; the default is 5/4 of `max_iter`.
        tolerance_grad: End the step when every gradient element is at most this large.
        tolerance_change: End the step when the parameters or the loss change by less than this.
        history_size: Number of past iterations to store.
        line_search_fn: `"strong_wolfe"`, or None for the fixed step length `lr`.
        exact: Accepted for uniformity; no effect, because XLA orders the sums.

    Returns:
        A `Transformation`; its state has torch's fields: `func_evals`, `n_iter`, `d`, `t`,
        `old_dirs`, `old_stps`, `ro`, `H_diag`, `prev_flat_grad`, `prev_loss`. One state covers all
        parameters, so a None gradient or False in `live` counts as a zero gradient, as in torch.

    Raises:
        ValueError: A hyperparameter is out of range, or `update` is called without `value_fn`.
        RuntimeError: `line_search_fn` is unknown.

    Example:
        >>> import jax, jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.lbfgs(line_search_fn="strong_wolfe"), jnp.array([3.0, -4.0])
        >>> fun = lambda w: jnp.sum((w - 1) ** 2)
        >>> value, grads = jax.value_and_grad(fun)(w)
        >>> w, _ = jax.jit(lambda w: tx.step(grads, tx.init(w), w, value=value, value_fn=fun))(w)
        >>> print(w.round(3))
        [1. 1.]

    Torch: `torch.optim.LBFGS` (torch/optim/lbfgs.py).

    Differs from optax in:
        1. One step runs up to `max_iter` iterations; in optax one.
        2. The first iteration is scaled by `min(1, 1 / sum(abs(g)))`; optax uses the 2-norm.
        3. The line search is torch's; optax uses a different zoom, or backtracking.
        4. A pair enters the history only if `y . s > 1e-10`.
        5. For complex parameters the gradient is torch's, the conjugate of JAX's.
    """
    checks.learning_rate(lr)
    if line_search_fn not in {None, "strong_wolfe"}:
        raise RuntimeError(f"only 'strong_wolfe' is supported, but line_search_fn={line_search_fn}")
    del exact
    most_evals = max_iter * 5 // 4 if max_eval is None else max_eval

    def init(params: PyTree) -> LBFGSState:
        vector = jnp.zeros_like(_flat(jax.tree.leaves(params)))
        none = jnp.zeros((), np.int32)
        history = jnp.zeros((history_size, vector.size), vector.dtype)
        number = jnp.zeros((), vector.dtype)
        count = none if callable(lr) else None
        return LBFGSState(
            none, none, vector, number, history, history, history[:, 0], none, number + 1, vector,
            number, count,
        )  # fmt: skip

    def iterate(evaluate: Callable[[Any], Any], rate: Any, loop: _Loop) -> _Loop:
        loss, grad = loop.loss, loop.grad
        state = loop.state._replace(n_iter=loop.state.n_iter + 1)
        iteration, first = loop.iteration + 1, state.n_iter == 1
        state = remember(state, grad, first)
        d = direction(state, grad)
        t = jnp.where(first, jnp.minimum(1.0, 1.0 / jnp.sum(jnp.abs(grad))) * rate, rate)
        state = state._replace(d=d, t=t, prev_flat_grad=grad, prev_loss=loss)
        gtd = jnp.dot(grad, d)

        def search() -> _Loop:
            start = Point(jnp.zeros_like(t), loss, grad, gtd)
            point, evals = strong_wolfe(
                lambda t: evaluate(_moved(loop.params, t, d)), start, t, d, most_evals - loop.evals
            )
            return arrive(point.t, point.f, point.g, evals)

        def fixed() -> _Loop:
            # torch does not evaluate the loss after the last iteration
            new = lax.cond(
                iteration < max_iter,
                lambda: (*evaluate(_moved(loop.params, t, d)), np.int32(1)),
                lambda: (loss, grad, np.int32(0)),
            )
            return arrive(t, *new)

        def arrive(t: Any, f: Any, g: Any, evals: Any) -> _Loop:
            total = loop.evals + evals
            done = (
                (total >= most_evals)
                | (jnp.max(jnp.abs(g)) <= tolerance_grad)
                | (jnp.max(jnp.abs(d * t)) <= tolerance_change)
                | (abs(f - loss) < tolerance_change)
            )
            after = state._replace(t=t, func_evals=state.func_evals + evals)
            return _Loop(_moved(loop.params, t, d), f, g, after, iteration, total, done)

        return lax.cond(
            gtd > -tolerance_change,
            lambda: loop._replace(state=state, iteration=iteration, done=jnp.ones((), bool)),
            fixed if line_search_fn is None else search,
        )

    def apply(
        return_update: bool, grads: PyTree, state: Any, params: PyTree, live: PyTree,
        *, value: Any = None, value_fn: Any = None, **extra: Any,
    ) -> Any:  # fmt: skip
        del extra
        if not callable(value_fn):
            raise ValueError(
                f"L-BFGS evaluates the loss itself, but value_fn is {value_fn}: call `step(grads, "
                "state, params, value=loss, value_fn=fun)`, where `fun(params)` is the loss"
            )
        leaves, treedef = jax.tree.flatten(params)
        leaves = [jnp.asarray(p) for p in leaves]
        if not sum(p.size for p in leaves):
            return jax.tree.map(jnp.subtract, params, params) if return_update else params, state
        dtype, alive = state.d.dtype, broadcast(live, params)
        passed = [0] * len(leaves) if grads is None else gradients(grads, params)

        def flat(grads: list[Any]) -> jax.Array:
            parts = zip(grads, leaves, passed, alive, strict=True)
            zeroed = [
                jnp.zeros_like(p) if none is None else jnp.where(on, g, jnp.zeros_like(p))
                for g, p, none, on in parts
            ]
            return _flat(zeroed).astype(dtype)

        def evaluate(leaves: list[Any]) -> tuple[Any, Any]:
            loss, grads = jax.value_and_grad(value_fn)(treedef.unflatten(leaves))
            return loss.astype(dtype), flat([jnp.conj(g) for g in jax.tree.leaves(grads)])

        if value is None or grads is None:
            value, start = evaluate(leaves)
        else:
            start = flat(passed)
        state = state._replace(func_evals=state.func_evals + 1)
        rate = jnp.asarray(lr(state.count) if callable(lr) else lr).astype(dtype).reshape(())
        at_rest = jnp.max(jnp.abs(start)) <= tolerance_grad
        one = jnp.ones((), np.int32)
        final = lax.while_loop(
            lambda loop: ~loop.done & (loop.iteration < max_iter),
            lambda loop: iterate(evaluate, rate, loop),
            _Loop(leaves, jnp.asarray(value, dtype), start, state, one * 0, one, at_rest),
        )
        state = final.state
        count = None if state.count is None else state.count + 1
        new = treedef.unflatten(final.params)
        new = jax.tree.map(jnp.subtract, new, params) if return_update else new
        return new, state._replace(count=count)

    tx = from_apply(init, apply)
    options = max_iter, max_eval, tolerance_grad, tolerance_change, history_size, line_search_fn
    return tx.rebuilt_by(lbfgs, lr, *options)


def _flat(leaves: list[Any]) -> jax.Array:
    """Flatten and concatenate all leaves, with complex numbers as real and imaginary parts."""
    parts = [jnp.asarray(x) for x in leaves]
    parts = [jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x for x in parts]
    return jnp.concatenate([x.ravel() for x in parts]) if parts else jnp.zeros(0)


def _moved(leaves: list[Any], t: Any, d: jax.Array) -> list[Any]:
    """Return the parameters plus `t * d`, the step length times the direction."""
    out, at = [], 0
    for p in leaves:
        parts = (*p.shape, 2) if jnp.iscomplexobj(p) else p.shape
        size = int(np.prod(parts))
        change = d[at : at + size].reshape(parts)
        if jnp.iscomplexobj(p):
            change = lax.complex(change[..., 0], change[..., 1])
        out.append((p + t * change).astype(p.dtype))
        at += size
    return out
