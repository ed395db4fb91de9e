"""Rprop."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, filled, zeros
from jaxgrad.optim._core.scalars import is_number, rounded


class RpropState(NamedTuple):
    """State of `rprop`: trees like the parameters, and the schedule's step `count`."""

    step: PyTree
    prev: PyTree
    step_size: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: RpropState) -> tuple[Any, RpropState]:
    dtype = grad.dtype
    step_size = state.step_size
    if not is_number(h.lr):  # torch creates the state at the first step, from its rate
        step_size = jnp.where(state.step == 0, rounded(h.lr, dtype), step_size)

    product = ops.mul(grad, state.prev)
    flipped, minus, plus = product < 0, rounded(h.etaminus, dtype), rounded(h.etaplus, dtype)
    low, high = rounded(h.step_size_min, dtype), rounded(h.step_size_max, dtype)
    # XLA on CPU recomputes a clip with constant bounds for each use. Selecting between two equal
    # bounds makes it compute the clip once (16 flops instead of 22).
    low = jnp.where(flipped, low, low)
    factor = jnp.where(flipped, minus, jnp.where(product > 0, plus, 1))
    step_size = jax.lax.clamp(low, ops.mul(step_size, factor), high)

    grad = jnp.where(flipped, 0, grad)
    param = ops.add(param, ops.mul(ops.sign(grad), step_size), -1)
    return param, RpropState(state.step + 1, grad, step_size)


@argument_names.checked
def rprop(
    lr: ScalarOrSchedule = 1e-2,
    etas: tuple[ArrayLike, ArrayLike] = (0.5, 1.2),
    step_sizes: tuple[ArrayLike, ArrayLike] = (1e-6, 50),
    *,
    capturable: bool = False,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    exact: bool = False,
) -> Transformation:
    """Rprop: grows the step size while the gradient keeps its sign, and shrinks it when it flips.

    Args:
        lr: Initial step size: a number, a 1-element array, or a schedule.
        etas: Factors by which a step size shrinks and grows.
        step_sizes: Smallest and largest step size.
        capturable, foreach, differentiable: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step`, `prev` and `step_size`.

    Raises:
        ValueError: A hyperparameter is out of range.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.rprop(lr=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w, state.step_size)
        [0.5 2.5] [0.5 0.5]

    Torch: `torch.optim.Rprop` (torch/optim/rprop.py).

    Differs from optax in:
        1. Each step uses the step size updated by the current gradient; `optax.rprop` uses that of
           the previous step.
        2. A None gradient leaves the parameter and its state unchanged.
    """
    checks.learning_rate(lr)
    etaminus, etaplus = checks.pair("etas", etas)
    bound, text = "0.0 < etaminus < 1.0 < etaplus", f"Invalid eta values: {etaminus}, {etaplus}"
    checks.check("etas", etaminus, lambda x: 0.0 < x < 1.0, bound, text)
    checks.check("etas", etaplus, lambda x: x > 1.0, bound, text)
    del capturable, foreach, differentiable
    step_size_min, step_size_max = checks.pair("step_sizes", step_sizes)
    hyperparameters = dict(
        lr=lr, etaminus=etaminus, etaplus=etaplus,
        step_size_min=step_size_min, step_size_max=step_size_max,
    )  # fmt: skip
    initial = RpropState(counter, zeros, functools.partial(filled, lr if is_number(lr) else 0.0))
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
