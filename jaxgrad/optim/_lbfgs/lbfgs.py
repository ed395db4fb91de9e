"""L-BFGS, up to `max_iter` iterations a step and with torch's line search, as torch has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.transformation import Transformation, broadcast, gradients
from jaxgrad.optim._lbfgs.history import LBFGSState, direction, remember
from jaxgrad.optim._lbfgs.wolfe import Point, strong_wolfe


class _Loop(NamedTuple):
    """What changes from iteration to iteration."""

    params: Any
    loss: Any
    grad: Any
    state: LBFGSState
    iteration: Any
    evals: Any
    done: Any


def lbfgs(
    lr: Any = 1,
    max_iter: int = 20,
    max_eval: int | None = None,
    tolerance_grad: Any = 1e-7,
    tolerance_change: Any = 1e-9,
    history_size: int = 100,
    line_search_fn: str | None = None,
    *,
    exact: bool = False,
) -> Transformation:
    """L-BFGS: each step is many iterations, which evaluate the loss themselves.

    As in `optax.lbfgs`, `update` and `step` take the loss and its gradient where the parameters
    are, and as `value_fn` the function that torch calls the closure:
    `step(grads, state, params, value=loss, value_fn=fun)`. Without `value`, or with None for
    `grads`, they are computed. `value_fn` takes the parameters alone and is differentiated by JAX;
    all runs in one `lax.while_loop`, under `jit` too.

    Args:
      lr: The step length, or with a line search its first try: a number, an array of one element,
        or a schedule `step -> lr`.
      max_iter: The most iterations in one step.
      max_eval: The most evaluations in one step; 5/4 of `max_iter` if not given.
      tolerance_grad: The step ends where no element of the gradient is larger.
      tolerance_change: It ends where the parameters or the loss change by less.
      history_size: How many iterations are remembered.
      line_search_fn: `"strong_wolfe"`, or None for the fixed step length `lr`.
      exact: Accepted as for the other optimizers, without effect: it is all sums.

    Returns:
      A `Transformation`; its state has torch's fields: `func_evals`, `n_iter`, `d`, `t`,
      `old_dirs`, `old_stps`, `ro`, `H_diag`, `prev_flat_grad`, `prev_loss`. One state is for all
      parameters: a None gradient, and `live`, only make zeros of a gradient, here as in torch.

    Raises:
      ValueError: A hyperparameter is out of bounds; or `update` is not given `value_fn`.
      RuntimeError: `line_search_fn` is another.

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
      1. One step is up to `max_iter` iterations, not one.
      2. The first iteration is scaled by `min(1, 1 / sum(abs(g)))`; there by the 2-norm.
      3. The line search is torch's; there it is another zoom, or backtracking.
      4. A pair of the history is left out unless `y . s > 1e-10`.
      5. Of complex parameters the gradient is torch's, the conjugate of JAX's.
    """
    _checks.learning_rate(lr)
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
            found, evals = strong_wolfe(
                lambda t: evaluate(_moved(loop.params, t, d)), start, t, d, most_evals - loop.evals
            )
            return arrive(found.t, found.f, found.g, evals)

        def fixed() -> _Loop:
            # not evaluated once more after the last iteration
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

    def step(
        grads: PyTree, state: Any, params: PyTree,
        *, live: PyTree = None, value: Any = None, value_fn: Any = None, **extra: Any,
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
            return params, state
        dtype, alive = state.d.dtype, broadcast(live, params)
        given = [0] * len(leaves) if grads is None else gradients(grads, params)

        def flat(grads: list[Any]) -> jax.Array:
            parts = zip(grads, leaves, given, alive, strict=True)
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
            start = flat(given)
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
        return treedef.unflatten(final.params), state._replace(count=count)

    def update(grads: PyTree, state: Any, params: PyTree = None, **extra: Any) -> Any:
        if params is None:
            raise ValueError("the parameters are missing: call `update(grads, state, params, ...)`")
        new, state = step(grads, state, params, **extra)
        return jax.tree.map(jnp.subtract, new, params), state

    return Transformation(init, update, step)


def _flat(leaves: list[Any]) -> jax.Array:
    """All numbers in a row, the two parts of a complex one side by side."""
    parts = [jnp.asarray(x) for x in leaves]
    parts = [jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x for x in parts]
    return jnp.concatenate([x.ravel() for x in parts]) if parts else jnp.zeros(0)


def _moved(leaves: list[Any], t: Any, d: jax.Array) -> list[Any]:
    """The parameters, `t` along `d` further."""
    out, at = [], 0
    for p in leaves:
        parts = (*p.shape, 2) if jnp.iscomplexobj(p) else p.shape
        size = int(np.prod(parts))
        by = d[at : at + size].reshape(parts)
        if jnp.iscomplexobj(p):
            by = lax.complex(by[..., 0], by[..., 1])
        out.append((p + t * by).astype(p.dtype))
        at += size
    return out
