"""Turn a class with torch's `forward` and `backward` into a JAX function with that derivative.

`forward` runs once, at the call, on values that carry no gradient. Its outputs are then attached to
the arguments by a rule whose transpose is `backward`. The contents of `ctx` become residuals: a
saved input or output is passed as that input or output itself, so that a second derivative goes
through it, as in torch; any other array is passed as a constant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from jaxgrad._core.attach import attach, hoist, linear
from jaxgrad._core.compat import NEEDS_NUMBERS
from jaxgrad._core.tree import is_inexact, merge, partition, select


Values = Sequence[Any]


class Context:
    """The counterpart of torch's `ctx`, on which a class may set further attributes."""

    def __init__(self, needs_input_grad: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs_input_grad)
        self.saved_tensors: tuple[Any, ...] = ()
        self._fixed: tuple[Any, ...] = ()
        self._materialize = True

    def save_for_backward(self, *arrays: Any) -> None:
        for i, array in enumerate(arrays):
            if array is not None and not is_tensor(array):
                raise TypeError(
                    f"save_for_backward can only save arrays, but argument {i} is of type "
                    f"{type(array).__name__}; make it an attribute of ctx"
                )
        self.saved_tensors = arrays

    save_for_forward = save_for_backward

    def mark_non_differentiable(self, *outputs: Any) -> None:
        self._fixed = outputs

    def mark_dirty(self, *inputs: Any) -> None:
        del inputs  # JAX changes no array in place

    def set_materialize_grads(self, value: bool) -> None:
        self._materialize = value


class State(NamedTuple):
    """The saved arrays that a rule receives; None stands for an argument or output not saved."""

    inputs: list[Any]
    outputs: list[Any]
    kept: list[Any]  # saved arrays that are neither an argument nor an output


def call(cls: Any, args: Values) -> Any:
    """Run `cls.forward` and attach its outputs to the arguments."""
    args = [jnp.asarray(a) if is_tensor(a) else a for a in args]
    detached = [_detached(a) for a in args]
    ctx = Context([is_inexact(a) for a in args])
    if hasattr(cls, "setup_context"):
        out = cls.forward(*detached)
        cls.setup_context(ctx, tuple(detached), out)
    else:
        out = cls.forward(ctx, *detached)
    outs = list(out) if isinstance(out, tuple) else [out]
    outs = _attach(cls, ctx, args, detached, outs)
    return tuple(outs) if isinstance(out, tuple) else outs[0]


def _attach(cls: Any, ctx: Context, args: Values, detached: Values, outs: Values) -> list[Any]:
    """Make the outputs differentiable through the class's `backward` and `jvp`."""
    marked = {id(o) for o in ctx._fixed}
    live = [is_inexact(o) and id(o) not in marked for o in outs]
    if not any(live):  # a Python number that `forward` returns is not a tensor, as in torch
        return [_detached(o) for o in outs]
    inexact = [is_inexact(a) for a in args]
    in_types, out_types = [*map(_type, args)], [*map(_type, outs)]
    materialize = ctx._materialize
    saved, rebuild = _pack(ctx, detached, outs)

    def backward(needs: Values, state: State, cotangents: Values) -> list[Any]:
        """Return a gradient, or None, for each argument."""
        dense = map(functools.partial(_materialized, materialize), cotangents, out_types)
        grads = _method(cls, "backward", "vjp")(rebuild(needs, state), *map(_conj, dense))
        return _checked(cls.__name__, grads if isinstance(grads, tuple) else (grads,), in_types)

    def jvp(needs: Values, state: State, tangents: Values) -> list[Any]:
        """Return a tangent, or None, for each output."""
        types = merge(inexact, select(inexact, in_types))
        dense = map(functools.partial(_materialized, materialize), tangents, types)
        out_tangents = _method(cls, "jvp")(rebuild(needs, state), *dense)
        return list(out_tangents) if isinstance(out_tangents, tuple) else [out_tangents]

    # An argument for which `backward` returns None is not attached, so it gets no gradient.
    live_types = merge(live, select(live, out_types))
    consts, wanted, traced = [], inexact, None
    if hasattr(cls, "backward") or hasattr(cls, "vjp"):
        try:
            traced, consts, grads = hoist(functools.partial(backward, inexact), saved, live_types)
        except NEEDS_NUMBERS:  # it branches on values, which only exist outside jit
            grads = backward(inexact, saved, [_materialized(True, None, t) for t in live_types])
        wanted = [grad is not None for grad in grads]
    if not any(isinstance(c, Tracer) for c in consts):
        consts, traced = [], None  # no tracer can outlive its trace: `backward` may run later
    saved_in, saved_out = ([x is not None for x in xs] for xs in (saved.inputs, saved.outputs))

    def rule(live_outs: Values, operands: Any, _: Values, tangents: Any) -> Values:
        values, fixed, kept, consts = operands
        tangents = tangents[0]
        needs = [t is not None for t in tangents]
        active = [w and n for w, n in zip(wanted, needs, strict=True)]
        if not any(active):
            return [None] * len(live_outs)
        results = merge(live, live_outs, fixed)
        state = State(
            merge(saved_in, select(saved_in, values)),
            merge(saved_out, select(saved_out, results)),
            kept,
        )

        def forward(residuals: Any, tangents: Values) -> Values:
            state, _ = residuals
            return select(live, jvp(needs, state, merge(active, tangents)))

        def transpose(residuals: Any, cotangents: Values) -> Values:
            state, consts = residuals
            cotangents = merge(live, cotangents)
            if traced is None:
                return select(active, backward(needs, state, cotangents))
            dense = map(functools.partial(_materialized, True), cotangents, live_types)
            return select(active, traced(consts, state, list(dense)))

        types = [jax.typeof(o) for o in live_outs]
        return linear(forward, transpose, (state, consts), select(active, tangents), types)

    live_outs, fixed = partition(live, [_detached(o) for o in outs])
    operands = ([*map(_tensor, args)], [*map(_tensor, fixed)], saved.kept, consts)
    return merge(live, attach(live_outs, operands, rule, cls.__name__), fixed)


def _pack(ctx: Context, detached: Values, outs: Values) -> tuple[State, Callable[..., Context]]:
    """Split `ctx` into the arrays that it holds and a function that rebuilds it from them.

    A concrete array stays in that function, unless it is an argument or an output.
    """
    own = ("needs_input_grad", "_fixed", "_materialize")
    attributes = {name: value for name, value in vars(ctx).items() if name not in own}
    leaves, structure = jax.tree.flatten(attributes)
    places = {id(o): (1, i) for i, o in enumerate(outs) if is_tensor(o)}
    places |= {id(a): (0, i) for i, a in enumerate(detached) if is_tensor(a)}
    state = State([None] * len(detached), [None] * len(outs), [])
    recipe = []
    for leaf in leaves:
        field, entry = places.get(id(leaf), (None, leaf))
        if field is not None:
            state[field][entry] = leaf
        elif isinstance(leaf, Tracer):
            field, entry = 2, len(state.kept)
            state.kept.append(jax.lax.stop_gradient(leaf))
        recipe.append((field, entry))
    materialize = ctx._materialize

    def rebuild(needs: Sequence[bool], state: State) -> Context:
        values = [entry if field is None else state[field][entry] for field, entry in recipe]
        new = Context(needs)
        new.set_materialize_grads(materialize)
        vars(new).update(structure.unflatten(values))
        return new

    return state, rebuild


def _checked(name: str, grads: Values, types: Values) -> list[Any]:
    """Check the gradients from `backward` as torch does, and match them to the inputs."""
    expected, got = len(types), len(grads)
    if got < expected or any(grad is not None for grad in grads[expected:]):
        raise ValueError(
            f"function {name}Backward returned an incorrect number of gradients (expected "
            f"{expected}, got {got}): one for each argument of forward, None where there is none"
        )
    out = []
    for i, (grad, like) in enumerate(zip(grads, types, strict=False)):
        if grad is None:
            out.append(None)
        elif like is None:
            raise ValueError(
                f"function {name}Backward returned a gradient different than None at position "
                f"{i + 1}, but the corresponding forward input was not an array"
            )
        elif not is_tensor(grad):
            raise TypeError(
                f"function {name}Backward returned {grad!r} at index {i}: expected an array or "
                f"None (got {type(grad).__name__})"
            )
        else:
            out.append(_fitted(grad, like, name, i) if is_inexact(like) else None)
    return out


def _fitted(grad: Any, like: Any, name: str, index: int) -> jax.Array:
    """Sum a gradient over broadcast dimensions to its input's shape, and cast it to the dtype."""
    extra = grad.ndim - like.ndim
    sizes = [*zip(grad.shape[max(extra, 0) :], like.shape, strict=False)]
    if extra < 0 or any(size not in (wide, 1) for wide, size in sizes):
        raise ValueError(
            f"Function {name}Backward returned an invalid gradient at index {index} - got "
            f"{list(grad.shape)} but expected shape compatible with {list(like.shape)}"
        )
    if jnp.iscomplexobj(grad) and not jnp.issubdtype(like.dtype, jnp.complexfloating):
        raise TypeError(
            f"Function {name}Backward returned an invalid gradient at index {index} - got "
            f"{grad.dtype} for an input of {like.dtype}; take its real part"
        )
    narrow = [extra + axis for axis, (wide, size) in enumerate(sizes) if wide != size]
    if extra or narrow:
        grad = jnp.sum(grad, axis=(*range(extra), *narrow)).reshape(like.shape)
    return _conj(jnp.asarray(grad, like.dtype))


def _materialized(materialize: bool, value: Any, like: Any) -> Any:
    """Replace a cotangent or tangent that is None by zeros, unless the class asked for None."""
    if value is None and like is not None and materialize:
        return jnp.zeros(like.shape, like.dtype)
    return value


def _conj(x: Any) -> Any:
    """Convert between torch's complex gradient and JAX's cotangent, its conjugate."""
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
    """Stop the gradient of every array in a tree; as in torch, trees get no gradient."""
    return jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if is_tensor(leaf) else leaf, x)


def _tensor(x: Any) -> Any:
    return x if is_tensor(x) else None


def _type(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype) if is_tensor(x) else None


def is_tensor(x: Any) -> bool:
    """Return whether `x` would be a tensor in torch: an array is one, a Python number is not."""
    return hasattr(x, "shape") and hasattr(x, "dtype")
