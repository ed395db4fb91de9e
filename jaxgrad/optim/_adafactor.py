"""Adafactor: second moments of rows and columns instead of elements, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat
from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_zero, rounded
from jaxgrad.optim._core.transformation import (
    Scheduled,
    Transformation,
    broadcast,
    counter,
    elementwise,
    gradients,
)


class AdafactorState(NamedTuple):
    """Trees like the parameters: of a vector `variance`, of all else `row_var` and `col_var`."""

    step: Any
    row_var: Any
    col_var: Any
    variance: Any
    count: Any = None


def _rule(
    ops: Any, h: Any, grad: Any, param: Any, state: AdafactorState
) -> tuple[Any, AdafactorState]:
    step = state.step + 1
    t = ops.double(step)
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
    """The 2-norm, in float32 at least, and rounded once."""
    wide = x.astype(jnp.promote_types(x.dtype, np.float32))
    return jnp.sqrt(jnp.sum(wide * wide, axis)).astype(x.dtype)


def _mean_square(ops: Any, grad: jax.Array, axis: int) -> jax.Array:
    norm = jnp.expand_dims(_norm(grad, axis), axis)
    return ops.div(ops.mul(norm, norm), grad.shape[axis])


def _at_least(bound: Any, x: jax.Array) -> jax.Array:
    return jnp.maximum(x, rounded(bound, x.dtype))


def _without(*axes: int) -> Any:
    """What makes the first moments along all axes but these; a vector has none."""

    def make(param: Any) -> jax.Array | None:
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

    return make


def _first_epsilon(grads: PyTree, params: PyTree, live: PyTree) -> Any:
    """The machine epsilon of the first parameter with a gradient, which torch takes for all."""
    leaves = zip(
        jax.tree.leaves(params), gradients(grads, params), broadcast(live, params), strict=True
    )
    found = [
        (float(jnp.finfo(jnp.result_type(param)).eps), alive)
        for param, grad, alive in leaves
        if grad is not None and not (isinstance(alive, (bool, np.bool_)) and not alive)
    ]
    if len({eps for eps, _ in found}) < 2:
        return found[0][0] if found else 0.0
    with compat.enable_x64():
        first = jnp.float64(0)
        for eps, alive in reversed(found):
            first = jnp.where(alive, eps, first)
    return Scheduled(first)


def adafactor(
    lr: Any = 1e-2,
    beta2_decay: Any = -0.8,
    eps: tuple[Any, Any] = (None, 1e-3),
    d: Any = 1.0,
    weight_decay: Any = 0.0,
    *,
    foreach: bool | None = None,
    maximize: bool = False,
    exact: bool = False,
) -> Transformation:
    """Adam without a first moment, its second one factored into rows and columns.

    Args:
      lr: The largest relative step: a number, an array of one element, or a schedule `step -> lr`.
      beta2_decay: The power of the step count by which the second moment forgets less and less.
      eps: The least second moment, as its root, or None for the machine epsilon (of the first
        parameter that has a gradient); and the least scale of a parameter.
      d: The root mean square above which an update is clipped.
      weight_decay: Times `lr`, what the parameters lose at each step.
      foreach: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: Accepted as for the other optimizers, without effect: its sums are XLA's.

    Returns:
      A `Transformation`; its state has torch's `step`, and `row_var` and `col_var` of parameters
      with two axes or more (the last two are factored), `variance` of the others; None elsewhere.

    Raises:
      ValueError: A hyperparameter is out of bounds.
      RuntimeError: A parameter is complex.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.adafactor(lr=0.5), jnp.array([1.0, -1.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w, state.variance)
      [ 0.5 -0.5] [9. 1.]

    Torch: `torch.optim.Adafactor` (torch/optim/_adafactor.py).

    Differs from optax in:
      1. Steps are `min(lr, 1/sqrt(t))` times the parameter's scale; `optax.adafactor` takes `lr`
         as it is, and clips the scaled update to 1.
      2. The second moment forgets by `t**beta2_decay`; there `decay_rate` bends another schedule.
      3. All matrices are factored; there only those with 128 rows and columns or more, and along
         their two largest axes. A kernel stored (in, out) gives torch's numbers, as a matrix has
         the same factors transposed; one of a convolution is to be stored as torch stores it.
      4. `eps` bounds the factored second moment; there it is added to the squared gradient.
    """
    _checks.learning_rate(lr, "Learning rate should be >= 0 but is: {}")
    eps1, eps2 = eps
    text = "{} should be >= 0 but is: {{}}"
    _checks.check(
        "beta2_decay", beta2_decay, lambda x: x <= 0.0, "at most 0.0",
        "beta2_decay should be <= 0 but is: {}",
    )  # fmt: skip
    if eps1 is not None:
        _checks.not_negative("epsilon1", eps1, text.format("epsilon1"))
    _checks.not_negative("epsilon2", eps2, text.format("epsilon2"))
    _checks.check(
        "d", d, lambda x: x >= 1.0, "at least 1.0", "Clipping threshold d should be >= 1 but is: {}"
    )
    _checks.not_negative("weight_decay", weight_decay, text.format("weight_decay"))
    del foreach, exact
    hyperparameters = dict(
        lr=lr, beta2_decay=beta2_decay, eps2=eps2, d=d, weight_decay=weight_decay
    )
    initial = AdafactorState(counter, _without(-1), _without(-2), _without())

    def with_epsilon(eps1: Any) -> Transformation:
        settings = {**hyperparameters, "eps1": eps1}
        return elementwise(_rule, initial, settings, maximize=maximize)

    if eps1 is not None:
        return with_epsilon(eps1)

    def step(
        grads: PyTree, state: Any, params: PyTree, *, live: PyTree = None, **extra: Any
    ) -> Any:
        tx = with_epsilon(_first_epsilon(grads, params, live))
        return tx.step(grads, state, params, live=live, **extra)

    def update(
        grads: PyTree, state: Any, params: PyTree = None, *, live: PyTree = None, **extra: Any
    ) -> Any:
        tx = with_epsilon(0.0 if params is None else _first_epsilon(grads, params, live))
        return tx.update(grads, state, params, live=live, **extra)

    return Transformation(with_epsilon(0.0).init, update, step)
