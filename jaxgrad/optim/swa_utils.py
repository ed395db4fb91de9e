"""Averages of the weights during training: stochastic weight averaging and moving averages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core import argument_names, paths
from jaxgrad._core.typing import PyTree
from jaxgrad.optim.lr_scheduler import swalr as swalr


AvgFn = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
MultiAvgFn = Callable[[list[jax.Array], list[jax.Array], jax.Array], list[jax.Array]]


class AveragedModelState(NamedTuple):
    """The running averages of a model."""

    n_averaged: jax.Array  # int32 scalar: the number of updates averaged
    module: PyTree  # like the parameters
    buffers: PyTree  # like the buffers


class AveragedModel:
    """The result of `averaged_model`, with `init` and `update`."""

    def __init__(
        self, avg_fn: AvgFn | None, multi_avg_fn: MultiAvgFn | None, use_buffers: bool
    ) -> None:
        self.avg_fn = get_swa_avg_fn() if avg_fn is None else avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def init(self, params: PyTree, buffers: PyTree = None) -> AveragedModelState:
        """Return the state before the first update, a copy of the model."""
        return AveragedModelState(jnp.int32(0), *jax.tree.map(jnp.asarray, (params, buffers)))

    def update(
        self, state: AveragedModelState, params: PyTree, buffers: PyTree = None
    ) -> AveragedModelState:
        """Mirror torch's `update_parameters(model)`: the first call copies, later calls average.

        Args:
            state: The averages so far.
            params: The current parameters.
            buffers: The current buffers (running statistics, counters).

        Returns:
            The averages including this model.
        """
        n = state.n_averaged
        averaged, current = state.module, params
        if self.use_buffers:
            averaged, current = (state.module, state.buffers), (params, buffers)
        olds, tree = jax.tree.flatten(averaged)
        news = tree.flatten_up_to(current)
        if self.multi_avg_fn is not None:
            means = list(self.multi_avg_fn(olds, news, n))
        else:
            means = [self.avg_fn(old, new, n) for old, new in zip(olds, news, strict=True)]
        _check_averages("avg_fn" if self.multi_avg_fn is None else "multi_avg_fn", averaged, means)
        leaves = [
            jnp.where(n == 0, new, mean.astype(old.dtype)).astype(old.dtype)
            for old, new, mean in zip(olds, news, means, strict=True)
        ]
        result = jax.tree.unflatten(tree, leaves)
        module, buffers = result if self.use_buffers else (result, buffers)
        return AveragedModelState(n + 1, module, buffers)


@argument_names.checked
def averaged_model(
    avg_fn: AvgFn | None = None,
    multi_avg_fn: MultiAvgFn | None = None,
    use_buffers: bool = False,
) -> AveragedModel:
    """Average a model's parameters over updates, with equal weights or with `avg_fn`.

    Args:
        avg_fn: `(averaged, current, n_averaged) -> averaged` for one leaf; by default
            `get_swa_avg_fn()`.
        multi_avg_fn: The same function for lists of all leaves. They are in the order of
            `jax.tree.leaves`, which sorts the keys of a dict (`bias` comes before `weight`), and
            not in that of `model.parameters()`. It returns a list in the same order.
        use_buffers: Average the buffers instead of copying the last model's. The average of an
            integer buffer is truncated to an integer, as in torch.

    Returns:
        An object with `init(params, buffers=None) -> state` and
        `update(state, params, buffers=None) -> state`; the averages are `state.module`.

    Raises:
        TypeError: An averaging function cannot be called.
        ValueError: Both averaging functions are given. `update` raises it if one of them returns
            another number of averages, or an average of another shape.

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
        1. `optax.ema` averages updates, and corrects the bias of starting at zero; this averages
           parameters, starting from the first model.
    """
    if avg_fn is not None and multi_avg_fn is not None:
        raise ValueError(
            "Only one of avg_fn and multi_avg_fn should be provided, "
            f"got avg_fn={avg_fn} and multi_avg_fn={multi_avg_fn}"
        )
    for name, fun in (("avg_fn", avg_fn), ("multi_avg_fn", multi_avg_fn)):
        if fun is not None and not callable(fun):
            raise TypeError(f"{name} must be a function or None, but got {fun!r}")
    return AveragedModel(avg_fn, multi_avg_fn, use_buffers)


def get_swa_avg_fn() -> AvgFn:
    """Return an `avg_fn` for `averaged_model` that weights all models equally."""

    def swa_update(averaged: jax.Array, current: jax.Array, n: jax.Array) -> jax.Array:
        return averaged + _wide(current - averaged, lambda x: x / (n + 1))

    return swa_update


@argument_names.checked
def get_ema_avg_fn(decay: float = 0.999) -> AvgFn:
    """Return an `avg_fn` for `averaged_model` that gives each new model the weight `1 - decay`.

    Raises:
        ValueError: `decay` is not between 0 and 1.
    """
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )

    def ema_update(averaged: jax.Array, current: jax.Array, n: jax.Array) -> jax.Array:
        del n
        return _wide(averaged, lambda x: decay * x) + _wide(current, lambda x: (1 - decay) * x)

    return ema_update


def get_swa_multi_avg_fn() -> MultiAvgFn:
    """Return a `multi_avg_fn` that weights all models equally, using lerp with float32 weights.

    Raises:
        TypeError: A leaf is an integer; raised by the returned function, as in torch.
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


@argument_names.checked
def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAvgFn:
    """Return a `multi_avg_fn` that gives each new model the weight `1 - decay`, using lerp.

    Raises:
        ValueError: `decay` is not between 0 and 1.
    """
    single = get_ema_avg_fn(decay)

    def ema_update(averaged: Any, current: Any, n: jax.Array) -> list[jax.Array]:
        return [
            _lerp(a, b, 1 - decay) if jnp.issubdtype(a.dtype, jnp.inexact) else single(a, b, n)
            for a, b in zip(averaged, current, strict=True)
        ]

    return ema_update


def update_bn(loader: Iterable[Any], statistics: Callable[[Any], PyTree]) -> PyTree:
    """Recompute batch norm statistics for the averaged weights in one pass over the data.

    Args:
        loader: Yields batches; if a batch is a list or tuple, its first element is used.
        statistics: Maps a batch to a tree with the batch mean and (unbiased) variance of every
            batch norm, computed with the averaged weights in training mode.

    Returns:
        The mean of these trees, with equal weight for each batch.

    Raises:
        ValueError: The loader is empty.

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
        current = statistics(batch[0] if isinstance(batch, (list, tuple)) else batch)
        if running is None:
            running = current
        f = 1.0 / count
        running = jax.tree.map(lambda old, new, f=f: (1 - f) * old + f * new, running, current)
    if running is None:
        raise ValueError("update_bn needs at least one batch, got an empty loader")
    return running


def _check_averages(name: str, averaged: PyTree, means: list[jax.Array]) -> None:
    """Raise unless there is an average of each leaf's shape."""
    leaves = paths.named(averaged)
    if len(means) != len(leaves):
        raise ValueError(
            f"{name} returned {len(means)} averages for {len(leaves)} leaves: return one for each "
            f"leaf, in this order. {paths.nearest([path for path, _ in leaves])}"
        )
    for (path, leaf), mean in zip(leaves, means, strict=True):
        if jnp.shape(mean) != jnp.shape(leaf):
            raise ValueError(
                f"{name} returned an average of shape {jnp.shape(mean)} for the leaf {path!r}, "
                f"which has {jnp.shape(leaf)}: return the averages in the order of the leaves"
            )


def _wide(x: jax.Array, fun: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Apply `fun` in float32 or wider, as torch's kernels do; round to the dtype of a float `x`."""
    y = fun(x.astype(jnp.promote_types(x.dtype, jnp.float32)))
    return y.astype(x.dtype) if jnp.issubdtype(x.dtype, jnp.inexact) else y


def _lerp(a: jax.Array, b: jax.Array, weight: Any) -> jax.Array:
    """Mirror `torch.lerp`, which starts from the nearer end."""
    wide = jnp.promote_types(a.dtype, jnp.float32)
    x, y = a.astype(wide), b.astype(wide)
    weight = jnp.asarray(weight).astype(jnp.finfo(wide).dtype)
    near, far = x + weight * (y - x), y - (y - x) * (1 - weight)
    return jnp.where(weight < 0.5, near, far).astype(a.dtype)
