"""How a class with torch's `forward` and `backward` becomes a JAX rule.

`forward` runs once, where the function is called, on values without gradient. What it returned is
then attached to the inputs by a rule whose transpose is `backward`. What `ctx` holds travels as
residuals: a saved input or output as that input or output itself, so that a second derivative goes
through it, as in torch; any other array as a constant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero, zero_from_primal

from jaxgrad._compat import NEEDS_NUMBERS
from jaxgrad._linear import hoist, linear, merge, only


Values = Sequence[Any]


class State(NamedTuple):
    """What a rule has at hand; None for what is no array."""

    inputs: Values
    outputs: Values
    kept: Values


class Context:
    """torch's `ctx`; the attributes that a class sets live beside these."""

    PRIVATE = ("needs_input_grad", "_fixed", "_materialize")

    def __init__(self, needs_input_grad: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs_input_grad)
        self.saved_tensors: tuple[Any, ...] = ()
        self._fixed: tuple[Any, ...] = ()
        self._materialize = True

    def save_for_backward(self, *arrays: Any) -> None:
        for place, array in enumerate(arrays):
            if array is not None and not _is_array(array):
                raise TypeError(
                    f"save_for_backward can only save arrays, but argument {place} is of type "
                    f"{type(array).__name__}; make it an attribute of ctx"
                )
        self.saved_tensors = arrays

    save_for_forward = save_for_backward

    def mark_non_differentiable(self, *outputs: Any) -> None:
        self._fixed = outputs

    def mark_dirty(self, *inputs: Any) -> None:
        del inputs  # nothing is changed in place

    def set_materialize_grads(self, value: bool) -> None:
        self._materialize = value


def call(cls: Any, args: Values) -> Any:
    """Run `forward`, and attach what it returns to the arguments."""
    args = [jnp.asarray(a) if _is_array(a) else a for a in args]
    seen = [_detached(a) for a in args]
    ctx = Context([_is_inexact(a) for a in args])
    if hasattr(cls, "setup_context"):
        out = cls.forward(*seen)
        cls.setup_context(ctx, tuple(seen), out)
    else:
        out = cls.forward(ctx, *seen)
    outs = list(out) if isinstance(out, tuple) else [out]
    outs = _attach(cls, ctx, args, seen, outs)
    return tuple(outs) if isinstance(out, tuple) else outs[0]


def _attach(cls: Any, ctx: Context, args: Values, seen: Values, outs: Values) -> list[Any]:
    """The outputs, differentiable by the class's `backward` and `jvp`."""
    marked = {id(o) for o in ctx._fixed}
    live = [_is_inexact(o) and id(o) not in marked for o in outs]
    inexact = [_is_inexact(a) for a in args]
    types = [jax.eval_shape(lambda o: o, o) if _is_array(o) else None for o in outs]
    rebuild, kept = _pack(ctx, seen, outs)
    materialize = ctx._materialize

    def backward(needs: Values, state: State, arrived: Values) -> list[Any]:
        """A gradient, or None, for each argument."""
        given = [_given(c, t, materialize) for c, t in zip(arrived, types, strict=True)]
        made = _method(cls, "backward", "vjp")(rebuild(needs, state), *map(_conj, given))
        return _checked(cls.__name__, made if isinstance(made, tuple) else (made,), state.inputs)

    def jvp(needs: Values, state: State, moving: Values) -> list[Any]:
        """A tangent, or None, for each output."""
        given = [
            _given(t, a, materialize and _is_inexact(a))
            for t, a in zip(moving, state.inputs, strict=True)
        ]
        made = _method(cls, "jvp")(rebuild(needs, state), *given)
        return list(made) if isinstance(made, tuple) else [made]

    # An input that `backward` answers with None is not attached, so that no path is seen from it.
    state = State(_arrays(seen), _arrays(outs), kept)
    ones = merge([jnp.ones(t.shape, t.dtype) for t in only(types, live)], live)
    consts, wanted, traced = [], inexact, None
    if hasattr(cls, "backward") or hasattr(cls, "vjp"):
        try:
            traced, consts, found = hoist(functools.partial(backward, inexact), state, ones)
        except NEEDS_NUMBERS:  # `backward` branches on values: these may be numbers already
            found = backward(inexact, state, ones)
        wanted = [f is not None for f in found]
    if not any(isinstance(c, jax.core.Tracer) for c in consts):
        consts, traced = [], None  # nothing goes stale: `backward` itself can run later

    @jax.custom_jvp
    def attach(moving: Values, outs: Values, rest: State, consts: Values) -> Values:
        del moving, rest, consts
        return outs

    @functools.partial(attach.defjvp, symbolic_zeros=True)
    def rule(primals: Any, tangents: Any) -> Any:
        made = attach(*primals)
        moving, _, rest, consts = primals
        tangent = merge(tangents[0], wanted, tangents[2].inputs)
        needs = [t is not None and not isinstance(t, SymbolicZero) for t in tangent]
        active = [w and n for w, n in zip(wanted, needs, strict=True)]
        if not any(active):
            return made, [zero_from_primal(o, symbolic_zeros=True) for o in made]
        state = State(
            merge(moving, wanted, rest.inputs), merge(made, live, rest.outputs), rest.kept
        )

        def forward(residuals: Any, tangents: Values) -> Values:
            return only(jvp(needs, residuals[0], merge(tangents, active)), live)

        def transpose(residuals: Any, arrived: Values) -> Values:
            state, consts = residuals
            given = merge(arrived, live)
            if traced is None:
                return only(backward(needs, state, given), active)
            given = [_given(c, t, True) for c, t in zip(given, ones, strict=True)]
            return only(traced(consts, state, given), active)

        avals = [jax.typeof(o) for o in made]
        moved = linear(forward, transpose, (state, consts), only(tangent, active), avals)
        return made, moved

    values, outs = _arrays(args), jax.tree.map(_detached, outs)
    rest = State(
        [None if w else a for w, a in zip(wanted, values, strict=True)],
        [None if has else o for has, o in zip(live, _arrays(outs), strict=True)],
        kept,
    )
    made = attach(only(values, wanted), only(outs, live), rest, consts)
    return merge(made, live, outs)


def _pack(ctx: Context, seen: Values, outs: Values) -> tuple[Callable[..., Context], list[Any]]:
    """Split what `ctx` holds into a recipe and the arrays that are neither input nor output.

    An array that is known by its value is part of the recipe, unless it is an input or an output.
    """
    held = {name: value for name, value in vars(ctx).items() if name not in Context.PRIVATE}
    leaves, structure = jax.tree.flatten(held)
    where = {id(o): (1, place) for place, o in enumerate(outs) if _is_array(o)}
    where |= {id(a): (0, place) for place, a in enumerate(seen) if _is_array(a)}
    recipe, kept = [], []
    for leaf in leaves:
        if id(leaf) in where:
            recipe.append(where[id(leaf)])
        elif isinstance(leaf, jax.core.Tracer):
            recipe.append((2, len(kept)))
            kept.append(jax.lax.stop_gradient(leaf))
        else:
            recipe.append((None, leaf))
    materialize = ctx._materialize

    def rebuild(needs: Values, state: State) -> Context:
        new = Context(needs)
        new.set_materialize_grads(materialize)
        values = [leaf if source is None else state[source][leaf] for source, leaf in recipe]
        vars(new).update(structure.unflatten(values))
        return new

    return rebuild, kept


def _checked(name: str, made: Values, inputs: Values) -> list[Any]:
    """torch's rules for what `backward` may return: a gradient or None for each argument."""
    expected, got = len(inputs), len(made)
    if got < expected or any(m is not None for m in made[expected:]):
        raise ValueError(
            f"function {name}Backward returned an incorrect number of gradients "
            f"(expected {expected}, got {got}): one for each argument of forward, None where there "
            "is none"
        )
    out = []
    for place, (grad, value) in enumerate(zip(made, inputs, strict=False)):
        if grad is not None and value is None:
            raise ValueError(
                f"function {name}Backward returned a gradient different than None at position "
                f"{place + 1}, but the corresponding forward input was not an array"
            )
        if grad is not None and not _is_array(grad):
            raise TypeError(
                f"function {name}Backward returned {grad!r} at index {place}: "
                f"expected an array or None (got {type(grad).__name__})"
            )
        out.append(
            None if grad is None or not _is_inexact(value) else _fit(name, place, grad, value)
        )
    return out


def _fit(name: str, place: int, grad: Any, value: Any) -> Any:
    """Sum a gradient to the shape of its input, and cast it."""
    try:
        fits = jnp.broadcast_shapes(grad.shape, value.shape) == grad.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"Function {name}Backward returned an invalid gradient at index {place} - got "
            f"{list(grad.shape)} but expected shape compatible with {list(value.shape)}"
        )
    if jnp.iscomplexobj(grad) and not jnp.iscomplexobj(value):
        raise TypeError(
            f"Function {name}Backward returned an invalid gradient at index {place} - got "
            f"{grad.dtype} for an input of {value.dtype}; take the real part"
        )
    extra = grad.ndim - value.ndim
    narrow = [
        extra + axis for axis, size in enumerate(value.shape) if grad.shape[extra + axis] != size
    ]
    if extra or narrow:
        grad = jnp.sum(grad, axis=(*range(extra), *narrow)).reshape(value.shape)
    return _conj(jnp.asarray(grad, value.dtype))


def _given(value: Any, like: Any, materialize: bool) -> Any:
    """What torch passes for a cotangent or tangent: the value, zeros of its type, or None."""
    if value is not None or like is None or not materialize:
        return value
    return jnp.zeros(like.shape, like.dtype)


def _conj(x: Any) -> Any:
    """torch's complex gradient is the conjugate of JAX's cotangent."""
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


def _method(cls: Any, *names: str) -> Any:
    for name in names:
        if hasattr(cls, name):
            return getattr(cls, name)
    mode = "forward" if names == ("jvp",) else "backward"
    raise NotImplementedError(
        f"You must implement {' or '.join(names)} for your custom function {cls.__name__} to use it "
        f"with {mode} mode AD"
    )


def _detached(x: Any) -> Any:
    return jax.lax.stop_gradient(x) if _is_array(x) else x


def _arrays(values: Values) -> list[Any]:
    return [value if _is_array(value) else None for value in values]


def _is_array(x: Any) -> bool:
    return hasattr(x, "dtype") and hasattr(x, "shape")


def _is_inexact(x: Any) -> bool:
    return _is_array(x) and jnp.issubdtype(x.dtype, jnp.inexact)
