"""Gradients with torch's structure: `None` where torch leaves `.grad` alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from jaxgrad._core import argnums as _loss
from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core import tree as _tree


Unused = Literal["none", "zeros", "error"]


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    unused: Unused = "none",
) -> Callable[..., Any]:
    """The value of `fun` and its gradient, `None` for every leaf that torch would leave `None`.

    A leaf is `None` where no differentiable path leads from it to the loss: it is not used, it is
    behind `stop_gradient`, it passes through integers or comparisons, or it is an integer itself.
    Where there is a path and the derivative is zero (times 0, masked by `where`, `floor`) the
    gradient is an array of zeros. `fun` is traced once more to find out; at run time it costs
    nothing.

    Args:
        fun: returns a loss of one element, of any shape (`()`, `(1,)`, `(1, 1)`); with `has_aux`
            a pair of the loss and anything else.
        argnums: the position of the argument to differentiate, or several.
        has_aux: whether `fun` returns a pair.
        unused: "none"; "zeros", as `jax.value_and_grad`; or "error", which names the leaves.

    Returns:
        A function that returns `(value, grads)` or `((value, aux), grads)`; `grads` is shaped like
        the argument (a tuple of them if `argnums` is a sequence).

    Raises:
        TypeError: the loss has not exactly one element, is complex, or is not floating point.
        ValueError: `unused="error"` and there is a leaf without a gradient; or an unknown `unused`.

    Example:
        >>> import jax.numpy as jnp
        >>> params = {"w": jnp.float32(3.0), "b": jnp.float32(1.0)}
        >>> value, grads = value_and_grad(lambda p: p["w"] ** 2)(params)
        >>> float(grads["w"]), grads["b"]
        (6.0, None)

    Torch: `loss.backward()`, then `.grad` of each parameter.

    Differs from jax in:
        1. unused leaves are `None` (torch: `Tensor.grad`, torch/csrc/autograd/engine.cpp).
        2. a loss of shape (1,) or (1, 1) is accepted (torch/autograd/__init__.py `_make_grads`).
        3. integer leaves are `None` instead of an error (with "none" and "error").

    Four corners: a complex leaf has JAX's gradient, the conjugate of torch's. A leaf that only an
    untaken `cond` branch uses, or for which a raw `jax.custom_vjp` returns None, has zeros. A
    function that needs numbers to run (`if x > 0:`) cannot be traced; there a leaf used only by
    `floor`, `round` or `sign` is `None`, not zeros. Where torch raises because the loss depends on
    nothing at all, every leaf is `None`.
    """
    if unused not in ("none", "zeros", "error"):
        raise ValueError(f'unused must be "none", "zeros" or "error", got {unused!r}')

    @functools.wraps(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        chosen = _loss.chosen(fun, args, argnums)
        leaves, tree = jax.tree.flatten(chosen)

        def run(leaves: Sequence[Any]) -> tuple[Any, tuple[Any, Any]]:
            out = fun(*_loss.replaced(args, argnums, jax.tree.unflatten(tree, leaves)), **kwargs)
            value, aux = _loss.pair(fun, out) if has_aux else (out, None)
            return _loss.scalar(fun, value), (value, aux)

        live = _live(run, leaves, unused)
        if unused == "error" and not all(live):
            raise ValueError(_no_path(fun, chosen, argnums, live))

        moving, still = _tree.partition(live, leaves)

        def of_moving(moving: Sequence[Any]) -> tuple[Any, tuple[Any, Any]]:
            return run(_tree.merge(live, moving, still))

        (_, (value, aux)), some = jax.value_and_grad(of_moving, has_aux=True)(moving)
        grads = jax.tree.unflatten(tree, _tree.merge(live, some, [None] * len(still)))
        return ((value, aux) if has_aux else value), grads

    return value_and_grad_fun


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    unused: Unused = "none",
) -> Callable[..., Any]:
    """The gradient of `fun`, `None` for every leaf that torch would leave `None`.

    Args:
        fun: as for `value_and_grad`.
        argnums: as for `value_and_grad`.
        has_aux: as for `value_and_grad`.
        unused: as for `value_and_grad`.

    Returns:
        A function that returns `grads`, or `(grads, aux)` with `has_aux`.

    Raises:
        TypeError: as `value_and_grad`.
        ValueError: as `value_and_grad`.

    Example:
        >>> import jax
        >>> for_x, for_y = grad(lambda x, y: x * jax.lax.stop_gradient(y), argnums=(0, 1))(2.0, 3.0)
        >>> float(for_x), for_y
        (3.0, None)

    Torch: `torch.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)`.

    Differs from jax in: what `value_and_grad` lists.
    """
    both = value_and_grad(fun, argnums, has_aux, unused=unused)

    @functools.wraps(fun)
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return grad_fun


def depends_on(fun: Callable[..., Any], *args: Any) -> Any:
    """For each leaf: is there a differentiable path from it to an output of `fun`?

    Args:
        fun: any function of trees of arrays.
        *args: what it is traced at; only shapes and dtypes matter.

    Returns:
        A tree of Python bools, shaped like the argument; with several arguments a tuple of them.

    Example:
        >>> import jax.numpy as jnp
        >>> depends_on(lambda p: p["w"] * jnp.round(p["s"]), {"w": 1.0, "s": 2.0, "n": 3})
        {'n': False, 's': True, 'w': True}

    Torch: `output.requires_grad` when only that leaf requires grad.
    """
    leaves, tree = jax.tree.flatten(args[0] if len(args) == 1 else args)

    def outputs(leaves: Sequence[Any]) -> Any:
        inputs = jax.tree.unflatten(tree, leaves)
        out = fun(inputs) if len(args) == 1 else fun(*inputs)
        return [x for x in jax.tree.leaves(out) if _tree.is_array(x)]

    return jax.tree.unflatten(tree, _differentiable(outputs, leaves))


def retain_grad(x: jax.Array, name: str) -> jax.Array:
    """Tag an intermediate value, so that `value_and_retained_grads` returns its gradient.

    Args:
        x: a floating point array of any shape.
        name: what its gradient will be called; each tag of a program has its own.

    Returns:
        `x`.

    Raises:
        TypeError: `x` is not floating point: there is no gradient to retain.

    Example:
        >>> float(retain_grad(2.0, "h"))
        2.0

    Torch: `Tensor.retain_grad`.
    """
    if not _tree.is_differentiable(x):
        raise TypeError(
            f"retain_grad({name!r}): only floating point arrays have a gradient, "
            f"got {_tree.kind(x)}"
        )
    return _jaxpr.retained_p.bind(jnp.asarray(x), name=name)


def value_and_retained_grads(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    unused: Unused = "none",
) -> Callable[..., Any]:
    """`value_and_grad`, and the gradient of every value that `retain_grad` tags inside `fun`.

    Args:
        fun: as for `value_and_grad`; it must be traceable, as under `jax.jit`.
        argnums: as for `value_and_grad`.
        has_aux: as for `value_and_grad`.
        unused: as for `value_and_grad`, for `grads`.

    Returns:
        A function that returns `(value, grads, retained)`; `retained` maps each name to the
        gradient of the loss with respect to that value, `None` if the loss does not depend on it.
        Of a value inside `scan` or `vmap` the gradients are stacked along a new axis 0.

    Raises:
        TypeError: as `value_and_grad`; `fun` cannot be traced (`if x > 0:`).
        ValueError: as `value_and_grad`; two tags of one name; a tag where the derivative of the
            value is not taken (inside a custom rule, `while` or `shard_map`).

    Example:
        >>> f = lambda x: 3.0 * retain_grad(x * x, "square")
        >>> value, grads, retained = value_and_retained_grads(f)(2.0)
        >>> float(grads), float(retained["square"])
        (12.0, 3.0)

    Torch: `h.retain_grad(); loss.backward(); h.grad`.
    """

    @functools.wraps(fun)
    def value_and_retained_grads_fun(*args: Any, **kwargs: Any) -> Any:
        chosen = _loss.chosen(fun, args, argnums)
        leaves, tree = jax.tree.flatten(chosen)
        moved = [_tree.is_differentiable(x) for x in leaves]
        moving, still = _tree.partition(moved, leaves)

        def flat(moving: Sequence[Any]) -> Any:
            every = _tree.merge(moved, moving, still)
            return fun(*_loss.replaced(args, argnums, jax.tree.unflatten(tree, every)), **kwargs)

        try:
            traced = _jaxpr.trace(flat, moving)
        except compat.NEEDS_NUMBERS as error:
            raise TypeError(
                f"value_and_retained_grads traces {_loss.name(fun)}, as jax.jit does, but it needs "
                "a number where there is only a shape: use jnp.where or lax.cond for `if`"
            ) from error
        places = _jaxpr.tags(traced.jaxpr)
        slots = {name: jnp.zeros_like(_jaxpr.slot_shape(at[0])) for name, at in places.items()}

        def tapped(chosen: Any, slots: Mapping[str, Any]) -> Any:
            ins, _ = _tree.partition(moved, jax.tree.leaves(chosen))
            at = {place.path: slots[name] for name in slots for place in places[name]}
            outs, _ = _jaxpr.with_taps(traced.jaxpr, ins, at)
            return jax.tree.unflatten(traced.out_tree, outs)

        functools.update_wrapper(tapped, fun)
        lenient = "none" if unused == "error" else unused
        both = value_and_grad(tapped, (0, 1), has_aux, unused=lenient)
        value, (grads, retained) = both(chosen, slots)
        if unused == "error":
            live = [g is not None for g in tree.flatten_up_to(grads)]
            if not all(live):
                raise ValueError(_no_path(fun, chosen, argnums, live))
        return value, grads, retained

    return value_and_retained_grads_fun


def accumulate(grads: Any, new: Any) -> Any:
    """The sum of two trees of gradients, in which `None` is "no gradient yet".

    Args:
        grads: what has been accumulated; `None` for a leaf, or for the whole tree, at the start.
        new: the gradients of this step, of the same structure.

    Returns:
        `None` where both are, the other one where one is, else their sum.

    Raises:
        ValueError: the two trees are of different structure, or two leaves of different shape.

    Example:
        >>> accumulate({"w": 2.0, "b": None}, {"w": 3.0, "b": None})
        {'b': None, 'w': 5.0}

    Torch: what `backward()` does to `.grad`; setting it to `None` is `optimizer.zero_grad()`.
    """
    if grads is None:
        return new

    def add(path: str, old: Any, new: Any) -> Any:
        if old is None or new is None:
            return new if old is None else old
        if jnp.shape(old) != jnp.shape(new):
            raise ValueError(
                f"accumulate: the gradients of {path or 'the leaf'} have shapes "
                f"{jnp.shape(old)} and {jnp.shape(new)}: they must be of the same parameter"
            )
        return old + new

    return _tree.map_none(add, grads, new)


def _live(run: Callable[..., Any], leaves: Sequence[Any], unused: Unused) -> list[bool]:
    if unused == "zeros":
        return [True] * len(leaves)
    return _differentiable(lambda leaves: run(leaves)[0], leaves)


def _differentiable(fun: Callable[..., Any], leaves: Sequence[Any]) -> list[bool]:
    """`live_leaves` for leaves of which some are not floating point arrays."""
    moved = [_tree.is_differentiable(x) for x in leaves]
    moving, still = _tree.partition(moved, leaves)
    live = _jaxpr.live_leaves(lambda *moving: fun(_tree.merge(moved, moving, still)), moving)
    return _tree.merge(moved, live, [False] * len(still))


def _no_path(
    fun: Callable[..., Any], chosen: Any, argnums: int | Sequence[int], live: Sequence[bool]
) -> str:
    """The message that names every leaf without a gradient."""
    several = not isinstance(argnums, int)
    first = list(argnums) if several else [argnums]
    dead = [
        f"argument {i}{name}" + ("" if _tree.is_differentiable(x) else f" ({_tree.kind(x)})")
        for i, tree in zip(first, chosen if several else [chosen], strict=True)
        for name, x in _tree.named(tree)
    ]
    dead = [name for name, alive in zip(dead, live, strict=True) if not alive]
    return (
        f"the loss of {_loss.name(fun)} has no differentiable path to {', '.join(dead)}. "
        'Use it, leave it out of what is differentiated, or pass unused="none"'
    )
