"""Observe and change cotangents during the backward pass.

A hook returns its input unchanged. In the backward pass it calls your function with the gradient,
and passes on what the function returns. Second derivatives differentiate your function too, and
call the hook again, as in torch. `jax.jvp` ignores hooks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from jaxgrad._core import refusals
from jaxgrad._core.attach import attach, hoist, linear
from jaxgrad._core.compat import NEEDS_NUMBERS
from jaxgrad._core.tree import is_inexact, merge, partition, select
from jaxgrad._core.typing import PyTree


# (cotangents of the values, cotangents that the slots received) -> cotangents of the values
HookRule = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def hook(x: PyTree, fn: Callable[[PyTree], PyTree | None]) -> PyTree:
    """Call `fn` with the total cotangent of a value during the backward pass.

    Use the result in place of `x`: the cotangents of all its uses are summed before `fn` is called.

    Args:
        x: An array or a tree of arrays, at least one of them real or complex floating point.
        fn: Called with the cotangent, which has the structure, shapes and dtypes of `x`, with None
            for integer leaves. It returns None to leave the cotangent unchanged, or a replacement
            of the same shapes and dtypes. It is traced once, when the hook is set, may capture any
            value, and is differentiated in second derivatives.

    Returns:
        `x`, bit for bit.

    Raises:
        TypeError: No leaf of `x` is floating point, or one is a torch tensor; `fn` is not a
            function; or `fn` changes a dtype or the structure, or
            returns something that is not an array.
        ValueError: `fn` changes a shape.

    Example:
        >>> import jax, jaxgrad
        >>> def loss(x):
        ...     y = jaxgrad.hook(x * 1.0, lambda g: jax.numpy.clip(g, -1.0, 1.0))
        ...     return y * 3.0 + y * 4.0  # the hook sees 7.0
        >>> print(jax.grad(loss)(2.0))
        1.0

    Torch: `torch.Tensor.register_hook`.

    Differs from torch in:
        1. With nested hooks, the one applied last is called first: `hook(hook(x, second), first)`.
        2. A wrong replacement raises when the hook is set, not during the backward pass.
        3. A complex cotangent is JAX's, the conjugate of torch's.
        4. Inside `vmap`, an unmapped value is hooked once, with the sum over the rows.
    """
    refusals.torch_values("hook's x", x)
    refusals.non_function("hook", "fn", fn)
    leaves, structure = jax.tree.flatten(x)
    live = [is_inexact(leaf) for leaf in leaves]
    if not any(live):
        raise TypeError(
            "cannot register a hook on a value that has no gradient: "
            f"hook got {jax.tree.map(jax.typeof, x)}; pass a floating point array"
        )

    def rule(cotangents: Sequence[Any], _: Sequence[Any]) -> Sequence[Any]:
        answer = fn(structure.unflatten(merge(live, cotangents)))
        if answer is None:
            return cotangents
        replacements = select(live, _leaves(answer, structure, _name(fn)))
        return [
            old if new is None else _checked(new, old, _name(fn))
            for new, old in zip(replacements, cotangents, strict=True)
        ]

    active, constant = partition(live, leaves)
    marked, _ = _enter(rule, active, [])
    return structure.unflatten(merge(live, marked, constant))


def backward_hook(
    fun: Callable[..., PyTree],
    hook: Callable[[tuple[PyTree, ...], tuple[PyTree, ...]], Sequence[PyTree] | None],
) -> Callable[..., PyTree]:
    """Call `hook` with the gradients of a function's inputs and outputs in the backward pass.

    Args:
        fun: Any function of arrays. Captured values, such as parameters, do not count as inputs.
        hook: Called as `hook(grad_inputs, grad_outputs)` once all gradients are known. The tuple
            `grad_inputs` has an entry for each positional argument: its gradient, zeros for an
            integer array, None for a non-array. The tuple `grad_outputs` has one cotangent, or one
            for each element if `fun` returns a tuple; None for integers. The hook returns None to
            leave the gradients unchanged, or replacements for `grad_inputs`, where None means
            zeros. It is traced once for each call of the function.

    Returns:
        The hooked function. Keyword arguments are passed on without being hooked.

    Raises:
        ValueError: `hook` returns the wrong number of gradients or changes a shape.
        TypeError: `fun` or `hook` is not a function; or `hook` changes a dtype or a tree's
            structure, or returns a non-array.

    Example:
        >>> import jax, jaxgrad
        >>> double = lambda grad_inputs, grad_outputs: (2.0 * grad_inputs[0],)
        >>> print(jax.grad(jaxgrad.backward_hook(jax.numpy.square, double))(3.0))
        12.0

    Torch: `torch.nn.Module.register_full_backward_hook`, whose hook gets the module as well.

    Differs from torch in:
        1. A tree among the inputs or outputs has a tree of gradients; torch passes None for it,
           and ignores the hook of a module that returns a dict or a list.
        2. An output that the loss does not use has zeros in `grad_outputs`, where torch has None; a
           None that the hook returns gives a zero gradient, in torch None.
        3. If no input is differentiated the hook is not called; torch calls it with (None,).
    """

    refusals.non_function("backward_hook", "fun", fun)
    refusals.non_function("backward_hook", "hook", hook)

    @functools.wraps(fun)
    def hooked(*args: Any, **kwargs: Any) -> PyTree:
        leaves, structure = jax.tree.flatten(args)
        live = [is_inexact(leaf) for leaf in leaves]
        values, constant = partition(live, leaves)

        def inner(*values: Any) -> PyTree:
            return fun(*structure.unflatten(merge(live, values, constant)), **kwargs)

        types, out_structure = jax.tree.flatten(_result_types(inner, values))
        out_live = [jnp.issubdtype(t.dtype, jnp.inexact) for t in types]

        def rule(cotangents: Sequence[Any], sent: Sequence[Any]) -> Sequence[Any]:
            zeros = [jnp.zeros_like(x) if hasattr(x, "dtype") else None for x in constant]
            grad_inputs = structure.unflatten(merge(live, cotangents, zeros))
            grad_outputs = out_structure.unflatten(merge(out_live, sent))
            if type(grad_outputs) is not tuple:
                grad_outputs = (grad_outputs,)
            answers = hook(grad_inputs, grad_outputs)
            if answers is None:
                return cotangents
            if not isinstance(answers, (tuple, list)) or len(answers) != len(grad_inputs):
                raise ValueError(
                    f"backward hook {_name(hook)!r} returned an invalid number of grad_input, got "
                    f"{_count(answers)}, but expected {len(grad_inputs)}: return None or a tuple "
                    "with a gradient for each positional argument"
                )
            new = []
            for answer, argument in zip(answers, structure.children(), strict=True):
                none = [None] * argument.num_leaves
                new += none if answer is None else _leaves(answer, argument, _name(hook))
            return [
                jnp.zeros_like(old) if new is None else _checked(new, old, _name(hook))
                for new, old in zip(select(live, new), cotangents, strict=True)
            ]

        marked, slots = _enter(rule, values, select(out_live, types))
        out = jax.tree.leaves(inner(*marked))
        tagged = map(_leave, out, merge(out_live, slots))
        return out_structure.unflatten(list(tagged))

    return hooked


def _enter(rule: HookRule, values: list[Any], avals: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the values unchanged, and a slot of each type in `avals` for use in `_leave`.

    The backward pass calls `rule` with the cotangents of the values and of the slots.
    """
    size, types = len(values), [*(jax.typeof(x).update(weak_type=False) for x in values), *avals]
    transpose, consts, _ = hoist(rule, types[:size], types[size:])

    def enter_rule(outs: Any, consts: Any, tangents: Sequence[Any], __: Any) -> Sequence[Any]:
        live = [t is not None for t in tangents[:size]]
        through = [*live, *[True] * len(avals)]

        def back(consts: Sequence[Any], arrived: Sequence[Any]) -> Sequence[Any]:
            if avals and all(sent is None for sent in arrived[-len(avals) :]):
                return arrived[: -len(avals)]  # no cotangent came through the outputs
            full = [
                ad.zeros_like_aval(t) if c is None else c
                for c, t in zip(merge(through, arrived), types, strict=True)
            ]
            return select(live, transpose(consts, full[:size], full[size:]))

        def forth(_: Any, tangents: Sequence[Any]) -> Sequence[Any]:
            return [*tangents, *[None] * len(avals)]

        active, out_types = select(live, tangents[:size]), select(through, map(jax.typeof, outs))
        return merge(through, linear(forth, back, consts, active, out_types))

    slots = [ad.zeros_like_aval(aval) for aval in avals]
    out = attach([*values, *slots], consts, enter_rule, "hook")
    return out[:size], out[size:]


def _leave(out: Any, slot: Any) -> Any:
    """Return `out`, with its cotangent also sent to the slot."""

    def rule(_: Any, __: Any, tangents: Sequence[Any], sent: Any) -> Sequence[Any]:
        (tangent,) = tangents
        return [tangent if tangent is None or sent is None else tangent + sent]

    return attach([out], slot, rule, "hook")[0]


def _result_types(fun: Callable[..., PyTree], values: list[Any]) -> PyTree:
    try:
        closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*values)
    except NEEDS_NUMBERS:  # it branches on values, which only exist outside jit
        return jax.tree.map(jax.typeof, fun(*values))
    return jax.tree.unflatten(jax.tree.structure(shapes), closed.out_avals)


def _leaves(answer: PyTree, structure: Any, name: str) -> list[Any]:
    """Return the leaves of a hook's result, keeping Nones."""
    try:
        return structure.flatten_up_to(answer)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"hook {name!r} should return None or cotangents in the structure that it received, "
            f"{structure}, but returned {jax.tree.structure(answer)}"
        ) from error


def _checked(new: Any, old: Any, name: str) -> Any:
    """Return the replacement if it has the cotangent's shape and dtype, as torch requires."""
    if not hasattr(new, "dtype"):
        raise TypeError(f"hook {name!r} should return None or an array, but returned {new!r}")
    was, got = jax.typeof(old).str_short(), jax.typeof(new).str_short()
    if new.shape != old.shape:
        raise ValueError(
            f"hook {name!r} has changed the size of value: the cotangent is {was}, "
            f"the replacement {got}; return None or an array of the same shape"
        )
    if new.dtype != old.dtype:
        raise TypeError(
            f"hook {name!r} has changed the type of value: the cotangent is {was}, "
            f"the replacement {got}; return None or an array of the same dtype"
        )
    return new


def _count(answer: Any) -> str:
    return str(len(answer)) if isinstance(answer, (tuple, list)) else refusals.type_of(answer)


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__
