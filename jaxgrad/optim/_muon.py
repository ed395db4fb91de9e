"""Muon, which orthogonalizes the momentum of each matrix."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, elementwise
from jaxgrad.optim._core.scalars import is_zero, rounded


class MuonState(NamedTuple):
    """State of `muon`: a tree like the parameters, and the schedule's step `count`."""

    momentum_buffer: PyTree
    count: Any = None


def _buffer(param: Any) -> jax.Array:
    """Return a matrix's initial momentum buffer; raise torch's error for any other parameter."""
    if jnp.iscomplexobj(param):
        raise RuntimeError(
            f"Muon does not support complex parameters, but one is of dtype {param.dtype}"
        )
    if jnp.ndim(param) != 2:
        raise ValueError(
            "Muon only supports 2D parameters whereas we found a parameter with size: "
            f"{jnp.shape(param)}. Give the others to another optimizer: "
            "`jaxgrad.optim.param_groups` or `optax.partition`"
        )
    return jnp.zeros_like(param)


def _rule(
    ops: Any, h: Any, grad: Any, param: Any, state: MuonState,
    *, nesterov: bool, ns_steps: int, adjust_lr_fn: str | None,
) -> tuple[Any, MuonState]:  # fmt: skip
    buffer = ops.lerp(state.momentum_buffer, grad, 1 - h.momentum)
    update = ops.lerp(grad, buffer, h.momentum) if nesterov else buffer
    update = _zeropower(update, (h.a, h.b, h.c), ns_steps, h.eps).astype(grad.dtype)
    if not is_zero(h.weight_decay):
        param = ops.decay(param, h.lr * h.weight_decay)
    return ops.add(param, update, -h.lr * _ratio(adjust_lr_fn, grad.shape)), MuonState(buffer)


def _zeropower(x: jax.Array, coefficients: tuple[Any, Any, Any], steps: int, eps: Any) -> jax.Array:
    """Orthogonalize `x` by Newton-Schulz iterations in bfloat16."""
    a, b, c = (rounded(k, np.float32) for k in coefficients)
    tall = x.shape[0] > x.shape[1]
    y = _wide(_half(x.T if tall else x))
    norm = _wide(_half(jnp.sqrt(jnp.sum(y * y))))
    y = _half(y / jnp.maximum(norm, _wide(_half(rounded(eps, np.float32)))))
    for _ in range(steps):
        gram = _half(_matmul(y, y.T))
        gram = _half(b * _wide(gram) + c * _matmul(gram, gram))
        y = _half(a * _wide(y) + _matmul(gram, y))
    return y.T if tall else y


def _matmul(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.matmul(x, y, preferred_element_type=np.float32)


def _half(x: Any) -> jax.Array:
    return jnp.asarray(x, np.float32).astype(jnp.bfloat16)


def _wide(x: jax.Array) -> jax.Array:
    return x.astype(np.float32)


def _ratio(adjust_lr_fn: str | None, shape: tuple[int, ...]) -> float:
    """Return the factor that scales the learning rate for a matrix of this shape."""
    rows, columns = shape
    if adjust_lr_fn == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


@argument_names.checked
def muon(
    lr: ScalarOrSchedule = 1e-3,
    weight_decay: ArrayLike = 0.1,
    momentum: ArrayLike = 0.95,
    nesterov: bool = True,
    ns_coefficients: tuple[ArrayLike, ArrayLike, ArrayLike] = (3.4445, -4.7750, 2.0315),
    eps: ArrayLike = 1e-7,
    ns_steps: int = 5,
    adjust_lr_fn: str | None = None,
    *,
    exact: bool = False,
) -> Transformation:
    """Muon: orthogonalized momentum, for the weight matrices of hidden layers.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        weight_decay: Decoupled weight decay: each step subtracts `lr * weight_decay * param`.
        momentum: Decay rate of the average of the gradients.
        nesterov: Use Nesterov momentum.
        ns_coefficients: The three coefficients of the Newton-Schulz iteration.
        eps: Lower bound of the norm by which the matrix is divided before the iteration.
        ns_steps: Number of Newton-Schulz iterations, fewer than 100.
        adjust_lr_fn: How to scale `lr`: `"original"` (or None) multiplies it by
            `sqrt(max(1, rows / columns))`, `"match_rms_adamw"` by `0.2 * sqrt(max(rows, columns))`.
        exact: Reproduce torch's elementwise arithmetic; matrix products remain XLA's.

    Returns:
        A `Transformation`; its state has torch's `momentum_buffer`, a tree like the parameters.

    Raises:
        ValueError: A hyperparameter is out of range, or a parameter is not a matrix.
        RuntimeError: A parameter is complex.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.muon(lr=0.5, momentum=0.5), jnp.zeros((2, 3))
        >>> w, state = tx.step(jnp.ones((2, 3)), tx.init(w), w)
        >>> print(state.momentum_buffer)
        [[0.5 0.5 0.5]
         [0.5 0.5 0.5]]

    Torch: `torch.optim.Muon` (torch/optim/_muon.py).

    Differs from optax in:
        1. The iteration runs in bfloat16 whatever the dtype of the parameters.
        2. A parameter that is not a matrix is an error; `optax.contrib.muon` gives it to AdamW.
        3. `"original"` assumes that rows are outputs, as in torch: transpose a kernel stored as
           (in, out), or use `"match_rms_adamw"`.
        4. The momentum is an average that starts at zero, without bias correction.
        5. `weight_decay` defaults to 0.1, and is applied before the step.
    """
    text = "{} should be >= 0 but is: {{}}"
    checks.learning_rate(lr, text.format("Learning rate"))
    checks.not_negative("momentum", momentum, text.format("momentum"))
    checks.not_negative("weight_decay", weight_decay, text.format("weight decay"))
    if adjust_lr_fn not in {None, "original", "match_rms_adamw"}:
        raise ValueError(
            f"Adjust learning rate function {adjust_lr_fn} is not supported: take 'original' or "
            "'match_rms_adamw'"
        )
    if ns_steps >= 100:
        raise ValueError(
            "Number of steps must be less than 100 for computational efficiency, but it is "
            f"{ns_steps}"
        )
    if len(ns_coefficients) != 3:
        raise ValueError(
            f"Coefficients must be a tuple of exactly 3 values, but they are {ns_coefficients}"
        )
    a, b, c = ns_coefficients
    rule = functools.partial(_rule, nesterov=nesterov, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn)
    hyperparameters = dict(
        lr=lr, weight_decay=weight_decay, momentum=momentum, a=a, b=b, c=c, eps=eps
    )
    return elementwise(rule, MuonState(_buffer), hyperparameters, exact=exact)
