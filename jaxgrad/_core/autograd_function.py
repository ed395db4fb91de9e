"""How a class with torch's `forward` and `backward` becomes a JAX rule.

`forward` runs once, where the function is called, on values without gradient. What it returned is
then attached to the arguments by a rule whose transpose is `backward`. What `ctx` holds travels as
residuals: a saved input or output as that input or output itself, so that a second derivative goes
through it, as in torch; any other array as a constant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from jaxgrad._core.attach import attach, hoist, linear, merge, only
from jaxgrad._core.compat import NEEDS_NUMBERS


Values = Sequence[Any]


class Context:
    """torch's `ctx`; the attributes that a class sets live beside these."""

    def __init__(self, needs_input_grad: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs_input_grad)
        self.saved_tensors: tuple[Any, ...] = ()
        self._fixed: tuple[Any, ...] = ()
        self._materialize = True

    def save_for_backward(self, *arrays: Any) -> None:
        for place, array in enumerate(arrays):
            if array is not None and not is_array(array):
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


class State(NamedTuple):
    """The arrays that a rule is given: for each argument and output itself if saved, else None."""

    inputs: list[Any]
    outputs: list[Any]
    kept: list[Any]  # saved, and neither


def call(cls: Any, args: Values) -> Any:
    """Run `forward`, and attach what it returns to the arguments."""
    args = [jnp.asarray(a) if is_array(a) else a for a in args]
    seen = [_detached(a) for a in args]
    ctx = Context([is_inexact(a) for a in args])
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
    live = [is_inexact(o) and id(o) not in marked for o in outs]
    inexact = [is_inexact(a) for a in args]
    in_types, out_types = [*map(_type, args)], [*map(_type, outs)]
    materialize = ctx._materialize
    saved, rebuild = _pack(ctx, seen, outs)

    def backward(needs: Values, state: State, arrived: Values) -> list[Any]:
        """A gradient, or None, for each argument."""
        given = map(functools.partial(_given, materialize), arrived, out_types)
        made = _method(cls, "backward", "vjp")(rebuild(needs, state), *map(_conj, given))
        return _checked(cls.__name__, made if isinstance(made, tuple) else (made,), in_types)

    def jvp(needs: Values, state: State, tangents: Values) -> list[Any]:
        """A tangent, or None, for each output."""
        types = merge(only(in_types, inexact), inexact)
        given = map(functools.partial(_given, materialize), tangents, types)
        made = _method(cls, "jvp")(rebuild(needs, state), *given)
        return list(made) if isinstance(made, tuple) else [made]

    # An argument that `backward` answers with None is not attached: no path starts from it.
    arriving = merge(only(out_types, live), live)
    consts, wanted, traced = [], inexact, None
    if hasattr(cls, "backward") or hasattr(cls, "vjp"):
        try:
            traced, consts, found = hoist(functools.partial(backward, inexact), saved, arriving)
        except NEEDS_NUMBERS:  # it branches on values, and outside of jit there are some
            found = backward(inexact, saved, [_given(True, None, t) for t in arriving])
        wanted = [f is not None for f in found]
    if not any(isinstance(c, Tracer) for c in consts):
        consts, traced = [], None  # nothing can go stale: `backward` itself may run later
    keeps_in, keeps_out = ([x is not None for x in side] for side in (saved.inputs, saved.outputs))

    def rule(made: Values, operands: Any, _: Values, tangents: Any) -> Values:
        values, fixed, kept, consts = operands
        tangents = tangents[0]
        needs = [t is not None for t in tangents]
        active = [w and n for w, n in zip(wanted, needs, strict=True)]
        if not any(active):
            return [None] * len(made)
        results = merge(made, live, fixed)
        state = State(
            merge(only(values, keeps_in), keeps_in),
            merge(only(results, keeps_out), keeps_out),
            kept,
        )

        def forward(residuals: Any, tangents: Values) -> Values:
            state, _ = residuals
            return only(jvp(needs, state, merge(tangents, active)), live)

        def transpose(residuals: Any, arrived: Values) -> Values:
            state, consts = residuals
            if traced is None:
                return only(backward(needs, state, merge(arrived, live)), active)
            given = map(functools.partial(_given, True), merge(arrived, live), arriving)
            return only(traced(consts, state, list(given)), active)

        types = [jax.typeof(o) for o in made]
        return linear(forward, transpose, (state, consts), only(tangents, active), types)

    outs = [_detached(o) for o in outs]
    operands = ([*map(_array, args)], [*map(_array, outs)], saved.kept, consts)
    return merge(attach(only(outs, live), operands, rule, cls.__name__), live, outs)


def _pack(ctx: Context, seen: Values, outs: Values) -> tuple[State, Callable[..., Context]]:
    """What `ctx` holds, and how to build the like of it.

    An array whose value is known stays in the recipe, unless it is an input or an output.
    """
    own = ("needs_input_grad", "_fixed", "_materialize")
    held = {name: value for name, value in vars(ctx).items() if name not in own}
    leaves, structure = jax.tree.flatten(held)
    places = {id(o): (1, place) for place, o in enumerate(outs) if is_array(o)}
    places |= {id(a): (0, place) for place, a in enumerate(seen) if is_array(a)}
    state = State([None] * len(seen), [None] * len(outs), [])
    recipe = []
    for leaf in leaves:
        source, what = places.get(id(leaf), (None, leaf))
        if source is not None:
            state[source][what] = leaf
        elif isinstance(leaf, Tracer):
            source, what = 2, len(state.kept)
            state.kept.append(jax.lax.stop_gradient(leaf))
        recipe.append((source, what))
    materialize = ctx._materialize

    def rebuild(needs: Sequence[bool], state: State) -> Context:
        values = [what if source is None else state[source][what] for source, what in recipe]
        new = Context(needs)
        new.set_materialize_grads(materialize)
        vars(new).update(structure.unflatten(values))
        return new

    return state, rebuild


def _checked(name: str, made: Values, types: Values) -> list[Any]:
    """torch's rules for what `backward` may return."""
    expected, got = len(types), len(made)
    if got < expected or any(grad is not None for grad in made[expected:]):
        raise ValueError(
            f"function {name}Backward returned an incorrect number of gradients (expected "
            f"{expected}, got {got}): one for each argument of forward, None where there is none"
        )
    out = []
    for place, (grad, like) in enumerate(zip(made, types, strict=False)):
        if grad is None:
            out.append(None)
        elif like is None:
            raise ValueError(
                f"function {name}Backward returned a gradient different than None at position "
                f"{place + 1}, but the corresponding forward input was not an array"
            )
        elif not is_array(grad):
            raise TypeError(
                f"function {name}Backward returned {grad!r} at index {place}: expected an array or "
                f"None (got {type(grad).__name__})"
            )
        else:
            out.append(_fitted(grad, like, name, place) if is_inexact(like) else None)
    return out


def _fitted(grad: Any, like: Any, name: str, place: int) -> jax.Array:
    """A gradient that is larger than its input is summed to its shape; it is cast to its dtype."""
    extra = grad.ndim - like.ndim
    sizes = [*zip(grad.shape[max(extra, 0) :], like.shape, strict=False)]
    if extra < 0 or any(size not in (wide, 1) for wide, size in sizes):
        raise ValueError(
            f"Function {name}Backward returned an invalid gradient at index {place} - got "
            f"{list(grad.shape)} but expected shape compatible with {list(like.shape)}"
        )
    if jnp.iscomplexobj(grad) and not jnp.issubdtype(like.dtype, jnp.complexfloating):
        raise TypeError(
            f"Function {name}Backward returned an invalid gradient at index {place} - got "
            f"{grad.dtype} for an input of {like.dtype}; take its real part"
        )
    narrow = [extra + axis for axis, (wide, size) in enumerate(sizes) if wide != size]
    if extra or narrow:
        grad = jnp.sum(grad, axis=(*range(extra), *narrow)).reshape(like.shape)
    return _conj(jnp.asarray(grad, like.dtype))


def _given(materialize: bool, value: Any, like: Any) -> Any:
    """What torch hands over for a cotangent or a tangent: itself, zeros of its type, or None."""
    if value is None and like is not None and materialize:
        return jnp.zeros(like.shape, like.dtype)
    return value


def _conj(x: Any) -> Any:
    """torch's complex gradient is the conjugate of JAX's cotangent."""
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


def _method(cls: Any, *names: str) -> Any:
    for name in names:
        if hasattr(cls, name):
            return getattr(cls, name)
    raise NotImplementedError(
        f"You must implement {' or '.join(names)} in {cls.__name__} to use it with "
        f"{'forward' if 'jvp' in names else 'backward'} mode AD"
    )


def _detached(x: Any) -> Any:
    """`x` without gradient; also a tree, which torch passes by as it does any other object."""
    return jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if is_array(leaf) else leaf, x)


def _array(x: Any) -> Any:
    return x if is_array(x) else None


def _type(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype) if is_array(x) else None


def is_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def is_inexact(x: Any) -> bool:
    return is_array(x) and jnp.issubdtype(x.dtype, jnp.inexact)
