"""Trace the user's JAX program in float64.

The program is neither edited nor annotated. Casts to float32 inside it are lifted to float64 (and
listed in the report), so that the comparison has float64 precision.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat, paths, source
from jaxgrad._core.jaxpr import Path, is_inexact, live_inputs, walk
from jaxgrad._core.refusals import NotDifferentiableError
from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.record.adapters import Held
from jaxgrad.parity.prove.record.jax_side import lifting
from jaxgrad.parity.prove.record.jax_side.layouts import SAME, Layout
from jaxgrad.parity.prove.users import ProofError, returned, running


CUSTOM = ("custom_jvp_call", "custom_vjp_call")

Key = tuple[Path, int]  # an equation's path, and the index of one of its outputs


class Spot(NamedTuple):
    """A value inside the program: an equation's output in one iteration of the enclosing scans."""

    path: Path
    output: int
    iteration: tuple[int, ...] = ()

    @property
    def key(self) -> Key:
        """The equation's output, without the iteration."""
        return self.path, self.output


@dataclasses.dataclass
class JaxProgram:
    """A traced function from the leaves of params and inputs to the leaves of the outputs."""

    fun: Callable[..., list[Any]]  # the user's function, called with leaves
    jaxpr: Any
    leaves: list[np.ndarray]  # of params and inputs, float64
    param_paths: list[str]
    input_paths: list[str]
    out_paths: list[str]
    state_paths: list[str]
    fill: Callable[[Sequence[Any]], Any]  # leaves -> params; None in place of other leaves
    equations: dict[Path, jex_core.JaxprEqn] = dataclasses.field(default_factory=dict)
    lengths: dict[Path, tuple[int, ...]] = dataclasses.field(default_factory=dict)  # of scans
    closed: set[Path] = dataclasses.field(default_factory=set)  # inside custom derivative rules
    layout: Layout = SAME  # of the inputs that the user's function takes
    dtypes: list[np.dtype] = dataclasses.field(default_factory=list)  # of the user's params
    casts: list[str] = dataclasses.field(default_factory=list)  # source lines with lifted casts
    rejects_float64: bool = False  # if true, the program was traced in float32
    tables: list[tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=list)
    numbers: list[float] = dataclasses.field(default_factory=list)  # floats passed to torch calls
    repeatable: bool = True  # whether another trace of the user's function gives this program

    @property
    def params(self) -> list[np.ndarray]:
        """The leaves of params, without the inputs."""
        return self.leaves[: len(self.param_paths)]

    def forget(self, numbers: Container[int]) -> None:
        """Replace the values of some leaves by zeros that take no memory."""
        self.leaves = [blank(x) if i in numbers else x for i, x in enumerate(self.leaves)]


def flat(
    tree: Any, widen: Callable[[int, Any], np.ndarray] | None = None
) -> tuple[list[str], list[np.ndarray], Callable[..., Any]]:
    """Return the paths and values of a tree's array leaves, and a function that replaces them.

    Random keys, and leaves that are not arrays, stay in the tree.

    Args:
        tree: A tree with arrays.
        widen: Function from a leaf's number and the leaf to its value. By default, floating leaves
            become float64.
    """
    leaves, treedef = paths.named(tree), jax.tree.structure(tree)
    names = [path for path, _ in leaves]
    values = [leaf for _, leaf in leaves]
    arrays = [i for i, x in enumerate(values) if is_array(x)]

    def fill(new: Sequence[Any], *rest: Any) -> Any:
        full = [rest[0]] * len(values) if rest else list(values)
        for i, x in zip(arrays, new, strict=True):
            full[i] = x
        return jax.tree.unflatten(treedef, full)

    new = [
        widened(values[i]) if widen is None else widen(k, values[i]) for k, i in enumerate(arrays)
    ]
    return [names[i] for i in arrays], new, fill


def is_array(x: Any) -> bool:
    """Whether a leaf is an array of numbers; a random key is not."""
    return isinstance(x, jax.Array | np.ndarray | np.generic) and not is_key(x)


def is_key(x: Any) -> bool:
    """Whether a leaf is an array of JAX's typed random keys."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def widened(x: Any) -> np.ndarray:
    """Return a numpy copy with floats cast to float64 and complex numbers to complex128."""
    x = np.asarray(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return x.astype(np.complex128)
    return x.astype(np.float64 if jnp.issubdtype(x.dtype, jnp.floating) else x.dtype)


def blank(x: Any) -> np.ndarray:
    """Return zeros of a leaf's shape, in the dtype of `widened`, that take no memory."""
    dtype = np.dtype(x.dtype)
    if jnp.issubdtype(dtype, jnp.inexact):
        dtype = np.dtype(
            np.complex128 if jnp.issubdtype(dtype, jnp.complexfloating) else np.float64
        )
    return np.broadcast_to(np.zeros((), dtype), np.shape(x))


def call_loss(loss: Callable[..., Any], outputs: Any, inputs: Any) -> Any:
    """Call a loss that takes the outputs, or the outputs and the inputs."""
    try:
        parameters = inspect.signature(loss).parameters.values()
    except (TypeError, ValueError):
        return loss(outputs)
    required = [p for p in parameters if p.default is p.empty and p.kind != p.KEYWORD_ONLY]
    if len(required) <= 1 and not any(p.kind == p.VAR_POSITIONAL for p in required):
        return loss(outputs)
    return loss(outputs, **inputs) if isinstance(inputs, Mapping) else loss(outputs, *inputs)


def _with_state(out: Any, has_state: bool) -> tuple[Any, Any]:
    """Return the outputs and the new state: a module's own, or the second of a pair."""
    pair = out.outputs if isinstance(out, Held) else out
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2
    if isinstance(out, Held) and (out.returned or not (has_state and is_pair)):
        return out.outputs, out.state
    if not has_state:
        return out, None
    if not is_pair:
        raise ProofError(
            "has_state=True needs fn to return (outputs, new_state), but it returned "
            f"{returned(out)}: return the new state too, or leave out has_state"
        )
    return pair[0], pair[1]


def _one_number(loss: Any) -> Any:
    """Check that a loss is one number."""
    if _is_numeric(loss) and np.size(loss) == 1:
        return loss
    raise ProofError(f"loss=: the JAX loss returned {returned(loss)}; it must return one number")


def _is_numeric(x: Any) -> bool:
    return is_array(x) or isinstance(x, int | float | complex)


def program(
    fun: Callable[..., Any],
    params: Any,
    inputs: Any,
    pick: Callable[[Any], Any] | None = None,
    loss: Callable[..., Any] | None = None,
    has_state: bool = False,
    layout: Layout = SAME,
    known: Container[int] = (),
) -> JaxProgram:
    """Trace `fun(params, *inputs)` in float64, with the loss and new state as additional outputs.

    A function that can be traced only in float32 (a recurrent cell whose first carry has that
    dtype), or only in the dtypes of its params, is traced so, and its casts are lifted. The values
    of the `known` leaves of params are not needed, and they become zeros that take no memory.
    """
    param_paths, param_leaves, fill_params = flat(
        params, lambda i, x: blank(x) if i in known else widened(x)
    )
    input_paths, input_leaves, fill_inputs = flat(inputs)
    count = len(param_leaves)
    out_paths: list[str] = []
    state_paths: list[str] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        values = layout.inputs(fill_inputs(leaves[count:]))
        args = values if not isinstance(values, Mapping) else ()
        named = values if isinstance(values, Mapping) else {}
        out = fun(fill_params(leaves[:count]), *args, **named)
        out, state = _with_state(out, has_state)
        if pick is not None:
            with running("outputs=: jax_pick", keep=compat.NEEDS_NUMBERS):
                out = pick(out)
        outputs = [
            (name, layout.output(name, x))
            for name, x in paths.named(out)
            if is_array(x) or (layout.numbers and _is_numeric(x))  # there may be other objects
        ]
        outputs = layout.ordered(outputs)
        if loss is not None:
            with running("loss=: jax_loss", keep=compat.NEEDS_NUMBERS):
                outputs.append(("loss", _one_number(call_loss(loss, out, values))))
        new_state = [(path, x) for path, x in paths.named(state) if _is_numeric(x)]
        out_paths[:] = [name for name, _ in outputs]
        state_paths[:] = [path for path, _ in new_state]
        return [jnp.asarray(x) for _, x in (*outputs, *new_state)]

    leaves = [*param_leaves, *input_leaves]
    dtypes = [x.dtype for x in jax.tree.leaves(params) if is_array(x)]
    jaxpr, rejects = _traced(flat_fun, leaves, dtypes)
    jaxpr = _released(jaxpr)
    traced = JaxProgram(
        fun=flat_fun,
        jaxpr=jaxpr,
        leaves=leaves,
        param_paths=param_paths,
        input_paths=input_paths,
        out_paths=out_paths,
        state_paths=state_paths,
        fill=lambda new: fill_params(new, None),
        layout=layout,
        dtypes=dtypes,
    )
    traced = with_jaxpr(traced, jaxpr)
    traced.casts = _casts(traced)
    traced.rejects_float64 = rejects
    return traced


def _traced(fun: Any, leaves: Sequence[np.ndarray], dtypes: Sequence[Any]) -> tuple[Any, bool]:
    """Trace a function in float64, or else in float32 or in the dtypes of its params.

    Returns:
        The jaxpr, and whether the function raised in float64.
    """
    try:
        return jax.make_jaxpr(fun)(*leaves), False
    except (ProofError, *compat.NEEDS_NUMBERS):
        raise
    except Exception as error:
        own = [x for x in dtypes if jnp.issubdtype(x, jnp.floating)]
        common = max(own, key=own.count, default=np.dtype(np.float32))
        wanted = [*dtypes, *[common] * (len(leaves) - len(dtypes))]
        mixed = [
            x.astype(d) if jnp.issubdtype(x.dtype, jnp.floating) else x
            for x, d in zip(leaves, wanted, strict=True)
        ]
        for narrow in (cast(leaves, np.float32), mixed):  # without x64, float64 becomes float32
            with jax.enable_x64(False), contextlib.suppress(Exception):
                return jax.make_jaxpr(fun)(*narrow), True
        raise error from None


def _released(jaxpr: Any) -> Any:
    """Copy the constants: JAX keeps a captured int64 array's dtype for as long as they exist."""
    opened, consts = compat.open_jaxpr(jaxpr)
    copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in consts]
    return jex_core.ClosedJaxpr(opened, copies)


def with_jaxpr(program: JaxProgram, jaxpr: Any, **changes: Any) -> JaxProgram:
    """Return a program with another trace of the same function."""
    new = dataclasses.replace(
        program, jaxpr=jaxpr, equations={}, lengths={}, closed=set(), **changes
    )
    for place in walk(jaxpr):
        new.equations[place.path] = place.eqn
        new.lengths[place.path] = place.lengths
        if place.closed:
            new.closed.add(place.path)
    return new


def _casts(program: JaxProgram) -> list[str]:
    """Return the source lines that compute in a dtype below float64."""
    lines = []
    for eqn in program.equations.values():
        if eqn.primitive.name in ("convert_element_type", "iota") and lifting.is_low(
            eqn.outvars[0]
        ):
            if eqn.primitive.name == "iota" or is_inexact(eqn.invars[0]):
                lines.append(source.user_line(eqn) or source.short_line(eqn))
    return list(dict.fromkeys(lines))


def literals(jaxpr: Any, *, integers: bool = False) -> list[float]:
    """Return the finite real numbers that a jaxpr contains as constants, in program order.

    Integers are left out, unless they are asked for or converted, as the bounds of `jnp.clip`.
    """
    constants = compat.open_jaxpr(jaxpr)[1]
    scalars = [x for x in constants if np.ndim(x) == 0]
    equations = [place.eqn for place in walk(jaxpr)]
    scalars += [x for eqn in equations for x in (*numbers_of(eqn), *_converted(eqn))]
    powers = (eqn for eqn in equations if eqn.primitive.name == "integer_pow")
    scalars += [float(eqn.params["y"]) for eqn in powers]
    kinds = (jnp.floating, jnp.integer) if integers else (jnp.floating,)
    real = [x for x in scalars if any(jnp.issubdtype(jnp.result_type(x), k) for k in kinds)]
    numbers = [float(x) for x in real]
    return list(dict.fromkeys(x for x in numbers if np.isfinite(x)))


def numbers_of(eqn: Any) -> list[Any]:
    """Return the numbers among the operands of an equation."""
    constants = (v.val for v in eqn.invars if isinstance(v, jex_core.Literal))
    return [x for x in constants if np.ndim(x) == 0]


def _converted(eqn: Any) -> list[float]:
    """Return the integers that the body of a jitted function converts to floating numbers."""
    if eqn.primitive.name not in compat.JIT:
        return []
    body, _ = compat.open_jaxpr(eqn.params["jaxpr"])
    read = {
        inner.invars[0]
        for inner in body.eqns
        if inner.primitive.name == "convert_element_type" and is_inexact(inner.outvars[0])
        if not isinstance(inner.invars[0], jex_core.Literal)
    }
    pairs = zip(eqn.invars, body.invars, strict=True)
    literal = [v for v, own in pairs if isinstance(v, jex_core.Literal) and own in read]
    return [float(v.val) for v in literal if np.ndim(v.val) == 0]


class Derivatives(NamedTuple):
    """The leaves that have a derivative, and those for which none is implemented."""

    reached: list[bool]  # for each leaf, whether a derivative path leads to it
    refused: frozenset[int]  # leaves for which none is implemented: the class weights of a loss


def derivatives(program: JaxProgram) -> Derivatives:
    """Return the leaves to which a derivative path leads from an output."""
    jaxpr, _ = compat.open_jaxpr(program.jaxpr)
    count = len(program.out_paths)
    chosen = [is_inexact(v) and i < count for i, v in enumerate(jaxpr.outvars)]
    if program.out_paths[-1:] == ["loss"]:
        chosen = [i == count - 1 for i in range(len(chosen))]

    def live(varied: Collection[int]) -> list[bool]:
        flags = [i in varied for i in range(len(jaxpr.invars))]
        return list(live_inputs(program.jaxpr, chosen, flags))

    def refused(leaves: Sequence[int]) -> set[int]:
        """Return the leaves with respect to which a derivative is not implemented."""
        try:
            live(leaves)
        except NotDifferentiableError:
            half = len(leaves) // 2
            return refused(leaves[:half]) | refused(leaves[half:]) if half else {*leaves}
        return set()

    every = range(len(jaxpr.invars))
    try:
        return Derivatives(live(every), frozenset())
    except NotDifferentiableError:
        without = refused(every)
        return Derivatives(live({*every} - without), frozenset(without))
