"""SparseAdam: Adam for embeddings and other parameters whose steps update only some rows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import argument_names, paths
from jaxgrad._core import tree as _tree
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._adam import AdamState
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import elementwise, zeros
from jaxgrad.optim._core.transformation import Transformation, from_apply, gradients


def _counter(param: Any) -> jax.Array:
    """Return the first step count; SparseAdam's counts are integers."""
    if jnp.iscomplexobj(param):
        raise ValueError(
            "SparseAdam does not support complex parameters, but one is of dtype "
            f"{jnp.result_type(param)}"
        )
    return jnp.zeros((), np.int32)


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdamState) -> tuple[Any, AdamState]:
    step, t = ops.next(state.step)

    def moved(old: Any, new: Any, weight: Any) -> Any:
        return ops.add(ops.mul(ops.sub(new, old), weight), old)

    exp_avg = moved(state.exp_avg, grad, 1 - h.beta1)
    exp_avg_sq = moved(state.exp_avg_sq, ops.mul(grad, grad), 1 - h.beta2)

    bias_correction1 = 1 - h.beta1**t
    bias_correction2 = 1 - h.beta2**t
    step_size = h.lr * bias_correction2.sqrt() / bias_correction1
    update = ops.div(exp_avg, ops.add(ops.sqrt(exp_avg_sq), h.eps))
    param = ops.add(param, ops.mul(update, -step_size))
    return param, AdamState(step, exp_avg, exp_avg_sq, None)


@argument_names.checked
def sparse_adam(
    lr: ScalarOrSchedule = 1e-3,
    betas: tuple[ArrayLike, ArrayLike] = (0.9, 0.999),
    eps: ArrayLike = 1e-8,
    maximize: bool = False,
    *,
    exact: bool = False,
) -> Transformation:
    """SparseAdam: Adam that updates only rows with a gradient, including their moments.

    `step` and `update` take one more argument, `rows`: a tree like the parameters, or a prefix of
    it, that selects the rows with a gradient. Its leaves are boolean arrays with the shape of the
    parameter's first axes, or integer arrays of row indices in any order and shape, with
    repetitions (an embedding's input). Without `rows`, or where it is None, a row has a gradient if
    any element of its gradient is nonzero. torch's sparse gradients are more precise: torch also
    updates a row that was looked up but has a zero gradient.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        betas: Decay rates of the first- and second-moment averages.
        eps: Added to the root of the uncorrected second moment, for numerical stability.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step` (one count for all rows), `exp_avg` and
        `exp_avg_sq`.

    Raises:
        ValueError: A hyperparameter is out of range, a parameter is complex, or the shape of `rows`
            does not match the first axes of its parameter.

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
        1. `optax.adam` moves rows without a gradient by their stale moments.
        2. `eps` is added before the second moment's bias correction.
    """
    checks.learning_rate(lr, "Invalid learning rate: {}", positive=True)
    checks.check("epsilon", eps, lambda x: x > 0.0, "greater than 0.0", "Invalid epsilon value: {}")
    checks.betas(betas)
    hyperparameters = dict(lr=lr, beta1=betas[0], beta2=betas[1], eps=eps)
    initial = AdamState(_counter, zeros, zeros, None)
    dense = elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)

    def keep(grads: PyTree, rows: PyTree, old: Any, new: Any) -> Any:
        """Take the rows with a gradient from `new` and all other rows from `old`."""
        (at, before), (to, after) = old, new
        masks = jax.tree.structure(to).unflatten(_masks(grads, rows, to))

        def select(new: PyTree, old: PyTree) -> PyTree:
            return jax.tree.map(jnp.where, masks, new, old)

        moments = select(after.exp_avg, before.exp_avg), select(after.exp_avg_sq, before.exp_avg_sq)
        state = after._replace(exp_avg=moments[0], exp_avg_sq=moments[1])
        return select(to, at), state

    def apply(
        return_update: bool, grads: PyTree, state: Any, params: PyTree, live: PyTree,
        *, rows: PyTree = None, **extra: Any,
    ) -> Any:  # fmt: skip
        method = dense.update if return_update else dense.step
        unchanged = jax.tree.map(jnp.zeros_like, params) if return_update else params
        new = method(grads, state, params, live=live, **extra)
        return keep(grads, rows, (unchanged, state), new)

    tx = from_apply(dense.init, apply)
    return tx.rebuilt_by(sparse_adam, lr, betas, eps, maximize, exact=exact)


def _masks(grads: PyTree, rows: PyTree, params: PyTree) -> list[jax.Array]:
    """Return each parameter's mask of rows with a gradient, broadcastable to the parameter."""

    def below(rows: Any, subtree: PyTree) -> PyTree:
        return jax.tree.map(lambda _: rows, subtree)

    spread = jax.tree.map(below, rows, params, is_leaf=_tree.is_none)
    treedef = jax.tree.structure(params)
    columns = paths.named(params), gradients(grads, params), treedef.flatten_up_to(spread)
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
            f"the rows of {name!r} have dtype {rows.dtype} and shape {rows.shape}, but the "
            f"parameter has shape {shape}: pass integers, or bools for its first axes"
        )
    return rows.reshape(rows.shape + (1,) * (len(shape) - rows.ndim))
