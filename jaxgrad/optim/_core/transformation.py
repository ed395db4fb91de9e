"""What every optimizer here is: an optax transformation that can also take the step itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad._core import tree as _tree
from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core.arithmetic import Displaced, Fast
from jaxgrad.optim._core.exact import Exact


class Transformation(optax.GradientTransformationExtraArgs):
    """An optax transformation with torch's rule, its parameters and its state to the last bit.

    It chains, partitions and checkpoints as any other of optax: `init(params)` makes the state,
    `update(grads, state, params, live=None)` returns what to add to the parameters, and the state.
    What optax does not have is `step(grads, state, params, live=None)`, which returns the new
    parameters and the state, and loses no bit to `p + (p_new - p)`.

    A gradient that is None leaves its parameter and its state alone, also their step count; so does
    `live`, a tree of bools (or of a prefix of it), whose arrays may change from step to step.

    Donate buffers in the order of the results, the parameters before the state:
    `jax.jit(lambda params, state, grads: tx.step(grads, state, params), donate_argnums=(0, 1))`.
    XLA pairs what is donated with the results of the same shape in turn; by
    `jax.jit(tx.step, donate_argnums=(1, 2))` it copies every leaf, which takes 3 to 7 times as
    long. The same holds for the transformations of optax.

    Example:
      >>> import jax, jax.numpy as jnp, jaxgrad
      >>> tx = jaxgrad.optim.sgd(lr=0.1, momentum=0.9)
      >>> params = {"w": jnp.array([1.0, 2.0]), "unused": jnp.array(3.0)}
      >>> grads = {"w": jnp.array([1.0, 1.0]), "unused": None}
      >>> params, state = jax.jit(tx.step)(grads, tx.init(params), params)
      >>> print(params["w"], params["unused"])
      [0.9 1.9] 3.0

    Torch: `torch.optim.Optimizer`; `step` is its `step()`.
    """

    step: Callable[..., tuple[PyTree, PyTree]]

    def __new__(
        cls,
        init: Callable[..., PyTree],
        update: Callable[..., tuple[PyTree, PyTree]],
        step: Callable[..., tuple[PyTree, PyTree]],
    ) -> Transformation:
        self = super().__new__(cls, init, update)
        self.step = step
        return self


# A rule moves one leaf: (arithmetic, hyperparameters, gradient, parameter, state) -> the last two.
Rule = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]


def counter(param: Any) -> jax.Array:
    """The first step count of a parameter, in torch's dtype for it."""
    del param
    return jnp.zeros((), np.float32)


def zeros(param: Any) -> jax.Array:
    return jnp.zeros_like(param)


def full(value: Any) -> Callable[[Any], jax.Array]:
    """What fills a state with one number; of a complex parameter both parts."""

    def filled(param: Any) -> jax.Array:
        out = jnp.full_like(param, value)
        return jax.lax.complex(out.real, out.real) if jnp.iscomplexobj(out) else out

    return filled


def elementwise(
    rule: Rule,
    initial: NamedTuple,
    hyperparameters: Mapping[str, Any],
    *,
    maximize: bool = False,
    exact: bool = False,
) -> Transformation:
    """The transformation that moves every leaf by `rule`.

    Args:
      rule: How one leaf moves.
      initial: The optimizer's state type; each field holds the function that makes the first state
        of a parameter, or None where the options need no such state. Its last field is `count`.
      hyperparameters: What `rule` finds as attributes of its second argument, numbers or arrays;
        `lr` may be a schedule.
      maximize: Negate the gradients first.
      exact: torch's bits rather than XLA's speed.
    """
    make: Any = type(initial)
    schedule = hyperparameters["lr"] if callable(hyperparameters["lr"]) else None

    def init(params: PyTree) -> Any:
        fields = [None if f is None else jax.tree.map(f, params) for f in initial[:-1]]
        return make(*fields, None if schedule is None else jnp.zeros((), np.int32))

    def move(grads: PyTree, state: Any, params: PyTree, live: PyTree, *, by: bool) -> Any:
        if params is None:
            raise ValueError(
                "the parameters are missing: torch's rules need them. Call "
                "`update(grads, state, params)`"
            )
        leaves, treedef = jax.tree.flatten(params)
        *fields, count = state
        columns = [[None] * len(leaves) if f is None else treedef.flatten_up_to(f) for f in fields]
        h = settings(count)
        moved = [
            _leaf(make, rule, h, grad, param, old, alive, maximize, exact, by)
            for grad, param, alive, *old in zip(
                gradients(grads, params), leaves, broadcast(live, params), *columns, strict=True
            )
        ]
        new_leaves = [new for new, _ in moved]
        new_fields = [
            None if f is None else treedef.unflatten([leaf[i] for _, leaf in moved])
            for i, f in enumerate(fields)
        ]
        count = None if count is None else count + 1
        return treedef.unflatten(new_leaves), make(*new_fields, count)

    def settings(count: Any) -> dict[str, Any]:
        if schedule is None:
            return dict(hyperparameters)
        return {**hyperparameters, "lr": Scheduled(schedule(count))}

    def step(
        grads: PyTree, state: Any, params: PyTree, *, live: PyTree = None, **extra: Any
    ) -> Any:
        del extra
        return move(grads, state, params, live, by=False)

    def update(
        grads: PyTree, state: Any, params: PyTree = None, *, live: PyTree = None, **extra: Any
    ) -> Any:
        del extra
        return move(grads, state, params, live, by=True)

    return Transformation(init, update, step)


class Scheduled(NamedTuple):
    """What a schedule returned: a Python double in torch, not a tensor."""

    value: Any


def gradients(grads: PyTree, params: PyTree) -> list[Any]:
    """The gradient of every parameter, None where there is none."""
    names = [name for name, _ in _tree.named(params)]
    leaves, treedef = jax.tree.flatten(params)
    found = treedef.flatten_up_to(grads)
    for i, (name, grad, param) in enumerate(zip(names, found, leaves, strict=True)):
        if grad is None or getattr(grad, "dtype", None) == jax.dtypes.float0:
            found[i] = None
        elif jnp.shape(grad) != jnp.shape(param):
            raise ValueError(
                f"the gradient of {name} has shape {jnp.shape(grad)}, but the parameter has "
                f"{jnp.shape(param)}: pass gradients of these parameters"
            )
    return found


def broadcast(live: PyTree, params: PyTree) -> list[Any]:
    """The entry of `live`, a prefix of the parameters' tree, for every parameter."""
    if live is None:
        live = True
    full = jax.tree.map(lambda alive, below: jax.tree.map(lambda _: alive, below), live, params)
    return jax.tree.structure(params).flatten_up_to(full)


def _leaf(
    make: Any, rule: Rule, settings: Mapping[str, Any],
    grad: Any, param: Any, old: list[Any], alive: Any, maximize: bool, exact: bool, by: bool,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """One parameter, or how far it moves, and its state after the step."""
    param = jnp.asarray(param)
    dead = grad is None or (isinstance(alive, (bool, np.bool_)) and not alive)
    if dead:
        return (jnp.zeros_like(param) if by else param), old
    grad = jnp.asarray(grad).astype(param.dtype)
    before, start = [_as_real(x, param) for x in old], _as_real(param, param)
    grad = _as_real(-grad if maximize else grad, param)
    leaf_state = make(*before, None)
    count = getattr(leaf_state, "step", None)
    ops = Exact(count, grad) if exact else Fast(count)
    h = SimpleNamespace(**{name: _known(ops, value) for name, value in settings.items()})
    moving = Displaced(start) if by and not exact else start
    end, after = rule(ops, h, grad, moving, leaf_state)
    if by:
        end = end.by if isinstance(end, Displaced) else end - start
    else:
        end = ops.value(end)
    new = [_as_leaf(x, x_old) for x, x_old in zip((end, *after[:-1]), (param, *old), strict=True)]
    if not isinstance(alive, (bool, np.bool_)):
        stay = [jnp.zeros_like(param) if by else param, *old]
        new = [
            None if x is None else jnp.where(alive, x, x_old)
            for x, x_old in zip(new, stay, strict=True)
        ]
    return new[0], new[1:]


def _known(ops: Fast, value: Any) -> Any:
    return ops.double(value.value) if isinstance(value, Scheduled) else ops.scalar(value)


def _as_real(x: Any, param: jax.Array) -> Any:
    """torch's view_as_real: the parts of a complex number are two numbers."""
    if not jnp.iscomplexobj(param) or not jnp.iscomplexobj(x):
        return x
    return jnp.stack([x.real, x.imag], -1)


def _as_leaf(x: Any, like: Any) -> Any:
    return jax.lax.complex(x[..., 0], x[..., 1]) if jnp.iscomplexobj(like) else x
