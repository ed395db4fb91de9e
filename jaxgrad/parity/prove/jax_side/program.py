"""Trace the user's JAX program in float64 and evaluate it equation by equation.

The program is neither edited nor annotated. Casts to float32 inside it are lifted to float64 (and
listed in the report), so that the comparison has float64 precision.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat, source
from jaxgrad._core.jaxpr import Path, abstract, evaluate, inner, is_inexact, live_inputs, tap, walk
from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.adapters import Held
from jaxgrad.parity.prove.align.fingerprint import SIZE, fingerprint
from jaxgrad.parity.prove.jax_side import lifting
from jaxgrad.parity.prove.noise import sampled
from jaxgrad.parity.prove.users import ProofError, running


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
        self.leaves = [
            np.broadcast_to(np.zeros((), x.dtype), x.shape) if i in numbers else x
            for i, x in enumerate(self.leaves)
        ]


def flat(tree: Any) -> tuple[list[str], list[np.ndarray], Callable[..., Any]]:
    """Return the paths and values of a tree's array leaves, and a function that replaces them.

    Floating leaves become float64. Random keys, and leaves that are not arrays, stay in the tree.
    """
    leaves, treedef = jax.tree_util.tree_flatten_with_path(tree)
    names = [_path_name(path) for path, _ in leaves]
    values = [leaf for _, leaf in leaves]
    arrays = [i for i, x in enumerate(values) if is_array(x)]

    def fill(new: Sequence[Any], *rest: Any) -> Any:
        full = [rest[0]] * len(values) if rest else list(values)
        for i, x in zip(arrays, new, strict=True):
            full[i] = x
        return jax.tree.unflatten(treedef, full)

    return [names[i] for i in arrays], [widened(values[i]) for i in arrays], fill


def is_array(x: Any) -> bool:
    """Whether a leaf is an array of numbers; a random key is not."""
    return isinstance(x, jax.Array | np.ndarray | np.generic) and not is_key(x)


def is_key(x: Any) -> bool:
    """Whether a leaf is an array of JAX's typed random keys."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def widened(x: Any) -> np.ndarray:
    """Return a numpy copy with floats cast to float64 and complex numbers to complex128."""
    x = np.array(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return x.astype(np.complex128)
    return x.astype(np.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x


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
    if isinstance(out, Held) and not (has_state and is_pair):
        return out.outputs, out.state
    if not has_state:
        return out, None
    if not is_pair:
        of_length = f" of length {len(out)}" if isinstance(out, tuple | list) else ""
        raise ProofError(
            "has_state=True needs fn to return (outputs, new_state), but it returned "
            f"{type(out).__name__}{of_length}"
        )
    return pair[0], pair[1]


def _one_number(loss: Any) -> Any:
    """Check that a loss is one number."""
    if _is_numeric(loss) and np.size(loss) == 1:
        return loss
    shape = f" of shape {np.shape(loss)}" if _is_numeric(loss) else ""
    raise ProofError(
        f"loss=: the JAX loss returned {type(loss).__name__}{shape}; it must return one number"
    )


def _is_numeric(x: Any) -> bool:
    return is_array(x) or isinstance(x, int | float | complex)


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
    """Trace `fun(params, *inputs)` in float64, with the loss and new state as additional outputs.

    A function that can be traced only in float32 (a recurrent cell whose first carry has that
    dtype) is traced in float32, and its casts are lifted.
    """
    param_paths, param_leaves, fill_params = flat(params)
    input_paths, input_leaves, fill_inputs = flat(inputs)
    count = len(param_leaves)
    out_paths: list[str] = []
    state_paths: list[str] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        values = fill_inputs(leaves[count:])
        args = values if not isinstance(values, Mapping) else ()
        named = values if isinstance(values, Mapping) else {}
        out = fun(fill_params(leaves[:count]), *args, **named)
        out, state = _with_state(out, has_state)
        if pick is not None:
            with running("outputs=: jax_pick", keep=compat.NEEDS_NUMBERS):
                out = pick(out)
        outputs = [
            (_path_name(path), x)
            for path, x in jax.tree_util.tree_leaves_with_path(out)
            if _is_numeric(x)  # torch's outputs may also contain other objects
        ]
        if loss is not None:
            with running("loss=: jax_loss", keep=compat.NEEDS_NUMBERS):
                outputs.append(("loss", _one_number(call_loss(loss, out, values))))
        new_state = [
            (path, x) for path, x in jax.tree_util.tree_leaves_with_path(state) if _is_numeric(x)
        ]
        out_paths[:] = [name for name, _ in outputs]
        state_paths[:] = [_path_name(path) for path, _ in new_state]
        return [jnp.asarray(x) for _, x in (*outputs, *new_state)]

    leaves, rejects = [*param_leaves, *input_leaves], False
    try:
        jaxpr = jax.make_jaxpr(flat_fun)(*leaves)
    except TypeError as error:
        narrow = cast(leaves, np.float32)
        with compat.enable_x64(False):
            try:
                jaxpr = jax.make_jaxpr(flat_fun)(*narrow)
            except Exception:
                raise error from None
        rejects = True
    traced = JaxProgram(
        fun=flat_fun,
        jaxpr=jaxpr,
        leaves=leaves,
        param_paths=param_paths,
        input_paths=input_paths,
        out_paths=out_paths,
        state_paths=state_paths,
        fill=lambda new: fill_params(new, None),
        dtypes=[x.dtype for x in jax.tree.leaves(params) if is_array(x)],
    )
    traced = with_jaxpr(traced, jaxpr)
    traced.casts = _casts(traced)
    traced.rejects_float64 = rejects
    return traced


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


def reachable(program: JaxProgram) -> list[bool]:
    """Return for each leaf whether a derivative path leads from an output to it."""
    jaxpr, _ = compat.open_jaxpr(program.jaxpr)
    count = len(program.out_paths)
    chosen = [is_inexact(v) and i < count for i, v in enumerate(jaxpr.outvars)]
    if program.out_paths[-1:] == ["loss"]:
        chosen = [i == count - 1 for i in range(len(chosen))]
    return list(live_inputs(program.jaxpr, chosen))


class Watched(NamedTuple):
    """The outputs of a run, and the records of its intermediate values."""

    outputs: list[Any]
    prints: dict[Key, Any]  # fingerprints, or values where `show` returned them


def run_watched(
    program: JaxProgram,
    leaves: Sequence[Any],
    *,
    slots: Mapping[Key, Any] | None = None,
    scales: Mapping[Key, Any] | None = None,
    cotangent_scales: Mapping[Key, Any] | None = None,
    noise: Mapping[Path, Any] | None = None,
    read: Callable[[Key], bool] = lambda _: False,
    show: Callable[[Key, Any], Any] = lambda _, x: fingerprint(x),
) -> Watched:
    """Run the program on other leaves, and record or change values inside it.

    Args:
        program: Traced program.
        leaves: Leaves of params, then of inputs.
        slots: Zeros from `slot` for some values; the gradient with respect to a slot is the
            value's total cotangent.
        scales: Factors that multiply some values; inside a scan, one for each iteration.
        cotangent_scales: Factors that multiply only the cotangents of some values.
        noise: Standard random numbers for some calls of samplers; inside a scan, one array for
            each iteration.
        read: Function that selects the values to record.
        show: Function from a key and a value to the record that is stored for it.
    """
    changes: dict[Path, dict[str, dict[int, Any]]] = {}
    for name, tree in (("slot", slots), ("scale", scales), ("cotangent", cotangent_scales)):
        for (path, output), x in (tree or {}).items():
            changes.setdefault(path, {}).setdefault(name, {})[output] = x

    for path, x in (noise or {}).items():
        changes.setdefault(path, {})["noise"] = {0: x}

    def after(eqn: Any, path: Path, outs: list[Any], slot: Any) -> Any:
        del eqn
        outs = list(outs)
        slot = slot or {}
        for k, scale in slot.get("scale", {}).items():
            outs[k] = outs[k] * scale
        for k, scale in slot.get("cotangent", {}).items():
            outs[k] = _scale_cotangent(outs[k], scale)
        for k, x in slot.get("slot", {}).items():
            outs[k] = tap(outs[k], x)
        records = {}
        # Equations of a custom rule's derivative are not among the program's equations.
        if path in program.equations and path not in program.closed:
            for k, x in enumerate(outs):
                if jnp.issubdtype(x.dtype, jnp.inexact) and read((path, k)):
                    records[k] = show((path, k), x)
        return outs, records or None

    def rule(eqn: Any, path: Path, ins: list[Any], slot: Any) -> Any:
        if slot and "noise" in slot:
            outs = [sampled(eqn.params["name"], ins, jnp.asarray(slot["noise"][0]))]
        else:
            outs = lifting.equation(eqn, ins, program.numbers)
        return after(eqn, path, outs, slot)

    dtypes = [v.dtype for v in program.jaxpr.in_avals]
    outs, reads = evaluate(
        lifting.constants(program.jaxpr, program.numbers, program.tables),
        [_as_traced(jnp.asarray(x), dtype) for x, dtype in zip(leaves, dtypes, strict=True)],
        rule,
        slots=changes,
        enters=lambda path: path not in (noise or {}) and _enters(program, path),
        after=after,
        inline=True,
    )
    prints = {(path, k): x for path, records in reads.items() for k, x in records.items()}
    return Watched(outs, prints)


def _as_traced(x: jax.Array, dtype: np.dtype) -> jax.Array:
    """Cast integers to the dtype that the program was traced with; keep floats as they are."""
    return x.astype(dtype) if jnp.issubdtype(dtype, jnp.integer) else x


@jax.custom_vjp
def _scale_cotangent(x: jax.Array, scale: jax.Array) -> jax.Array:
    del scale
    return x


_scale_cotangent.defvjp(
    lambda x, scale: (x, scale), lambda scale, g: (g * scale.astype(g.dtype), jnp.zeros_like(scale))
)


def slot(program: JaxProgram, key: Key) -> np.ndarray:
    """Return zeros shaped like a value, with a leading axis for each enclosing scan."""
    aval = abstract(program.equations[key[0]].outvars[key[1]])
    dtype = np.complex128 if jnp.issubdtype(aval.dtype, jnp.complexfloating) else np.float64
    return np.zeros((*program.lengths[key[0]], *aval.shape), dtype)


def spots(prints: Mapping[Key, Any]) -> tuple[list[Spot], np.ndarray]:
    """List all values and fingerprints in program order, one for each iteration of a scan."""
    listed: list[Spot] = []
    rows: list[np.ndarray] = []
    for path in sorted({path for path, _ in prints}, key=_order):
        for output in sorted(k for p, k in prints if p == path):
            x = np.asarray(prints[path, output])
            for iteration in np.ndindex(x.shape[:-1]):
                listed.append(Spot(path, output, iteration))
                rows.append(x[iteration])
    return listed, np.stack(rows) if rows else np.zeros((0, SIZE))


def _order(path: Path) -> tuple:
    # Equations nested in an equation run before its own outputs exist.
    return (*path, float("inf"))


def _enters(program: JaxProgram, path: Path) -> bool:
    """Whether to evaluate an equation's body step by step instead of as a whole.

    A custom derivative rule is entered only to lift casts in it, because entering drops the rule.
    """
    eqn = program.equations.get(path)
    if eqn is None or eqn.primitive.name not in CUSTOM:
        return True  # None: the equation belongs to the derivative of a custom rule
    return any(lifting.is_low(v) for place in walk(inner(eqn)[0]) for v in place.eqn.outvars)
