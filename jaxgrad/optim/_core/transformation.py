"""`Transformation`: an optax transformation with a `step` that returns the new parameters."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxgrad._core import paths, refusals
from jaxgrad._core.typing import PyTree


@dataclasses.dataclass(frozen=True, init=False)
class Transformation(optax.GradientTransformationExtraArgs):
    """An optax transformation that follows torch's update rule and keeps torch's state.

    It can be chained, partitioned and checkpointed like any optax transformation: `init(params)`
    returns the state, and `update(grads, state, params, live=None)` returns the updates to add to
    the parameters and the new state. In addition, `step(grads, state, params, live=None)` returns
    the new parameters and the new state, without the rounding error of `p + (p_new - p)`.

    A gradient of None leaves its parameter and state unchanged, including the step count. So does
    False in `live`, a tree of bools (or a prefix of one) whose arrays may change between steps.

    To donate buffers, return the parameters before the state and donate in that order:
    `jax.jit(lambda params, state, grads: tx.step(grads, state, params), donate_argnums=(0, 1))`.
    XLA pairs donated buffers with results of the same shape in order. With
    `jax.jit(tx.step, donate_argnums=(1, 2))` it copies every leaf, which takes 3 to 7 times as
    long. The same holds for the transformations of optax.

    Copying or pickling a transformation stores the call that built it. It can be pickled if that
    call's arguments can, which excludes lambdas and `lr_scheduler`'s schedules (closures).

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

    # optax unpacks `init, update = tx` and requires its own type to pass on extra arguments such as
    # `live`. So this is a subclass of its named tuple, with `step` as a third dataclass field.
    init: Callable[..., PyTree] = dataclasses.field()  # pyright: ignore[reportIncompatibleVariableOverride]
    update: Callable[..., tuple[PyTree, PyTree]] = dataclasses.field()
    step: Callable[..., tuple[PyTree, PyTree]] = dataclasses.field()

    def __new__(
        cls,
        init: Callable[..., PyTree],
        update: Callable[..., tuple[PyTree, PyTree]],
        step: Callable[..., tuple[PyTree, PyTree]],
    ) -> Transformation:
        self = super().__new__(cls, init, update)
        self.__dict__["step"] = step
        return self

    def rebuilt_by(
        self, factory: Callable[..., Transformation], *args: Any, **kwargs: Any
    ) -> Transformation:
        """Record the call that rebuilds this transformation, which is what pickle stores."""
        self.__dict__["rebuild"] = functools.partial(factory, *args, **kwargs)
        return self

    def __reduce__(self) -> Any:
        call = self.__dict__.get("rebuild")
        return (
            (type(self), (self.init, self.update, self.step))
            if call is None
            else (operator.call, (call,))
        )

    __ne__ = object.__ne__  # the tuple's `__ne__` would ignore `step`

    def _replace(self, **kwargs: Any) -> Transformation:  # pyright: ignore[reportIncompatibleMethodOverride]
        return dataclasses.replace(self, **kwargs)


def from_apply(init: Callable[..., PyTree], apply: Callable[..., Any]) -> Transformation:
    """Return a transformation that calls `apply(return_update, grads, state, params, live, ...)`.

    `return_update` is False for `step` and True for `update`; further keywords are passed on.
    """

    def step(
        grads: PyTree, state: PyTree, params: PyTree, *, live: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        _check("step", grads, state, params)
        return apply(False, grads, state, params, live, **extra)

    def update(
        grads: PyTree, state: PyTree, params: PyTree = None, *, live: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        if params is None:
            raise ValueError(
                "the parameters are missing: torch's update rules need them. Call "
                "`update(grads, state, params)`"
            )
        _check("update", grads, state, params)
        return apply(True, grads, state, params, live, **extra)

    step.__qualname__, update.__qualname__ = "step", "update"  # in Python's errors

    @functools.wraps(init)
    def checked_init(params: PyTree) -> PyTree:
        refusals.torch_values("the parameters", params)
        return init(params)

    return Transformation(checked_init, update, step)


def _check(name: str, grads: PyTree, state: PyTree, params: PyTree) -> None:
    """Raise TypeError if the state is not the second argument, or if torch tensors are given."""
    refusals.torch_values("the gradients", grads)
    refusals.torch_values("the parameters", params)
    if hasattr(state, "_fields"):
        return
    if state is None:
        raise TypeError(
            f"{name}(grads, state, params): the state is None; pass the state that "
            "init(params), or the step before, returned"
        )
    for place, other in (("first", grads), ("third", params)):
        if hasattr(other, "_fields"):
            raise TypeError(
                f"{name}(grads, state, params): the state must be the second argument, but the "
                f"{place} one is ({type(other).__name__})"
            )
    if jax.tree.structure(state) == jax.tree.structure(grads):
        raise TypeError(
            f"{name}(grads, state, params): the second argument has the structure of the "
            "gradients; pass the state that init(params), or the step before, returned"
        )


def matched(tree: PyTree, params: PyTree, name: str) -> list[Any]:
    """Return the part of `tree` for every parameter.

    Raises:
        ValueError: The tree has another structure than the parameters; `name` names it.
    """
    try:
        return jax.tree.structure(params).flatten_up_to(tree)
    except ValueError as error:
        mine, theirs = ({n for n, _ in paths.named(x)} for x in (params, tree))
        missing, more = sorted(mine - theirs), sorted(theirs - mine)
        parts = [f"lack {_some(missing)}"] if missing else []
        verb = "is not a parameter" if len(more) == 1 else "are not parameters"
        parts += [f"have {_some(more)}, which {verb}"] if more else []
        what = " and ".join(parts) or f"have another structure ({error})"
        raise ValueError(f"{name} must be a tree like the parameters, but {what}") from error


def _some(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(repr, names[:3])) + more


def gradients(grads: PyTree, params: PyTree) -> list[Any]:
    """Return every parameter's gradient, or None for a parameter without a gradient."""
    leaves = jax.tree.leaves(params)
    result = matched(grads, params, "the gradients")
    for i, (grad, param) in enumerate(zip(result, leaves, strict=True)):
        if grad is None or getattr(grad, "dtype", None) == jax.dtypes.float0:
            result[i] = None
        elif jnp.shape(grad) != jnp.shape(param):
            name = paths.named(params)[i][0]
            raise ValueError(
                f"the gradient of {name!r} has shape {jnp.shape(grad)}, but the parameter has "
                f"{jnp.shape(param)}: pass gradients of these parameters"
            )
    return result


def broadcast(live: PyTree, params: PyTree) -> list[Any]:
    """Broadcast `live`, a prefix of the parameter tree, to every parameter."""
    if live is None:
        live = True
    full = jax.tree.map(lambda alive, below: jax.tree.map(lambda _: alive, below), live, params)
    return jax.tree.structure(params).flatten_up_to(full)
