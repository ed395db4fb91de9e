"""Seeing and changing a cotangent on its way back.

A hook is the identity whose transpose is the user's function. Its rule calls the identity itself,
so that the next derivative goes through the function and, as in torch, through the hook again.
Forward mode passes by it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from jaxgrad._core.attach import attach, hoist, linear
from jaxgrad._core.compat import NEEDS_NUMBERS
from jaxgrad._core.tree import is_inexact, merge, partition, select
from jaxgrad._core.typing import PyTree


# (cotangents of the values, what the slots got) -> cotangents of the values
HookRule = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def hook(x: PyTree, fn: Callable[[PyTree], PyTree | None]) -> PyTree:
    """Mark a value: on the way back, `fn` is called with its total cotangent.

    Use the result in place of `x`: the cotangents of all its uses are summed before `fn` sees them.

    Args:
        x: An array or a tree of arrays; at least one of them real or complex floating point.
        fn: Called with the cotangent, of the structure, shapes and dtypes of `x` (None in the place
            of an integer leaf, which has none). Returns None to watch, or a cotangent of the same
            shapes and dtypes to be used instead. Traced once, where the hook is set; it may close
            over any value, and derivatives go through it.

    Returns:
        `x`, bit for bit.

    Raises:
        TypeError: `x` has no leaf with a gradient, or `fn` changes a dtype or the structure or
            returns no array.
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
        1. Of several hooks the one applied last is called first: `hook(hook(x, second), first)`.
        2. A wrong replacement is refused where the hook is set, not during the backward pass.
        3. A complex cotangent is JAX's, the conjugate of torch's.
        4. Inside `vmap` a value that is not mapped is hooked once, with the sum over the rows.
    """
    leaves, structure = jax.tree.flatten(x)
    live = [is_inexact(leaf) for leaf in leaves]
    if not any(live):
        raise TypeError(
            "cannot register a hook on a value that has no gradient: "
            f"hook got {jax.tree.map(jax.typeof, x)}; a floating point array is needed"
        )

    def rule(cotangents: Sequence[Any], _: Sequence[Any]) -> Sequence[Any]:
        made = fn(structure.unflatten(merge(live, cotangents)))
        if made is None:
            return cotangents
        made = select(live, _leaves(made, structure, _name(fn)))
        return [
            old if new is None else _checked(new, old, _name(fn))
            for new, old in zip(made, cotangents, strict=True)
        ]

    moving, still = partition(live, leaves)
    marked, _ = _enter(rule, moving, [])
    return structure.unflatten(merge(live, marked, still))


def backward_hook(
    fun: Callable[..., PyTree],
    hook: Callable[[tuple[PyTree, ...], tuple[PyTree, ...]], Sequence[PyTree] | None],
) -> Callable[..., PyTree]:
    """Call `hook` with a function's gradients, inputs and outputs together, on the way back.

    Args:
        fun: Any function of arrays; what it closes over (its parameters) is none of its inputs.
        hook: `hook(grad_inputs, grad_outputs)`, called once all of them are known. `grad_inputs`
            has one entry for each positional argument: its gradient; zeros for an array that needs
            none (integers); None for what is no array. `grad_outputs` is a tuple as well: one
            cotangent, or one for each element if `fun` returns a tuple; None for integers. Returns
            None to watch, or as many gradients to be used instead of `grad_inputs` (None among
            them: zeros). Traced once for each call of the function.

    Returns:
        `fun`, hooked. Keyword arguments are passed on and not looked at.

    Raises:
        ValueError: `hook` returns another number of gradients, or changes a shape.
        TypeError: `hook` changes a dtype or the structure of a tree, or returns no array.

    Example:
        >>> import jax, jaxgrad
        >>> double = lambda grad_inputs, grad_outputs: (2.0 * grad_inputs[0],)
        >>> print(jax.grad(jaxgrad.backward_hook(jax.numpy.square, double))(3.0))
        12.0

    Torch: `torch.nn.Module.register_full_backward_hook`, whose hook also gets the module, first.

    Differs from torch in:
        1. A tree among the inputs or outputs gives a tree of gradients; torch shows None for it,
           and ignores the hook of a module that returns a dict or a list.
        2. An output that is not used in the loss has zeros in `grad_outputs`, in torch None; a
           None in the hook's answer leaves zeros, in torch None.
        3. Where no input is differentiated the hook is not called; torch calls it with (None,).
    """

    @functools.wraps(fun)
    def hooked(*args: Any, **kwargs: Any) -> PyTree:
        leaves, structure = jax.tree.flatten(args)
        live = [is_inexact(leaf) for leaf in leaves]
        values, still = partition(live, leaves)

        def inner(*values: Any) -> PyTree:
            return fun(*structure.unflatten(merge(live, values, still)), **kwargs)

        types, out_structure = jax.tree.flatten(_result_types(inner, values))
        out_live = [jnp.issubdtype(t.dtype, jnp.inexact) for t in types]

        def rule(cotangents: Sequence[Any], sent: Sequence[Any]) -> Sequence[Any]:
            grad_inputs = structure.unflatten(merge(live, cotangents, map(_no_gradient, still)))
            grad_outputs = out_structure.unflatten(merge(out_live, sent))
            if type(grad_outputs) is not tuple:
                grad_outputs = (grad_outputs,)
            made = hook(grad_inputs, grad_outputs)
            if made is None:
                return cotangents
            if not isinstance(made, (tuple, list)) or len(made) != len(grad_inputs):
                raise ValueError(
                    f"backward hook {_name(hook)!r} returned an invalid number of grad_input, got "
                    f"{_count(made)}, but expected {len(grad_inputs)}: return None or a tuple with "
                    "a gradient for each positional argument"
                )
            new = []
            for answer, part in zip(made, structure.children(), strict=True):
                none = [None] * part.num_leaves
                new += none if answer is None else _leaves(answer, part, _name(hook))
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
    """The values unchanged, and a slot of each type in `avals` for what `_leave` sends back.

    On the way back `rule` is called with the values' cotangents and with what the slots got.
    """
    size, types = len(values), [*map(_cotangent_type, values), *avals]
    transpose, consts, _ = hoist(rule, types[:size], types[size:])

    def enter_rule(outs: Any, consts: Any, moving: Sequence[Any], __: Any) -> Sequence[Any]:
        live = [t is not None for t in moving[:size]]
        through = [*live, *[True] * len(avals)]

        def back(consts: Sequence[Any], arrived: Sequence[Any]) -> Sequence[Any]:
            if avals and all(sent is None for sent in arrived[-len(avals) :]):
                return arrived[: -len(avals)]  # it did not come through the outputs
            full = [
                ad.zeros_like_aval(t) if c is None else c
                for c, t in zip(merge(through, arrived), types, strict=True)
            ]
            return select(live, transpose(consts, full[:size], full[size:]))

        def forth(_: Any, tangents: Sequence[Any]) -> Sequence[Any]:
            return [*tangents, *[None] * len(avals)]

        tangents, types_out = select(live, moving[:size]), select(through, map(jax.typeof, outs))
        return merge(through, linear(forth, back, consts, tangents, types_out))

    slots = [ad.zeros_like_aval(aval) for aval in avals]
    out = attach([*values, *slots], consts, enter_rule, "hook")
    return out[:size], out[size:]


def _leave(out: Any, slot: Any) -> Any:
    """`out`, whose cotangent is sent to the slot as well."""

    def rule(_: Any, __: Any, moving: Sequence[Any], sent: Any) -> Sequence[Any]:
        (moving,) = moving
        return [moving if moving is None or sent is None else moving + sent]

    return attach([out], slot, rule, "hook")[0]


def _result_types(fun: Callable[..., PyTree], values: list[Any]) -> PyTree:
    try:
        closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*values)
    except NEEDS_NUMBERS:  # it branches on values, and outside of jit there are some
        return jax.tree.map(jax.typeof, fun(*values))
    return jax.tree.unflatten(jax.tree.structure(shapes), closed.out_avals)


def _leaves(made: PyTree, structure: Any, name: str) -> list[Any]:
    """The leaves of a hook's answer; a None among them stays."""
    try:
        return structure.flatten_up_to(made)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"hook {name!r} should return None or cotangents in the structure that it got, "
            f"{structure}, but returned {jax.tree.structure(made)}"
        ) from error


def _checked(new: Any, old: Any, name: str) -> Any:
    """torch's rules for the replacement of a gradient."""
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


def _no_gradient(leaf: Any) -> Any:
    return jnp.zeros_like(leaf) if hasattr(leaf, "dtype") else None


def _cotangent_type(value: Any) -> Any:
    return jax.typeof(value).update(weak_type=False)


def _count(made: Any) -> str:
    return str(len(made)) if isinstance(made, (tuple, list)) else f"a {type(made).__name__}"


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__
