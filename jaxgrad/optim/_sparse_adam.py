"""Adam for rows that come and go, as those of an embedding: torch's SparseAdam."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import tree as _tree
from jaxgrad._core.typing import PyTree
from jaxgrad.optim._adam import AdamState
from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.transformation import Transformation, elementwise, gradients, zeros


def _counter(param: Any) -> jax.Array:
    """torch counts in Python's integers here."""
    if jnp.iscomplexobj(param):
        raise ValueError(
            "SparseAdam does not support complex parameters, but one is of dtype "
            f"{jnp.result_type(param)}"
        )
    return jnp.zeros((), np.int32)


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdamState) -> tuple[Any, AdamState]:
    step = state.step + 1

    def toward(old: Any, new: Any, weight: Any) -> Any:
        return ops.add(ops.mul(ops.sub(new, old), weight), old)

    exp_avg = toward(state.exp_avg, grad, 1 - h.beta1)
    exp_avg_sq = toward(state.exp_avg_sq, ops.mul(grad, grad), 1 - h.beta2)

    t = ops.double(step)
    bias_correction1 = 1 - h.beta1**t
    bias_correction2 = 1 - h.beta2**t
    step_size = h.lr * bias_correction2.sqrt() / bias_correction1
    update = ops.div(exp_avg, ops.add(ops.sqrt(exp_avg_sq), h.eps))
    param = ops.add(param, ops.mul(update, -step_size))
    return param, AdamState(step, exp_avg, exp_avg_sq, None)


def sparse_adam(
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: Any = 1e-8,
    maximize: bool = False,
    *,
    exact: bool = False,
) -> Transformation:
    """Adam that leaves alone, with their moments, the rows that have no gradient.

    `step` and `update` have one argument more, `rows`: a tree like the parameters, or a prefix of
    it, that says which rows have a gradient. For a parameter it is an array of bools, of the shape
    of the parameter's first axes; or of integers, the numbers of the rows in any order and shape,
    as often as they occur: what an embedding was given. Without it, or where it is None, the rows
    with a gradient are those in which it is not zero everywhere. torch knows better: there a row
    that was looked up has a gradient, also if it is zero.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      betas: How much of the averages of the gradient and of its square stays, two numbers.
      eps: Added to the root of the second moment, which is not corrected.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, which counts for all rows, `exp_avg` and
      `exp_avg_sq`, trees like the parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds, a parameter is complex, or `rows` has another
        shape than the first axes of its parameter.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, table = jaxgrad.optim.sparse_adam(0.5, (0.5, 0.75)), jnp.ones((3, 2))
      >>> tokens = jnp.array([2, 0, 2])
      >>> grads = jnp.array([[1.0, 1.0], [0.0, 0.0], [-1.0, 0.0]])
      >>> table, state = tx.step(grads, tx.init(table), table, rows=tokens)
      >>> print((10 * table).round())
      [[ 5.  5.]
       [10. 10.]
       [15. 10.]]

    Torch: `torch.optim.SparseAdam` (torch/optim/sparse_adam.py), which takes sparse gradients.

    Differs from optax in:
      1. `optax.adam` moves a row without a gradient by its stale moments.
      2. `eps` is added before the second moment is corrected.
    """
    _checks.learning_rate(lr, "Invalid learning rate: {}", positive=True)
    _checks.check(
        "epsilon", eps, lambda x: x > 0.0, "greater than 0.0", "Invalid epsilon value: {}"
    )
    _checks.betas(betas)
    beta1, beta2 = betas
    hyperparameters = dict(lr=lr, beta1=beta1, beta2=beta2, eps=eps)
    initial = AdamState(_counter, zeros, zeros, None)
    dense = elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)

    def keep(grads: PyTree, rows: PyTree, old: Any, new: Any) -> Any:
        """What of `new` is in rows with a gradient, and the others of `old`."""
        (at, before), (to, after) = old, new
        masks = jax.tree.structure(to).unflatten(_masks(grads, rows, to))

        def chosen(new: PyTree, old: PyTree) -> PyTree:
            return jax.tree.map(jnp.where, masks, new, old)

        moments = chosen(after.exp_avg, before.exp_avg), chosen(after.exp_avg_sq, before.exp_avg_sq)
        state = after._replace(exp_avg=moments[0], exp_avg_sq=moments[1])
        return chosen(to, at), state

    def step(
        grads: PyTree, state: Any, params: PyTree,
        *, live: PyTree = None, rows: PyTree = None, **extra: Any,
    ) -> Any:  # fmt: skip
        new = dense.step(grads, state, params, live=live, **extra)
        return keep(grads, rows, (params, state), new)

    def update(
        grads: PyTree, state: Any, params: PyTree = None,
        *, live: PyTree = None, rows: PyTree = None, **extra: Any,
    ) -> Any:  # fmt: skip
        new = dense.update(grads, state, params, live=live, **extra)
        return keep(grads, rows, (jax.tree.map(jnp.zeros_like, params), state), new)

    return Transformation(dense.init, update, step)


def _masks(grads: PyTree, rows: PyTree, params: PyTree) -> list[jax.Array]:
    """For every parameter which of its rows have a gradient, to be broadcast with it."""

    def below(rows: Any, subtree: PyTree) -> PyTree:
        return jax.tree.map(lambda _: rows, subtree)

    given = jax.tree.map(below, rows, params, is_leaf=_tree.is_none)
    treedef = jax.tree.structure(params)
    columns = _tree.named(params), gradients(grads, params), treedef.flatten_up_to(given)
    return [_mask(grad, rows, *named) for named, grad, rows in zip(*columns, strict=True)]


def _mask(grad: Any, rows: Any, name: str, param: jax.Array) -> jax.Array:
    if grad is None:
        return jnp.zeros((), bool)
    shape = jnp.shape(param)
    if rows is None:
        return jnp.any(grad != 0, range(1, len(shape)), keepdims=True)
    rows = jnp.asarray(rows)
    if jnp.issubdtype(rows.dtype, jnp.integer):
        rows = jnp.zeros(shape[:1], bool).at[rows.ravel()].set(True)
    if rows.dtype != bool or rows.shape != shape[: rows.ndim]:
        raise ValueError(
            f"the rows of {name} are of dtype {rows.dtype} and shape {rows.shape}, but the "
            f"parameter has shape {shape}: give integers, or bools for its first axes"
        )
    return rows.reshape(rows.shape + (1,) * (len(shape) - rows.ndim))
