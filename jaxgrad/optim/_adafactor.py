"""Adafactor, which keeps second moments per row and per column instead of per element."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import argument_names
from jaxgrad._core.typing import Array, ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Scheduled, counter, elementwise
from jaxgrad.optim._core.scalars import is_zero, rounded
from jaxgrad.optim._core.transformation import Transformation, broadcast, from_apply, gradients


class AdafactorState(NamedTuple):
    """State of `adafactor`: `variance` for vectors, `row_var` and `col_var` for matrices."""

    step: PyTree
    row_var: PyTree
    col_var: PyTree
    variance: PyTree
    count: Any = None


def _rule(
    ops: Any, h: Any, grad: Any, param: Any, state: AdafactorState
) -> tuple[Any, AdafactorState]:
    step, t = ops.next(state.step)
    one_minus_beta2 = t**h.beta2_decay
    size = grad.size**0.5
    scale = (ops.double(_norm(ops.value(param))) / size).maximum(h.eps2)
    if not is_zero(h.weight_decay):
        param = ops.decay(param, h.lr * h.weight_decay)

    row_var, col_var, variance = state[1:4]
    if grad.ndim > 1:
        row_var = ops.lerp(row_var, _mean_square(ops, grad, -1), one_minus_beta2)
        col_var = ops.lerp(col_var, _mean_square(ops, grad, -2), one_minus_beta2)
        mean = _at_least(h.eps1, jnp.mean(row_var, -2, keepdims=True))
        estimate = ops.div(ops.mul(row_var, col_var), mean)
    else:
        variance = ops.lerp(variance, ops.mul(grad, grad), one_minus_beta2)
        estimate = variance

    update = ops.rdiv(ops.sqrt(_at_least(h.eps1 * h.eps1, estimate)), 1.0)
    update = ops.mul(update, grad)
    denom = (ops.double(_norm(update)) / (size * h.d)).maximum(1.0)

    def step_size(rho: Any) -> Any:
        return -(scale * rho) / denom

    slow = 1 / t**0.5
    alpha = ops.select(slow - h.lr < 0, step_size(slow), step_size(h.lr))
    state = AdafactorState(step, row_var, col_var, variance)
    return ops.add(param, update, alpha), state


def _norm(x: jax.Array, axis: int | None = None) -> jax.Array:
    """Return the 2-norm, computed in float32 or wider and rounded once."""
    wide = x.astype(jnp.promote_types(x.dtype, np.float32))
    return jnp.sqrt(jnp.sum(wide * wide, axis)).astype(x.dtype)


def _mean_square(ops: Any, grad: jax.Array, axis: int) -> jax.Array:
    norm = jnp.expand_dims(_norm(grad, axis), axis)
    return ops.div(ops.mul(norm, norm), grad.shape[axis])


def _at_least(bound: Any, x: jax.Array) -> jax.Array:
    return jnp.maximum(x, rounded(bound, x.dtype))


def _moments(axes: tuple[int, ...], param: Any) -> Array | None:
    """Return the initial moments averaged over `axes`, or None if the parameter has no such axes.

    A matrix's moments are averaged over one of its last two axes; a vector's are not averaged.
    """
    if jnp.iscomplexobj(param):
        raise RuntimeError(
            "Adafactor does not support complex parameters, but one is of dtype "
            f"{jnp.result_type(param)}"
        )
    shape = list(jnp.shape(param))
    if (len(shape) > 1) != bool(axes):
        return None
    for axis in axes:
        shape[axis] = 1
    return jnp.zeros(shape, jnp.result_type(param))


def _first_epsilon(grads: PyTree, params: PyTree, live: PyTree) -> Any:
    """Return the first machine epsilon of a parameter with a gradient; torch uses it for all."""
    leaves = zip(
        jax.tree.leaves(params), gradients(grads, params), broadcast(live, params), strict=True
    )
    epsilons = [
        (float(jnp.finfo(jnp.result_type(param)).eps), alive)
        for param, grad, alive in leaves
        if grad is not None and not (isinstance(alive, (bool, np.bool_)) and not alive)
    ]
    if len({eps for eps, _ in epsilons}) < 2:
        return epsilons[0][0] if epsilons else 0.0
    with jax.enable_x64(True):
        first = jnp.float64(0)
        for eps, alive in reversed(epsilons):
            first = jnp.where(alive, eps, first)
    return Scheduled(first)


@argument_names.checked
def adafactor(
    lr: ScalarOrSchedule = 1e-2,
    beta2_decay: ArrayLike = -0.8,
    eps: tuple[ArrayLike | None, ArrayLike] = (None, 1e-3),
    d: ArrayLike = 1.0,
    weight_decay: ArrayLike = 0.0,
    *,
    foreach: bool | None = None,
    maximize: bool = False,
    exact: bool = False,
) -> Transformation:
    """Adafactor: Adam without a first moment, with a second moment factored into rows and columns.

    Args:
        lr: Largest relative step: a number, a 1-element array, or a schedule `step -> lr`.
        beta2_decay: The second moment's decay rate at step t is `1 - t**beta2_decay`.
        eps: Lower bounds of the second moment's root and of a parameter's scale. None for the first
            is the machine epsilon of the first parameter that has a gradient.
        d: Clipping threshold: the largest root mean square of an update.
        weight_decay: Decoupled weight decay: each step subtracts `lr * weight_decay * param`.
        foreach: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Accepted for uniformity; no effect, because XLA orders the sums.

    Returns:
        A `Transformation`; its state has torch's `step`, `row_var` and `col_var` for parameters
        with two or more axes (the last two are factored), and `variance` for the others.

    Raises:
        ValueError: A hyperparameter is out of range.
        RuntimeError: A parameter is complex.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.adafactor(lr=0.5), jnp.array([1.0, -1.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w, state.variance)
        [ 0.5 -0.5] [9. 1.]

    Torch: `torch.optim.Adafactor` (torch/optim/_adafactor.py).

    Differs from optax in:
        1. Steps are `min(lr, 1/sqrt(t))` times the parameter's scale; `optax.adafactor` uses `lr`
           unchanged, and clips the scaled update to 1.
        2. The second moment's decay rate is `1 - t**beta2_decay`; optax's `decay_rate` shapes a
           different schedule.
        3. All matrices are factored; optax factors the two largest axes, and only if both are at
           least 128. A kernel stored as (in, out) still matches torch, because transposing a matrix
           swaps its factors; a convolution kernel must have torch's layout.
        4. `eps` bounds the factored second moment; optax adds it to the squared gradient.
    """
    checks.learning_rate(lr, "Learning rate should be >= 0 but is: {}")
    eps1, eps2 = checks.pair("eps", eps)
    text = "{} should be >= 0 but is: {{}}"
    negative = "beta2_decay should be <= 0 but is: {}"
    checks.check("beta2_decay", beta2_decay, lambda x: x <= 0.0, "at most 0.0", negative)
    if eps1 is not None:
        checks.not_negative("epsilon1", eps1, text.format("epsilon1"))
    checks.not_negative("epsilon2", eps2, text.format("epsilon2"))
    threshold = "Clipping threshold d should be >= 1 but is: {}"
    checks.check("d", d, lambda x: x >= 1.0, "at least 1.0", threshold)
    checks.not_negative("weight_decay", weight_decay, text.format("weight_decay"))
    del foreach, exact
    hyperparameters = dict(
        lr=lr, beta2_decay=beta2_decay, eps2=eps2, d=d, weight_decay=weight_decay
    )
    initial = AdafactorState(
        counter, *(functools.partial(_moments, axes) for axes in ((-1,), (-2,), ()))
    )

    def with_epsilon(eps1: Any) -> Transformation:
        settings = {**hyperparameters, "eps1": eps1}
        return elementwise(_rule, initial, settings, maximize=maximize)

    if eps1 is not None:
        return with_epsilon(eps1)

    def apply(
        return_update: bool, grads: PyTree, state: Any, params: PyTree, live: PyTree, **extra: Any
    ) -> Any:
        tx = with_epsilon(_first_epsilon(grads, params, live))
        method = tx.update if return_update else tx.step
        return method(grads, state, params, live=live, **extra)

    tx = from_apply(with_epsilon(0.0).init, apply)
    return tx.rebuilt_by(adafactor, lr, beta2_decay, eps, d, weight_decay, maximize=maximize)
