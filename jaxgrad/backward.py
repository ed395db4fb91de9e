"""Compute gradients with torch's structure: None for a leaf without a path to the loss."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from jaxgrad._core import argnums as _argnums
from jaxgrad._core import compat, refusals
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core import paths as _paths
from jaxgrad._core import tree as _tree
from jaxgrad._core.typing import ArrayLike, PyTree


Unused = Literal["none", "zeros", "error"]


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    unused: Unused = "none",
) -> Callable[..., Any]:
    """Return a function that computes the value and gradient of `fun`, with None as in torch.

    The gradient of a leaf is None if no differentiable path leads from it to the loss: it is
    unused, behind `stop_gradient`, converted to integers, only compared, or an integer itself. If
    there is a path but the derivative is zero (`x * 0`, masked by `where`, `floor`), the gradient
    is an array of zeros. One extra trace of `fun` determines this; it has no cost at run time.

    Args:
        fun: A function that returns a loss with one element, of shape `()`, `(1,)` or `(1, 1)`;
            with `has_aux`, a pair of the loss and any auxiliary output.
        argnums: Positions of the arguments to differentiate: an int or a sequence.
        has_aux: Whether `fun` returns a pair.
        unused: Gradient of a leaf without a path to the loss: "none"; "zeros", as in
            `jax.value_and_grad`; or "error", which raises and names the leaves.

    Returns:
        A function that returns `(value, grads)` or `((value, aux), grads)`. `grads` has the
        structure of the argument, or is a tuple if `argnums` is a sequence.

    Raises:
        TypeError: The loss does not have exactly one element, is complex, or is not floating point.
        ValueError: `unused` is "error" and a leaf has no gradient, or `unused` is unknown.
        NotImplementedError: `fun` contains a primitive that runs a program jaxgrad does not know;
            with `unused="zeros"` it is not looked for.

    Example:
        >>> import jax.numpy as jnp
        >>> params = {"w": jnp.float32(3.0), "b": jnp.float32(1.0)}
        >>> value, grads = value_and_grad(lambda p: p["w"] ** 2)(params)
        >>> float(grads["w"]), grads["b"]
        (6.0, None)

    Torch: `loss.backward()`, then `.grad` of each parameter.

    Differs from jax in:
        1. Unused leaves get None (torch: `Tensor.grad`, torch/csrc/autograd/engine.cpp).
        2. A loss of shape (1,) or (1, 1) is accepted (torch/autograd/__init__.py `_make_grads`).
        3. Integer leaves get None instead of an error (with "none" and "error").

    Five corner cases differ from torch. A complex leaf gets JAX's gradient, the conjugate of
    torch's. A leaf used only by an untaken `cond` branch, or for which a raw `jax.custom_vjp`
    returns None, gets zeros. The parameter of a random draw, such as the probability of
    `jax.random.bernoulli`, gets None, where torch gives zeros. A function that branches on values
    (`if x > 0:`) cannot be traced; a leaf that it uses only in `floor`, `round` or `sign` then gets
    None instead of zeros. If the loss depends on no leaf, torch raises, while every leaf gets None
    here.
    """
    if unused not in ("none", "zeros", "error"):
        raise ValueError(f'unused must be "none", "zeros" or "error", got {unused!r}')

    @functools.wraps(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        chosen = _argnums.chosen(fun, args, argnums)
        leaves, tree = jax.tree.flatten(chosen)

        def run(leaves: Sequence[Any]) -> tuple[Any, tuple[Any, Any]]:
            out = fun(*_argnums.replaced(args, argnums, jax.tree.unflatten(tree, leaves)), **kwargs)
            value, aux = _argnums.pair(fun, out) if has_aux else (out, None)
            return _argnums.scalar(fun, value), (value, aux)

        live = [True] * len(leaves)
        if unused != "zeros":
            live = _differentiable(lambda leaves: run(leaves)[0], leaves)
        if unused == "error" and not all(live):
            raise ValueError(_no_path(fun, chosen, argnums, live))

        active, constant = _tree.partition(live, leaves)

        def of_active(active: Sequence[Any]) -> tuple[Any, tuple[Any, Any]]:
            return run(_tree.merge(live, active, constant))

        (_, (value, aux)), some = jax.value_and_grad(of_active, has_aux=True)(active)
        grads = jax.tree.unflatten(tree, _tree.merge(live, some, [None] * len(constant)))
        return ((value, aux) if has_aux else value), grads

    return value_and_grad_fun


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    unused: Unused = "none",
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `fun`, with None as in torch.

    The corner cases in which it differs from torch are listed at `value_and_grad`.

    Args:
        fun: A function that returns a loss with one element, as for `value_and_grad`.
        argnums: Positions of the arguments to differentiate, as for `value_and_grad`.
        has_aux: Whether `fun` returns a pair of the loss and auxiliary output.
        unused: The gradient of a leaf without a path to the loss, as for `value_and_grad`.

    Returns:
        A function that returns `grads`, or `(grads, aux)` with `has_aux`.

    Raises:
        TypeError: The loss is not one real floating point number.
        ValueError: `unused` is "error" and a leaf has no gradient, or `unused` is unknown.
        NotImplementedError: As for `value_and_grad`.

    Example:
        >>> import jax
        >>> for_x, for_y = grad(lambda x, y: x * jax.lax.stop_gradient(y), argnums=(0, 1))(2.0, 3.0)
        >>> float(for_x), for_y
        (3.0, None)

    Torch: `torch.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)`.

    Differs from jax in: the points that `value_and_grad` lists.
    """
    both = value_and_grad(fun, argnums, has_aux, unused=unused)

    @functools.wraps(fun)
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return grad_fun


def depends_on(fun: Callable[..., Any], *args: PyTree) -> PyTree:
    """Return, for each leaf, whether a differentiable path leads from it to an output of `fun`.

    Args:
        fun: Any function of trees of arrays.
        *args: Arguments to trace it with; only shapes and dtypes matter.

    Returns:
        A tree of Python bools with the structure of the argument, or a tuple of such trees if there
        are several arguments.

    Raises:
        NotImplementedError: `fun` contains a primitive that runs a program jaxgrad does not know.

    Example:
        >>> import jax.numpy as jnp
        >>> depends_on(lambda p: p["w"] * jnp.round(p["s"]), {"w": 1.0, "s": 2.0, "n": 3})
        {'n': False, 's': True, 'w': True}

    Torch: `output.requires_grad` when only that leaf requires grad.
    """
    refusals.non_function("depends_on", "fun", fun)
    leaves, tree = jax.tree.flatten(args[0] if len(args) == 1 else args)

    def outputs(leaves: Sequence[Any]) -> Any:
        inputs = jax.tree.unflatten(tree, leaves)
        out = fun(inputs) if len(args) == 1 else fun(*inputs)
        return [x for x in jax.tree.leaves(out) if _tree.is_array(x)]

    return jax.tree.unflatten(tree, _differentiable(outputs, leaves))


def retain_grad(x: ArrayLike, name: str) -> jax.Array:
    """Tag an intermediate value so that `value_and_retained_grads` returns its gradient.

    Args:
        x: A floating point array of any shape.
        name: Key of the gradient in the result; unique within a program.

    Returns:
        `x` unchanged.

    Raises:
        TypeError: `x` is not floating point, so it has no gradient.

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
    """Return a function that also computes the gradients of the values tagged by `retain_grad`.

    Args:
        fun: A function that returns a loss with one element, as for `value_and_grad`; it must be
            traceable, as for `jax.jit`.
        argnums: Positions of the arguments to differentiate, as for `value_and_grad`.
        has_aux: Whether `fun` returns a pair of the loss and auxiliary output.
        unused: The gradient in `grads` of a leaf without a path, as for `value_and_grad`.

    Returns:
        A function that returns `(value, grads, retained)`. `retained` maps each name to the
        gradient of the loss with respect to the tagged value, or to None if the loss does not
        depend on it. Gradients of a value inside `scan` or `vmap` are stacked along a new axis 0.

    Raises:
        TypeError: The loss is not one real floating point number, or `fun` cannot be traced.
        ValueError: A leaf has no gradient and `unused` is "error", two tags have the same name, or
            a tag is inside a custom rule, `while` or `shard_map`, where JAX takes no derivative of
            the tagged value.
        NotImplementedError: `fun` contains a primitive that runs a program jaxgrad does not know.

    Example:
        >>> f = lambda x: 3.0 * retain_grad(x * x, "square")
        >>> value, grads, retained = value_and_retained_grads(f)(2.0)
        >>> float(grads), float(retained["square"])
        (12.0, 3.0)

    Torch: `h.retain_grad(); loss.backward(); h.grad`.
    """

    @functools.wraps(fun)
    def value_and_retained_grads_fun(*args: Any, **kwargs: Any) -> Any:
        chosen = _argnums.chosen(fun, args, argnums)
        leaves, tree = jax.tree.flatten(chosen)
        is_active = [_tree.is_differentiable(x) for x in leaves]
        active, constant = _tree.partition(is_active, leaves)

        def flat(active: Sequence[Any]) -> Any:
            inputs = jax.tree.unflatten(tree, _tree.merge(is_active, active, constant))
            return fun(*_argnums.replaced(args, argnums, inputs), **kwargs)

        try:
            traced = _jaxpr.trace(flat, active)
        except compat.NEEDS_NUMBERS as error:
            raise TypeError(
                f"value_and_retained_grads traces {_argnums.name(fun)}, as jax.jit does, but it "
                "branches on a traced value: use jnp.where or lax.cond for `if`"
            ) from error
        places = _jaxpr.tags(traced.jaxpr)
        slots = {name: jnp.zeros_like(_jaxpr.slot_shape(at[0])) for name, at in places.items()}

        def tapped(chosen: Any, slots: Mapping[str, Any]) -> Any:
            ins, _ = _tree.partition(is_active, jax.tree.leaves(chosen))
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


def accumulate(grads: PyTree, new: PyTree) -> PyTree:
    """Add two trees of gradients, where None means "no gradient yet".

    Args:
        grads: The accumulated gradients; None for a leaf, or for the whole tree, at the start.
        new: The gradients of this step, with the same structure.

    Returns:
        For each leaf the sum, or the gradient that is not None, or None if both are None.

    Raises:
        ValueError: The trees' structures differ, or the shapes of two leaves differ.

    Example:
        >>> accumulate({"w": 2.0, "b": None}, {"w": 3.0, "b": None})
        {'b': None, 'w': 5.0}

    Torch: `backward()`, which adds to `.grad`; `optimizer.zero_grad()` resets it to None.
    """
    if grads is None:
        return new

    def add(path: str, old: Any, new: Any) -> Any:
        if old is None or new is None:
            return new if old is None else old
        if jnp.shape(old) != jnp.shape(new):
            raise ValueError(
                f"accumulate: the gradients of {repr(path) if path else 'the leaf'} have shapes "
                f"{jnp.shape(old)} and {jnp.shape(new)}: they must belong to the same parameter"
            )
        return old + new

    try:
        jax.tree.structure(grads, is_leaf=_tree.is_none).flatten_up_to(new)
    except ValueError as error:
        raise refusals.other_structure("accumulate", grads=grads, new=new) from error
    return _paths.map_named(add, grads, new, is_leaf=_tree.is_none)


def _differentiable(fun: Callable[..., Any], leaves: Sequence[Any]) -> list[bool]:
    """Return whether each leaf has a path to the output of `fun`; non-float leaves have none."""
    is_active = [_tree.is_differentiable(x) for x in leaves]
    active, constant = _tree.partition(is_active, leaves)
    live = _jaxpr.live_leaves(lambda *xs: fun(_tree.merge(is_active, xs, constant)), active)
    return _tree.merge(is_active, live, [False] * len(constant))


def _no_path(
    fun: Callable[..., Any], chosen: Any, argnums: int | Sequence[int], live: Sequence[bool]
) -> str:
    """Return the error message that names every leaf without a gradient."""
    several = not isinstance(argnums, int)
    positions = list(argnums) if several else [argnums]
    names = [
        _paths.of_argument(i, name) + ("" if _tree.is_differentiable(x) else f" ({_tree.kind(x)})")
        for i, tree in zip(positions, chosen if several else [chosen], strict=True)
        for name, x in _paths.named(tree)
    ]
    dead = [name for name, alive in zip(names, live, strict=True) if not alive]
    return (
        f"the loss of {_argnums.name(fun)} has no differentiable path to {', '.join(dead)}. "
        'Use it, do not differentiate with respect to it, or pass unused="none"'
    )
