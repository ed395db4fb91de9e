"""The port in the dtypes that its user runs it in.

The port is traced once more, in the dtypes of its own params. That trace has the casts that the
port's code derives from a dtype. Its values are computed in float64, so that they can be found
among torch's values.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import abstract, evaluate, is_inexact, plain, walk
from jaxgrad.parity.compiling import QUICK
from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.align.fingerprint import SIZE, fingerprint
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import leaf_key, leaf_of
from jaxgrad.parity.prove.record.jax_side.port import Draw, Port
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key, Spot
from jaxgrad.parity.prove.record.noise import sampled
from jaxgrad.parity.prove.record.torch_side.values import Native


LOW = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")


class NativeValues(NamedTuple):
    """The values of the port on each draw, with the dtypes that its user's session gives them."""

    port: Port
    spots: list[Spot]
    prints: list[np.ndarray]
    exact: list[list[np.ndarray]]  # the outputs, computed in float64 from the rounded weights

    def dtype(self, key: Key) -> str:
        """Return the dtype of a value."""
        return dtype_of(self.port.program, key)


def dtype_of(program: JaxProgram, key: Key) -> str:
    """Return the dtype that a traced program gives to a value or to one of its leaves."""
    leaf = leaf_of(key)
    if leaf is not None:
        return str(program.jaxpr.in_avals[leaf].dtype)
    return str(abstract(program.equations[key[0]].outvars[key[1]]).dtype)


def is_low(program: JaxProgram) -> bool:
    """Whether a port stores params below float32, or contains a value below float32."""
    variables = (v for eqn in program.equations.values() for v in eqn.outvars)
    dtypes = {str(getattr(v.aval, "dtype", "")) for v in variables}
    return bool({*dtypes, *map(str, program.dtypes)} & set(LOW))


def working_dtype(program: JaxProgram) -> str:
    """Return the floating dtype that most of a port's params have."""
    sizes: dict[str, int] = {}
    for x, dtype in zip(program.params, program.dtypes, strict=True):
        if jnp.issubdtype(dtype, jnp.floating):
            sizes[str(dtype)] = sizes.get(str(dtype), 0) + x.size
    return max(sizes, key=lambda dtype: sizes[dtype], default="float32")


def as_stored(draw: Draw, native: Native) -> Draw:
    """Round the weights of a draw to the module's dtypes and its inputs to the working dtype."""
    state = {
        name: np.asarray(cast(np.asarray(x), jnp.dtype(native.dtypes[name])), x.dtype)
        if is_inexact(x) and not np.iscomplexobj(x)
        else x
        for name, x in draw.state.items()
    }
    return dataclasses.replace(
        draw, state=state, inputs=cast(draw.inputs, jnp.dtype(native.working))
    )


def values(port: Port, native: Native, draws: Sequence[Draw]) -> NativeValues:
    """Evaluate every value of a port in float64, whose program is traced in its own dtypes."""
    spots: list[Spot] = []
    prints: list[np.ndarray] = []
    exact: list[list[np.ndarray]] = []
    for draw in draws:
        stored = as_stored(draw, native)
        leaves = port.leaves(stored)
        watched = port.watch(stored)
        listed, rows = evaluation.spots(watched.prints)
        floating = [i for i, x in enumerate(leaves) if is_inexact(np.asarray(x))]
        spots = [*(Spot(*leaf_key(i)) for i in floating), *listed]
        own = [np.asarray(fingerprint(np.asarray(leaves[i]))) for i in floating]
        prints.append(np.concatenate([np.reshape(own, (-1, SIZE)), rows]))
        exact.append(watched.outputs)
    return NativeValues(port, spots, prints, exact)


# Every value is rounded to its own dtype, as without compilation.
_AS_WRITTEN: dict[str, Any] = {"xla_allow_excess_precision": False}


def outputs(port: Port, native: Native, draws: Sequence[Draw]) -> list[list[np.ndarray]]:
    """Run a port, whose program is traced in its own dtypes, in these dtypes.

    Returns:
        The outputs of each draw, in float64.
    """
    program = port.program
    wide = native.working == working_dtype(program) == "float64"
    opened, consts = compat.open_jaxpr(program.jaxpr)
    count = len(program.out_paths)

    def run(leaves: Any, consts: Any, noise: Any) -> Any:
        def rule(eqn: Any, path: Any, ins: list[Any], slot: Any) -> Any:
            if slot is None:
                return plain(eqn, path, ins, None)
            x = jnp.asarray(slot, eqn.outvars[0].aval.dtype)
            return [sampled(eqn.params["name"], ins, x)], None

        jaxpr = jex_core.ClosedJaxpr(opened, list(consts))
        return evaluate(
            jaxpr, leaves, rule, slots=noise, enters=lambda path: path not in noise, inline=True
        )[0][:count]

    with jax.enable_x64(wide):
        compiled = jax.jit(run, compiler_options={**QUICK, **_AS_WRITTEN})
        constants = [_typed(x, v) for x, v in zip(consts, opened.constvars, strict=True)]
        results = []
        for draw in draws:
            stored = as_stored(draw, native)
            leaves = zip(port.leaves(stored), opened.invars, strict=True)
            outs = compiled([_typed(x, v) for x, v in leaves], constants, port.noise(draw))
            results.append([jax_program.widened(x) for x in outs])
    return results


def _typed(x: Any, variable: Any) -> Any:
    """Return a value in the dtype of a variable; a random key stays as it is."""
    dtype = variable.aval.dtype
    return x if jnp.issubdtype(dtype, jax.dtypes.extended) else jnp.asarray(x, dtype)


def retraced(program: JaxProgram, torch_working: str) -> JaxProgram:
    """Trace a port in the dtypes of its own params, in a session like its user's."""
    own = working_dtype(program)
    wide = torch_working == own == "float64"
    inputs = max((own, torch_working), key=lambda name: jnp.dtype(name).itemsize)
    wanted = [*program.dtypes, *(jnp.dtype(inputs) for _ in program.input_paths)]
    with jax.enable_x64(wide):
        leaves = [
            jax.ShapeDtypeStruct(x.shape, _narrow(dtype if is_inexact(x) else x.dtype, wide))
            for x, dtype in zip(program.leaves, wanted, strict=True)
        ]
        jaxpr = _traced(program.fun, leaves)
    opened, consts = compat.open_jaxpr(jaxpr)
    exact = compat.open_jaxpr(program.jaxpr)[1]
    consts = [_restored(x, exact) for x in consts]
    numbers = [*program.numbers, *_literals(program)]
    return jax_program.with_jaxpr(
        program, jex_core.ClosedJaxpr(opened, consts), numbers=list(dict.fromkeys(numbers))
    )


def _traced(fun: Any, leaves: Sequence[Any]) -> Any:
    """Trace a function, again without JAX's memory of the int64 version of captured arrays.

    Where that version does no harm, JAX only warns that it becomes int32.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype int64", UserWarning)
        with contextlib.suppress(TypeError):
            return jax.make_jaxpr(fun)(*leaves)
        jax.clear_caches()
        gc.collect()
        return jax.make_jaxpr(fun)(*leaves)


def _narrow(dtype: Any, wide: bool) -> Any:
    narrow = {"float64": "float32", "complex128": "complex64", "int64": "int32"}
    return dtype if wide else jnp.dtype(narrow.get(str(dtype), dtype))


def _restored(x: Any, exact: Sequence[Any]) -> Any:
    """Return the float64 constant that a constant of the port was rounded from."""
    if not is_inexact(x):
        return x
    for y in exact:
        if y.shape == x.shape and np.array_equal(np.asarray(y).astype(x.dtype), np.asarray(x)):
            return y
    return x


def _literals(program: JaxProgram) -> Iterator[float]:
    """Yield the float64 numbers that a program contains."""
    for place in walk(program.jaxpr):
        for atom in place.eqn.invars:
            if isinstance(atom, jex_core.Literal) and str(abstract(atom).dtype) == "float64":
                yield float(np.asarray(atom.val))
