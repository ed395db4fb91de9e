"""A person's JAX program as a flat jaxpr in float64, run equation by equation under watch.

Nothing in the program is edited or annotated. Where it casts to float32 inside, the cast is lifted
(and named in the report), so that float64 is the judge of it too.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat, source
from jaxgrad._core.jaxpr import Path, abstract, evaluate, inner, is_inexact, live_inputs, tap, walk
from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.align.fingerprint import SIZE, fingerprint
from jaxgrad.parity.prove.jax_side import lifting


_CUSTOM = ("custom_jvp_call", "custom_vjp_call")

Key = tuple[Path, int]  # an equation and which of its outputs


class Spot(NamedTuple):
    """A value inside the program: an output of an equation, in one turn of the scans around it."""

    path: Path
    output: int
    turn: tuple[int, ...] = ()

    @property
    def key(self) -> Key:
        return self.path, self.output


@dataclasses.dataclass
class JaxProgram:
    """A traced program: leaves of params, then leaves of the inputs, to leaves of the outputs."""

    fun: Callable[..., list[Any]]  # the user's, of leaves
    jaxpr: Any
    leaves: list[np.ndarray]  # of params and inputs, float64
    param_paths: list[str]
    input_paths: list[str]
    static: list[tuple[str, str]]  # leaves that are no arrays
    out_paths: list[str]
    state_paths: list[str]
    fill: Callable[[Sequence[Any]], Any]  # leaves of params -> params; other leaves become None
    equations: dict[Path, jex_core.JaxprEqn] = dataclasses.field(default_factory=dict)
    lengths: dict[Path, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    closed: set[Path] = dataclasses.field(default_factory=set)
    pins: list[str] = dataclasses.field(default_factory=list)
    numbers: list[float] = dataclasses.field(default_factory=list)  # that torch works with

    @property
    def params(self) -> list[np.ndarray]:
        return self.leaves[: len(self.param_paths)]


def flat(tree: Any) -> tuple[list[str], list[np.ndarray], Callable[..., Any], list]:
    """The array leaves of a tree with their paths, how to put others there, and what is no array.

    Floating leaves become float64; functions and names stay where they are.
    """
    found, treedef = jax.tree_util.tree_flatten_with_path(tree)
    names = [_path_name(path) for path, _ in found]
    values = [leaf for _, leaf in found]
    arrays = [i for i, x in enumerate(values) if isinstance(x, jax.Array | np.ndarray | np.generic)]

    def fill(new: Sequence[Any], *rest: Any) -> Any:
        full = [rest[0]] * len(values) if rest else list(values)
        for i, x in zip(arrays, new, strict=True):
            full[i] = x
        return jax.tree.unflatten(treedef, full)

    rest = [(names[i], repr(x)) for i, x in enumerate(values) if i not in arrays]
    return [names[i] for i in arrays], [widened(values[i]) for i in arrays], fill, rest


def widened(x: Any) -> np.ndarray:
    """A numpy copy; floats as float64, complex numbers as complex128."""
    if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return x  # pyright: ignore[reportReturnType]
    x = np.array(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return x.astype(np.complex128)
    return x.astype(np.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x


def call_loss(loss: Callable[..., Any], outputs: Any, inputs: Any) -> Any:
    """A loss takes the outputs, or the outputs and the inputs."""
    try:
        parameters = inspect.signature(loss).parameters.values()
    except (TypeError, ValueError):
        return loss(outputs)
    free = [p for p in parameters if p.default is p.empty and p.kind != p.KEYWORD_ONLY]
    if len(free) <= 1 and not any(p.kind == p.VAR_POSITIONAL for p in free):
        return loss(outputs)
    return loss(outputs, **inputs) if isinstance(inputs, Mapping) else loss(outputs, *inputs)


def _path_name(path: Sequence[Any]) -> str:
    return jax.tree_util.keystr(tuple(path), simple=True, separator="/")


def program(
    fun: Callable[..., Any],
    params: Any,
    inputs: Any,
    pick: Callable[[Any], Any] | None = None,
    loss: Callable[..., Any] | None = None,
    has_state: bool = False,
) -> JaxProgram:
    """Trace `fun(params, *inputs)` in float64; a loss is one more output, a new state more.

    What can only be traced in float32 (a recurrent cell whose first carry has that dtype) is so,
    and lifted like any other cast.
    """
    param_paths, param_leaves, fill_params, rest = flat(params)
    input_paths, input_leaves, fill_inputs, _ = flat(inputs)
    count = len(param_leaves)
    out_paths: list[str] = []
    state_paths: list[str] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        given = fill_inputs(leaves[count:])
        args = given if not isinstance(given, Mapping) else ()
        named = given if isinstance(given, Mapping) else {}
        out = fun(fill_params(leaves[:count]), *args, **named)
        out, state = out if has_state else (out, None)
        out = out if pick is None else pick(out)
        found = [(_path_name(path), x) for path, x in jax.tree_util.tree_leaves_with_path(out)]
        if loss is not None:
            found.append(("loss", call_loss(loss, out, given)))
        moved = jax.tree_util.tree_leaves_with_path(state)
        out_paths[:] = [name for name, _ in found]
        state_paths[:] = [_path_name(path) for path, _ in moved]
        return [jnp.asarray(x) for _, x in (*found, *moved)]

    leaves, notes = [*param_leaves, *input_leaves], []
    try:
        jaxpr = jax.make_jaxpr(flat_fun)(*leaves)
    except TypeError as error:
        narrow = cast(leaves, np.float32)
        with compat.enable_x64(False):
            try:
                jaxpr = jax.make_jaxpr(flat_fun)(*narrow)
            except Exception:
                raise error from None
        notes.append("all of it (it takes no float64, so it was traced in float32)")
    made = JaxProgram(
        fun=flat_fun,
        jaxpr=jaxpr,
        leaves=leaves,
        param_paths=param_paths,
        input_paths=input_paths,
        static=rest,
        out_paths=out_paths,
        state_paths=state_paths,
        fill=lambda new: flat(params)[2](new, None),
    )
    for place in walk(jaxpr):
        made.equations[place.path] = place.eqn
        made.lengths[place.path] = place.lengths
        if place.closed:
            made.closed.add(place.path)
    made.pins = notes or _pins(made)
    return made


def _pins(made: JaxProgram) -> list[str]:
    """The lines that make less than float64 of what they are given."""
    lines = []
    for eqn in made.equations.values():
        if eqn.primitive.name in ("convert_element_type", "iota") and lifting.is_low(
            eqn.outvars[0]
        ):
            if eqn.primitive.name == "iota" or is_inexact(eqn.invars[0]):
                lines.append(source.source_line(eqn))
    return list(dict.fromkeys(lines))


def live(made: JaxProgram) -> list[bool]:
    """Which leaves a derivative of the floating outputs reaches."""
    jaxpr, _ = compat.open_jaxpr(made.jaxpr)
    count = len(made.out_paths)
    chosen = [is_inexact(v) and i < count for i, v in enumerate(jaxpr.outvars)]
    if made.out_paths[-1:] == ["loss"]:
        chosen = [i == count - 1 for i in range(len(chosen))]
    return list(live_inputs(made.jaxpr, chosen))


class Watched(NamedTuple):
    outputs: list[Any]
    prints: dict[Key, Any]  # fingerprints, or values where they were asked for


def watched(
    made: JaxProgram,
    leaves: Sequence[Any],
    *,
    slots: Mapping[Key, Any] | None = None,
    scales: Mapping[Key, Any] | None = None,
    bends: Mapping[Key, Any] | None = None,
    read: Callable[[Key], bool] = lambda _: False,
    show: Callable[[Key, Any], Any] = lambda _, x: fingerprint(x),
) -> Watched:
    """Run the program on other leaves.

    Args:
      made: The program.
      leaves: Of params and inputs.
      slots: Zeros for some values, shaped by `slot`; their gradient is the total cotangent.
      scales: For some values a number (in a scan one a turn) that multiplies them.
      bends: For some values a number that multiplies their cotangents alone.
      read: Which values to show.
      show: What is shown of a value.
    """
    given: dict[Path, dict[str, dict[int, Any]]] = {}
    for kind, tree in (("slot", slots), ("scale", scales), ("bend", bends)):
        for (path, output), x in (tree or {}).items():
            given.setdefault(path, {}).setdefault(kind, {})[output] = x

    def after(eqn: Any, path: Path, outs: list[Any], slot: Any) -> Any:
        del eqn
        outs = list(outs)
        slot = slot or {}
        for k, scale in slot.get("scale", {}).items():
            outs[k] = outs[k] * scale
        for k, scale in slot.get("bend", {}).items():
            outs[k] = _bent(outs[k], scale)
        for k, x in slot.get("slot", {}).items():
            outs[k] = tap(outs[k], x)
        found = {}
        if path in made.equations and path not in made.closed:  # the derivative's are not
            for k, x in enumerate(outs):
                if jnp.issubdtype(x.dtype, jnp.inexact) and read((path, k)):
                    found[k] = show((path, k), x)
        return outs, found or None

    def rule(eqn: Any, path: Path, ins: list[Any], slot: Any) -> Any:
        return after(eqn, path, lifting.equation(eqn, ins, made.numbers), slot)

    kinds = [v.dtype for v in made.jaxpr.in_avals]
    outs, reads = evaluate(
        lifting.constants(made.jaxpr, made.numbers),
        [_as_traced(jnp.asarray(x), kind) for x, kind in zip(leaves, kinds, strict=True)],
        rule,
        slots=given,
        enters=functools.partial(_enters, made),
        after=after,
        inline=True,
    )
    prints = {(path, k): x for path, found in reads.items() for k, x in found.items()}
    return Watched(outs, prints)


def _as_traced(x: jax.Array, kind: np.dtype) -> jax.Array:
    """Integers as the program was traced with them; floats stay as they are."""
    return x.astype(kind) if jnp.issubdtype(kind, jnp.integer) else x


@jax.custom_vjp
def _bent(x: jax.Array, scale: jax.Array) -> jax.Array:
    del scale
    return x


_bent.defvjp(
    lambda x, scale: (x, scale), lambda scale, g: (g * scale.astype(g.dtype), jnp.zeros_like(scale))
)


def slot(made: JaxProgram, key: Key) -> jax.Array:
    """Zeros for one value, with a leading axis for each scan around it."""
    aval = abstract(made.equations[key[0]].outvars[key[1]])
    dtype = jnp.complex128 if jnp.issubdtype(aval.dtype, jnp.complexfloating) else jnp.float64
    return jnp.zeros((*made.lengths[key[0]], *aval.shape), dtype)


def spots(prints: Mapping[Key, Any]) -> tuple[list[Spot], np.ndarray]:
    """Every value and its fingerprint, in program order; of a scan every turn is one."""
    found: list[Spot] = []
    rows: list[np.ndarray] = []
    for path in sorted({path for path, _ in prints}, key=_order):
        for output in sorted(k for p, k in prints if p == path):
            x = np.asarray(prints[path, output])
            for turn in np.ndindex(x.shape[:-1]):
                found.append(Spot(path, output, turn))
                rows.append(x[turn])
    return found, np.stack(rows) if rows else np.zeros((0, SIZE))


def _order(path: Path) -> tuple:
    # What is inside an equation happens before its own outputs are there.
    return (*path, float("inf"))


def _enters(made: JaxProgram, path: Path) -> bool:
    """Into everything but a custom rule, whose own derivative stays; into that only to lift."""
    eqn = made.equations.get(path)
    if eqn is None or eqn.primitive.name not in _CUSTOM:
        return True  # None: in the derivative of a custom rule
    return any(lifting.is_low(v) for place in walk(inner(eqn)[0]) for v in place.eqn.outvars)


def constants(made: JaxProgram) -> list[int]:
    """Which constants of the program are float32 or less: numbers that someone rounded."""
    _, consts = compat.open_jaxpr(made.jaxpr)
    return [i for i, x in enumerate(consts) if lifting.is_rounded(x) and np.size(x)]
