"""Autocast: matrix products in low precision, what needs the range in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

from jaxgrad import _compat, _jaxpr, _tree


# The three kinds of aten/src/ATen/autocast_mode.h, in JAX's primitives: low precision, float32,
# and, for all others, the widest of the inputs.
_LOW = {"dot_general", "conv_general_dilated", "ragged_dot_general"}
_LINALG = {"cholesky", "lu", "qr", "geqrf", "householder_product", "eig", "eigh", "svd", "schur"}
_LINALG |= {"hessenberg", "tridiagonal", "tridiagonal_solve", "triangular_solve", "fft"}
_FLOAT32 = {
    "cpu": _LINALG | {"reduce_prod"},
    "cuda": _LINALG
    | {"exp", "exp2", "expm1", "log", "log1p", "pow", "integer_pow", "square", "rsqrt"}
    | {"acos", "asin", "cosh", "sinh", "tan", "erf_inv"}
    | {"reduce_sum", "reduce_prod", "cumsum", "cumprod", "cumlogsumexp"},
}
# Computed in float32 and rounded once, as torch's kernels do.
_ACCUMULATE = {"reduce_sum", "reduce_prod", "cumsum", "cumprod", "cumlogsumexp"}
_SHAPE = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "copy"}
_SHAPE |= {"convert_element_type", "stop_gradient"}


def autocast(
    fun: Callable[..., Any], dtype: Any = jnp.bfloat16, *, device_type: str = "cpu"
) -> Callable[..., Any]:
    """`fun` with the dtypes that torch's autocast would give its operations.

    Matrix products and convolutions (a bias that is added to one included) run in `dtype`; some
    operations run in float32; the others in the widest dtype of their inputs, in which numbers and
    0-d arrays do not count. float64 and complex values are left alone, as torch does. Parameters
    stay as they are and get gradients of their own dtype; each is cast once.

    Args:
        fun: any function of trees of arrays that can be traced, as under `jax.jit`.
        dtype: `jnp.bfloat16` or `jnp.float16`.
        device_type: whose lists of operations: "cpu" or "cuda".

    Returns:
        A function with the arguments of `fun`; its results have the dtypes autocast gives.

    Raises:
        ValueError: an unknown `dtype` or `device_type`.

    Example:
        >>> import jax.numpy as jnp
        >>> x, w = jnp.ones((2, 3), jnp.float32), jnp.ones((3, 4), jnp.float32)
        >>> autocast(lambda x, w: jnp.tanh(x @ w))(x, w).dtype
        dtype(bfloat16)

    Torch: `torch.autocast(device_type, dtype)`.

    Differs from torch in:
        1. the carry of a `scan` or `while_loop` has one dtype, the widest it ever has.
        2. the parts of an operation are seen, not the operation: a loss is not float32 as such,
           and a product plus an array of one dimension that is given is taken for `linear`.
        3. a jaxpr does not say who turned integers into float32: they never widen a result.
    """
    low = jnp.dtype(dtype)
    if low not in (jnp.dtype(jnp.bfloat16), jnp.dtype(jnp.float16)):
        raise ValueError(f"autocast: dtype must be bfloat16 or float16, got {low}")
    if device_type not in _FLOAT32:
        raise ValueError(f'autocast: device_type must be "cpu" or "cuda", got {device_type!r}')

    @functools.wraps(fun)
    def autocast_fun(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        arrays = [_tree.is_array(x) for x in leaves]
        moving, still = _tree.partition(arrays, leaves)
        moving = [jnp.asarray(x) for x in moving]

        def flat(*moving: Any) -> Any:
            args, kwargs = jax.tree.unflatten(tree, _tree.merge(arrays, moving, still))
            return fun(*args, **kwargs)

        traced = _jaxpr.trace(flat, *moving)
        leaf_ids = {id(x) for x in moving}
        rule = _Autocast(low, _FLOAT32[device_type], _Makers(traced.jaxpr), leaf_ids, {})
        outs, _ = _jaxpr.evaluate(traced.jaxpr, moving, rule)
        return jax.tree.unflatten(traced.out_tree, outs)

    return autocast_fun


class _Autocast(NamedTuple):
    """The rule for one equation."""

    low: Any
    float32: set[str]
    makers: _Makers
    leaves: set[int]  # the arguments of the program, by identity
    casts: dict[int, Any]  # each of them in low precision, once

    def __call__(self, eqn: jex_core.JaxprEqn, path: Any, args: list[Any], slot: Any) -> Any:
        del slot
        name = eqn.primitive.name
        pairs = list(zip(args, eqn.invars, strict=True))
        given = [jnp.result_type(x) for x, v in pairs if _float(v)]
        if not given or not all(_eligible(dtype) for dtype in given):
            return self.as_traced(eqn, args), None
        if (
            name == "convert_element_type"
            and _jaxpr.abstract(eqn.invars[0]).dtype == eqn.params["new_dtype"]
        ):
            return args, None  # a change of weak type only
        if name in _LOW:
            return self.lowered(eqn, path, args), None
        if name in self.float32 or name == "convert_element_type":
            return self.as_traced(eqn, args), None

        dtype = self.low if self.makers.is_bias_add(eqn) else self.widest(eqn, args)
        if dtype == jnp.float32:
            return self.as_traced(eqn, args), None
        if name in _ACCUMULATE or list(jex_core.jaxprs_in_params(eqn.params)):
            return _each(eqn.outvars, self.as_traced(eqn, args), dtype), None
        return _compat.bind(eqn, _each(eqn.invars, args, dtype)), None

    def as_traced(self, eqn: jex_core.JaxprEqn, args: list[Any]) -> list[Any]:
        pairs = zip(args, eqn.invars, strict=True)
        ins = [_to(x, _jaxpr.abstract(v).dtype) if _float(v) else x for x, v in pairs]
        return _compat.bind(eqn, ins)

    def lowered(self, eqn: jex_core.JaxprEqn, path: Any, args: list[Any]) -> list[Any]:
        pairs = zip(args, eqn.invars, strict=True)
        ins = [self.cast(x, path) if _float(v) else x for x, v in pairs]
        wanted = {k: self.low for k in ("preferred_element_type",) if k in eqn.params}
        return _compat.bind(eqn, ins, **wanted)

    def cast(self, x: Any, path: Any) -> Any:
        """In low precision; a parameter once, so that its uses add up before they are cast back."""
        if len(path) > 1 or id(x) not in self.leaves:
            return _to(x, self.low)
        if id(x) not in self.casts:
            self.casts[id(x)] = _to(x, self.low)
        return self.casts[id(x)]

    def widest(self, eqn: jex_core.JaxprEqn, args: list[Any]) -> Any:
        """torch's promotion: arrays count before 0-d arrays, and those before numbers."""
        pairs = [
            (x, self.makers.rank(v)) for x, v in zip(args, eqn.invars, strict=True) if _float(v)
        ]
        top = max(rank for _, rank in pairs)
        return functools.reduce(
            jnp.promote_types, [jnp.result_type(x) for x, r in pairs if r == top]
        )


class _Makers:
    """Which equation made a variable: what torch sees in an operation, a jaxpr shows in several."""

    def __init__(self, jaxpr: Any) -> None:
        eqns = [place.eqn for place in _jaxpr.walk(jaxpr)]
        self.eqns = {v: eqn for eqn in eqns for v in eqn.outvars}
        self.given: dict[Any, list[Any]] = {}  # to an input of a jit, by each of its callers
        for eqn in eqns:
            if eqn.primitive.name in _compat.JIT:
                body, _ = _compat.open_jaxpr(eqn.params["jaxpr"])
                for inside, outside in zip(body.invars, eqn.invars, strict=True):
                    self.given.setdefault(inside, []).append(outside)

    def views(self, atom: Any) -> Iterator[Any]:
        """`atom`, and what it is a view of: through changes of shape, and out of a jit."""
        yield atom
        eqn = self.eqns.get(atom) if isinstance(atom, jex_core.Var) else None
        if eqn is not None and eqn.primitive.name in _SHAPE:
            yield from self.views(eqn.invars[0])
        elif eqn is not None and eqn.primitive.name in _compat.JIT:
            body, _ = _compat.open_jaxpr(eqn.params["jaxpr"])
            yield from self.views(body.outvars[eqn.outvars.index(atom)])

    def rank(self, atom: Any) -> int:
        """0 for a number (or integers), 1 for a 0-d array, 2 for an array."""
        views = list(self.views(atom))
        if atom.aval.weak_type or not all(map(_float, views)) or self.is_constant(views[-1]):
            return 0
        return 2 if all(_jaxpr.abstract(view).shape for view in views) else 1

    def is_constant(self, atom: Any) -> bool:
        """A number that is written in the program, or made of such numbers."""
        if isinstance(atom, jex_core.Literal):
            return True
        if atom not in self.eqns:
            return atom in self.given and all(map(self.is_constant, self.given[atom]))
        made_of = self.eqns[atom].invars if not _jaxpr.abstract(atom).shape else []
        return len(made_of) > 0 and all(map(self.is_constant, made_of))

    def is_bias_add(self, eqn: jex_core.JaxprEqn) -> bool:
        """The second half of torch's `linear` and `conv`: a product plus a vector, not computed."""
        if eqn.primitive.name != "add":
            return False
        a, b = (list(self.views(v))[-1] for v in eqn.invars)
        return (self.is_product(a) and self.is_vector(b)) or (
            self.is_product(b) and self.is_vector(a)
        )

    def is_product(self, atom: Any) -> bool:
        return isinstance(atom, jex_core.Var) and (
            atom in self.eqns and self.eqns[atom].primitive.name in _LOW
        )

    def is_vector(self, atom: Any) -> bool:
        given = isinstance(atom, jex_core.Var) and atom not in self.eqns
        shape = _jaxpr.abstract(atom).shape if given else ()
        return len(shape) > 0 and sum(n != 1 for n in shape) <= 1


def _float(atom: Any) -> bool:
    return _jaxpr.is_inexact(atom)


def _each(atoms: list[Any], values: list[Any], dtype: Any) -> list[Any]:
    pairs = zip(values, atoms, strict=True)
    return [_to(x, dtype) if _float(v) else x for x, v in pairs]


def _eligible(dtype: Any) -> bool:
    return dtype in (jnp.float32, jnp.bfloat16, jnp.float16)


def _to(x: Any, dtype: Any) -> Any:
    x = jnp.asarray(x)
    return x if x.dtype == dtype else x.astype(dtype)
