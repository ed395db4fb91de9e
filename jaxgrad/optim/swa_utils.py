"""Averages of the weights over a training: stochastic weight averaging, and moving averages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import PyTree
from jaxgrad.optim.lr_scheduler import swalr as swalr


AvgFn = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
MultiAvgFn = Callable[[list[jax.Array], list[jax.Array], jax.Array], list[jax.Array]]


class AveragedModelState(NamedTuple):
    """The averages so far."""

    n_averaged: jax.Array  # int32, of shape (): how many updates they are made of
    module: PyTree  # like the parameters
    buffers: PyTree  # like the buffers


class AveragedModel:
    """What `averaged_model` returns: `init` and `update`."""

    def __init__(
        self, avg_fn: AvgFn | None, multi_avg_fn: MultiAvgFn | None, use_buffers: bool
    ) -> None:
        self.avg_fn = get_swa_avg_fn() if avg_fn is None else avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def init(self, params: PyTree, buffers: PyTree = None) -> AveragedModelState:
        """The state before the first update: a copy of the model."""
        return AveragedModelState(jnp.int32(0), *jax.tree.map(jnp.asarray, (params, buffers)))

    def update(
        self, state: AveragedModelState, params: PyTree, buffers: PyTree = None
    ) -> AveragedModelState:
        """torch's `update_parameters(model)`: the first one copies, the others average.

        Args:
          state: The averages so far.
          params: The parameters now.
          buffers: The buffers now (running statistics, counters).

        Returns:
          The averages with this model in them.
        """
        n = state.n_averaged
        averaged, current = state.module, params
        if self.use_buffers:
            averaged, current = (state.module, state.buffers), (params, buffers)
        olds, tree = jax.tree.flatten(averaged)
        news = tree.flatten_up_to(current)
        if self.multi_avg_fn is not None:
            means = self.multi_avg_fn(olds, news, n)
        else:
            means = [self.avg_fn(old, new, n) for old, new in zip(olds, news, strict=True)]
        made = [
            jnp.where(n == 0, new, mean.astype(old.dtype)).astype(old.dtype)
            for old, new, mean in zip(olds, news, means, strict=True)
        ]
        result = jax.tree.unflatten(tree, made)
        module, buffers = result if self.use_buffers else (result, buffers)
        return AveragedModelState(n + 1, module, buffers)


def averaged_model(
    avg_fn: AvgFn | None = None,
    multi_avg_fn: MultiAvgFn | None = None,
    use_buffers: bool = False,
) -> AveragedModel:
    """The average of a model over the updates: of equal weights, or what `avg_fn` says.

    Args:
      avg_fn: `(averaged, current, n_averaged) -> averaged`, for each leaf; the default is
        `get_swa_avg_fn()`.
      multi_avg_fn: The same for the lists of all leaves.
      use_buffers: Whether buffers are averaged too; else they are those of the last model. An
        integer buffer stays an integer: its average is cut off, as in torch.

    Returns:
      An object with `init(params, buffers=None) -> state` and
      `update(state, params, buffers=None) -> state`; the averages are `state.module`.

    Raises:
      ValueError: Both functions are given.

    Example:
      >>> import jax.numpy as jnp
      >>> model = averaged_model()
      >>> state = model.init({"w": jnp.zeros(2)})
      >>> for w in (1.0, 2.0, 6.0):
      ...     state = model.update(state, {"w": jnp.full(2, w)})
      >>> print(state.module["w"], state.n_averaged)
      [3. 3.] 3

    Torch: `torch.optim.swa_utils.AveragedModel`.

    Differs from optax in:
      1. `optax.ema` averages updates, and corrects the bias of a start at zero; this averages
         parameters, and starts at the first of them.
    """
    if avg_fn is not None and multi_avg_fn is not None:
        raise ValueError(
            "Only one of avg_fn and multi_avg_fn should be provided, "
            f"got avg_fn={avg_fn} and multi_avg_fn={multi_avg_fn}"
        )
    return AveragedModel(avg_fn, multi_avg_fn, use_buffers)


def get_swa_avg_fn() -> AvgFn:
    """The mean of all models: every one has the same weight. See `averaged_model`."""

    def swa_update(averaged: jax.Array, current: jax.Array, n: jax.Array) -> jax.Array:
        return averaged + _wide(current - averaged, lambda x: x / (n + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> AvgFn:
    """A moving average: the last model has weight `1 - decay`. See `averaged_model`.

    Raises:
      ValueError: `decay` is not between 0 and 1.
    """
    _check_decay(decay)

    def ema_update(averaged: jax.Array, current: jax.Array, n: jax.Array) -> jax.Array:
        del n
        return _wide(averaged, lambda x: decay * x) + _wide(current, lambda x: (1 - decay) * x)

    return ema_update


def get_swa_multi_avg_fn() -> MultiAvgFn:
    """`get_swa_avg_fn` for all leaves, as an interpolation whose weight is a float32.

    Raises:
      TypeError: Where it is used: a leaf is an integer, which torch does not average so either.
    """

    def swa_update(averaged: Any, current: Any, n: jax.Array) -> list[jax.Array]:
        for x in averaged:
            if not jnp.issubdtype(x.dtype, jnp.inexact):
                raise TypeError(
                    f"Integer division with addcdiv is no longer supported: a leaf is {x.dtype}; "
                    "use get_swa_avg_fn, or leave the leaf out"
                )
        weight = jnp.float32(1) / (n + 1).astype(jnp.float32)
        return [_lerp(a, b, weight) for a, b in zip(averaged, current, strict=True)]

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAvgFn:
    """`get_ema_avg_fn` for all leaves, as an interpolation.

    Raises:
      ValueError: `decay` is not between 0 and 1.
    """
    _check_decay(decay)
    single = get_ema_avg_fn(decay)

    def ema_update(averaged: Any, current: Any, n: jax.Array) -> list[jax.Array]:
        return [
            _lerp(a, b, 1 - decay) if jnp.issubdtype(a.dtype, jnp.inexact) else single(a, b, n)
            for a, b in zip(averaged, current, strict=True)
        ]

    return ema_update


def update_bn(loader: Iterable[Any], statistics: Callable[[Any], PyTree]) -> PyTree:
    """The running statistics of the averaged weights: one pass over the data.

    Args:
      loader: Batches; of a list or tuple the first element is taken.
      statistics: From a batch to a tree of the batch's own mean and (unbiased) variance in each
        batch norm, computed with the averaged weights in training mode.

    Returns:
      The mean of these trees, every batch with the same weight.

    Raises:
      ValueError: There is no batch.

    Example:
      >>> import jax.numpy as jnp
      >>> batches = [jnp.array([0.0, 2.0]), jnp.array([4.0, 4.0])]
      >>> mean, var = update_bn(batches, lambda x: (x.mean(), x.var(ddof=1)))
      >>> print(mean, var)
      2.5 1.0

    Torch: `torch.optim.swa_utils.update_bn`.
    """
    running: PyTree = None
    for count, batch in enumerate(loader, start=1):
        seen = statistics(batch[0] if isinstance(batch, (list, tuple)) else batch)
        if running is None:
            running = seen
        f = 1.0 / count
        running = jax.tree.map(lambda old, new, f=f: (1 - f) * old + f * new, running, seen)
    if running is None:
        raise ValueError("update_bn needs at least one batch, got an empty loader")
    return running


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _wide(x: jax.Array, fun: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """In float32 at least, as torch's kernels compute; rounded to the dtype of x if it has one."""
    y = fun(x.astype(jnp.promote_types(x.dtype, jnp.float32)))
    return y.astype(x.dtype) if jnp.issubdtype(x.dtype, jnp.inexact) else y


def _lerp(a: jax.Array, b: jax.Array, weight: Any) -> jax.Array:
    """`torch.lerp`, which starts from the nearer end."""
    wide = jnp.promote_types(a.dtype, jnp.float32)
    x, y = a.astype(wide), b.astype(wide)
    weight = jnp.asarray(weight).astype(jnp.finfo(wide).dtype)
    near, far = x + weight * (y - x), y - (y - x) * (1 - weight)
    return jnp.where(weight < 0.5, near, far).astype(a.dtype)
