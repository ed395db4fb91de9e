"""Differences between JAX versions, resolved with public names only."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jss
from jax import lax
from jax.extend import core as jex_core
from jax.extend import source_info_util
from jax.interpreters import ad, batching, mlir

from jaxgrad._core import hijax


# Errors raised if a function needs concrete values while it is traced, as `if x > 0:` does.
NEEDS_NUMBERS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)

_STRUCT = inspect.signature(jax.ShapeDtypeStruct).parameters

# Names of the same primitive in different versions of JAX.
JIT = ("jit", "pjit")
REMAT = ("remat", "remat2", "checkpoint")


def open_jaxpr(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """Return the open jaxpr and the constants of a closed or open jaxpr.

    Its equations are those that JAX has without high-level primitives: see `hijax.py`.
    """
    opened = getattr(jaxpr, "jaxpr", jaxpr)
    return opened if opened is None else hijax.classic(opened), getattr(jaxpr, "consts", ())


def contains_jaxpr(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether a parameter is a jaxpr, a tuple with one, or a high-level primitive's object.

    Such an equation runs only in the dtypes that it was traced with.
    """
    if hijax.is_renamed(eqn):
        return True
    # `jax.extend.core.jaxprs_in_params` lists them since JAX 0.10.
    values = [v if isinstance(v, tuple) else (v,) for v in eqn.params.values()]
    kinds = jex_core.Jaxpr, jex_core.ClosedJaxpr
    return any(isinstance(x, kinds) for value in values for x in value)


@contextlib.contextmanager
def equation_context(eqn: jex_core.JaxprEqn) -> Iterator[None]:
    """Restore the name stack, source line and settings under which `eqn` was traced."""
    stack = source_info_util.current_name_stack() + eqn.source_info.name_stack
    with (
        source_info_util.user_context(eqn.source_info.traceback, name_stack=stack),
        eqn.ctx.manager,
    ):
        yield


def bind(eqn: jex_core.JaxprEqn, args: Sequence[Any], **params: Any) -> list[Any]:
    """Run one equation on new arguments, with some of its parameters replaced."""
    settings = eqn.primitive.get_bind_params({**eqn.params, **params})
    functions, settings = settings if isinstance(settings, tuple) else ((), settings)  # before 0.10
    out = eqn.primitive.bind(*functions, *args, **settings)
    return list(out) if eqn.primitive.multiple_results else [out]


def scan_counts(eqn: jex_core.JaxprEqn) -> tuple[int, int]:
    """Return how many inputs of a scan are constants, and how many are carried."""
    if "num_carry" in eqn.params:
        return eqn.params["num_consts"], eqn.params["num_carry"]
    consts, carry, _ = eqn.params["ft_in"].unpack()  # since JAX 0.11
    return len(list(consts)), len(list(carry))


def shard_map_like(eqn: jex_core.JaxprEqn, body: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `body` in a `shard_map` with the parameters of the equation `eqn`."""
    params = eqn.params
    names: Any = params.get("newly_manual_axes", params.get("manual_axes"))
    options = {k: params[k] for k in ("mesh", "in_specs", "out_specs", "check_vma")}
    return jax.shard_map(body, axis_names=set(names), **options)


def abstract(aval: Any) -> jax.ShapeDtypeStruct:
    """Return a placeholder to trace with: an abstract value's shape, dtype and sharding."""
    options: dict[str, Any] = {}
    for name in ("manual_axis_type", "vma"):  # renamed in JAX 0.10
        if (axes := getattr(aval, name, None)) is not None and name in _STRUCT:
            options[name] = axes
    sharding = getattr(aval, "sharding", None)
    if sharding is not None and not sharding.mesh.empty:
        options["sharding"] = sharding
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, **options)


def varying_axes(aval: Any) -> frozenset[str]:
    """Return the manual mesh axes along which a value varies, as far as JAX tracks them."""
    aval = getattr(aval, "aval", aval)
    axes = getattr(aval, "manual_axis_type", None)
    return getattr(aval, "vma", frozenset()) if axes is None else axes.varying  # before JAX 0.10


def vary(x: Any, axes: frozenset[str]) -> Any:
    """Mark `x` as varying along these mesh axes."""
    axes = axes - varying_axes(jax.typeof(x))
    if not axes:
        return x
    if hasattr(lax, "pcast"):
        return lax.pcast(x, tuple(axes), to="varying")
    return getattr(lax, "pvary")(x, tuple(axes))  # noqa: B009  # before 0.9


def is_traced(x: Any) -> bool:
    """Return whether a value is a tracer, which has a shape but no concrete numbers."""
    return isinstance(x, jax.core.Tracer)  # pyright: ignore[reportAttributeAccessIssue]


def memory(aval: Any) -> str:
    """Return the memory space of an abstract value: "device" or "host"."""
    return "host" if "host" in str(getattr(aval, "memory_space", "")).lower() else "device"


def identity_primitive(name: str) -> jex_core.Primitive:
    """Create an identity primitive that tags a value in a jaxpr.

    Its tangent bypasses it, so that a tag leaves gradients bit-identical. `vmap` moves the mapped
    axis to the front, so that tagged values are stacked along axis 0. No remat policy reacts to it,
    unlike `checkpoint_name`, which `save_any_names_but_these` would match.
    """
    primitive = jex_core.Primitive(name)
    primitive.def_impl(lambda x, **_: x)
    primitive.def_abstract_eval(lambda aval, **_: aval)

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        return primitive.bind(*primals, **params), tangents[0]

    def batch(args: Any, dims: Any, **params: Any) -> Any:
        return primitive.bind(jnp.moveaxis(args[0], dims[0], 0), **params), 0

    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = lambda cotangent, _, **__: [cotangent]
    batching.primitive_batchers[primitive] = batch
    mlir.register_lowering(primitive, lambda _, x, **__: [x])
    return primitive


# The coefficients, highest power first, of a polynomial in t = 7.5 / (x + 3.75) - 1. For x >= 0 it
# differs from (x + 3.75) * erfcx(x) by at most 3 units in the last place of float64. The polynomial
# is the Chebyshev series of degree 23, whose coefficients were computed with 50 digits.
_ERFCX = (
    -4.4046755782709183e-10,
    -2.2991140565020888e-10,
    5.368814293957297e-09,
    2.774844499119926e-09,
    -4.020787513307617e-08,
    -2.59228433379783e-08,
    2.6337499684121497e-07,
    2.7865722181857435e-07,
    -1.6555849395166814e-06,
    -3.288570958593059e-06,
    8.903626741464981e-06,
    3.747131066311397e-05,
    -1.0593866720431546e-05,
    -0.0003486467407176474,
    -0.0007948231282476773,
    0.0009863380601457267,
    0.01253588004497847,
    0.04911877861720606,
    0.1319554011782434,
    0.27906204903368526,
    0.4904702912076882,
    0.7363189252217536,
    0.9587415766529094,
    1.0919229095627891,
)


def erfcx_series(x: jax.Array) -> jax.Array:
    """Return `exp(x * x) * erfc(x)`, computed from a polynomial."""
    z = jnp.abs(x)
    y = jnp.polyval(jnp.asarray(_ERFCX, z.dtype), 7.5 / (z + 3.75) - 1) / (z + 3.75)
    return jnp.where(x < 0, 2 * jnp.exp(x * x) - y, y)


erfcx = getattr(jss, "erfcx", erfcx_series)  # JAX has it since 0.10
