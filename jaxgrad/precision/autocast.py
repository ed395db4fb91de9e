"""Autocast: matrix products in low precision, what needs the range in float32."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core import tree as _tree
from jaxgrad.precision import _binding as binding
from jaxgrad.precision import _lists as lists
from jaxgrad.precision._operations import operations
from jaxgrad.precision._program import Operation, Program, contracts
from jaxgrad.precision._weights import only_low


# A region writes its setting into the name stack, where a region around it reads it.
_REGION = re.compile(r"autocast_(off|bfloat16|float16)_(cpu|cuda)")


def autocast(
    fun: Callable[..., Any],
    dtype: Any = jnp.bfloat16,
    *,
    device_type: str = "cpu",
    enabled: bool = True,
) -> Callable[..., Any]:
    """`fun` with the dtypes that torch's autocast would give its operations.

    Matrix products and convolutions, with their biases, run in `dtype`; some operations run in
    float32; the others in the widest dtype of their inputs, in which numbers and 0-d arrays do not
    count. What is one operation in torch and several equations in JAX is computed in float32 and
    rounded once: linear, mean, var, norm, softmax, logsumexp, layer, group and batch norm, average
    pooling, cross entropy, mean squares and sizes of differences, gelu and what else `jax.nn` has.
    float64 and complex values are left alone, as torch does. Parameters stay as they are and get
    gradients of their own dtype; one that only products use is cast once, outside of any loop. If
    it has other uses too, a loop's body casts it, and XLA takes that out of the loop.

    Inside `fun` another `autocast` is a region of its own: its dtype and lists hold in it.

    Args:
        fun: any function of trees of arrays that can be traced, as under `jax.jit`.
        dtype: `jnp.bfloat16` or `jnp.float16`.
        device_type: whose lists of operations: "cpu" or "cuda".
        enabled: if False, `fun` as it is; inside another `autocast` everything in it, its inputs
            too, has the dtype that it has without.

    Returns:
        A function with the arguments of `fun`; its results have the dtypes autocast gives.

    Raises:
        ValueError: an unknown `dtype` or `device_type`.

    Example:
        >>> import jax.numpy as jnp
        >>> x, w = jnp.ones((2, 3), jnp.float32), jnp.ones((3, 4), jnp.float32)
        >>> autocast(lambda x, w: jnp.tanh(x @ w))(x, w).dtype
        dtype(bfloat16)

    Torch: `torch.autocast(device_type, dtype, enabled)`.

    Differs from torch in:
        1. inside a `scan` or `while_loop` a carry has one dtype, the widest it ever has.
        2. a product plus a vector that is given is `linear`; `jnp.dot` of two vectors is `matmul`;
           the mean square of a difference is `mse_loss`; means over all axes but the first, and
           the square root of their variance, are `layer_norm`.
        3. `x.astype(jnp.float32)` leaves no trace where `x` is float32 without autocast: use a
           region with `enabled=False`, whose inputs are cast up as by torch's `x.float()`.
        4. padding by reflection or replication, which torch's CPU list has in float32, keeps its
           dtype.
        5. compiled, XLA may leave out a rounding to `dtype` between operations that it fuses, as in
           any program: `XLA_FLAGS=--xla_allow_excess_precision=false` keeps all of them.
    """
    low = jnp.dtype(dtype)
    if low not in (jnp.dtype(jnp.bfloat16), jnp.dtype(jnp.float16)):
        raise ValueError(f"autocast: dtype must be bfloat16 or float16, got {low}")
    if device_type not in lists.FLOAT32_PRIMITIVES:
        raise ValueError(f'autocast: device_type must be "cpu" or "cuda", got {device_type!r}')
    region = _Region(low if enabled else None, device_type)

    @functools.wraps(fun)
    def autocast_fun(*args: Any, **kwargs: Any) -> Any:
        if not enabled:
            with jax.named_scope(region.name):
                return fun(*args, **kwargs)
        leaves, tree = jax.tree.flatten((args, kwargs))
        arrays = [_tree.is_array(x) for x in leaves]
        moving, still = _tree.partition(arrays, leaves)
        moving = [jnp.asarray(x) for x in moving]

        def flat(*moving: Any) -> Any:
            args, kwargs = jax.tree.unflatten(tree, _tree.merge(arrays, moving, still))
            return fun(*args, **kwargs)

        with jax.named_scope(region.name):
            traced = _jaxpr.trace(flat, *moving)
            rule = _Autocast.of(traced.jaxpr, region, moving)
            flags = only_low(traced.jaxpr, rule.program, rule.parts, rule.elsewhere())
            moving = [
                binding.to(x, low) if flag and x.dtype == jnp.float32 else x
                for x, flag in zip(moving, flags, strict=True)
            ]
            outs, _ = _jaxpr.evaluate(
                traced.jaxpr, moving, rule, enters=lambda path: path not in rule.whole
            )
        return jax.tree.unflatten(traced.out_tree, outs)

    return autocast_fun


class _Region(NamedTuple):
    low: Any  # None: disabled
    device_type: str

    @property
    def name(self) -> str:
        return f"autocast_{'off' if self.low is None else self.low}_{self.device_type}"

    @property
    def primitives(self) -> set[str]:
        return lists.FLOAT32_PRIMITIVES[self.device_type]

    @property
    def operations(self) -> set[str]:
        return lists.FLOAT32_OPERATIONS[self.device_type]


class _Autocast(NamedTuple):
    """The rule for one equation."""

    program: Program
    parts: dict[Any, Operation]  # by the first output of an equation
    whole: set[_jaxpr.Path]  # parts of operations that have a jaxpr in them
    regions: dict[_jaxpr.Path, _Region]
    seen: dict[Any, Any]  # the dtypes that variables have had so far
    leaves: set[int]  # the arguments of the program, by identity
    casts: dict[Any, Any]  # each of them in low precision, once

    @classmethod
    def of(cls, jaxpr: Any, region: _Region, args: list[Any]) -> _Autocast:
        program = Program(jaxpr)
        parts = operations(program)
        regions: dict[_jaxpr.Path, _Region] = {(): region}
        whole: set[_jaxpr.Path] = set()
        for path, eqn, *_ in _jaxpr.walk(jaxpr):
            regions[path] = _region(eqn) or regions[path[:-2]]
            if _jaxpr.inner(eqn) and eqn.outvars and eqn.outvars[0] in parts:
                whole.add(path)
        return cls(program, parts, whole, regions, {}, {id(x) for x in args}, {})

    def region(self, path: _jaxpr.Path, eqn: jex_core.JaxprEqn) -> _Region:
        """The innermost region around an equation; those of a derivative's rule have no entry."""
        while path not in self.regions:
            path = path[:-2]
        return _region(eqn) or self.regions[path]

    def __call__(self, eqn: jex_core.JaxprEqn, path: Any, args: list[Any], slot: Any) -> Any:
        del slot
        name, region = eqn.primitive.name, self.region(path, eqn)
        pairs = list(zip(args, eqn.invars, strict=True))
        self.seen.update((v, jnp.result_type(x)) for x, v in pairs if _is_var(v))
        given = [jnp.result_type(x) for x, v in pairs if binding.is_float(v)]
        inert = region.low is None or name in lists.AS_TRACED
        if inert or not given or not all(binding.is_eligible(dtype) for dtype in given):
            return binding.as_traced(eqn, args), None
        if name == "convert_element_type":
            same = _jaxpr.abstract(eqn.invars[0]).dtype == eqn.params["new_dtype"]
            return (
                args if same else binding.as_traced(eqn, args)
            ), None  # same: its weak type changes

        part = self.parts.get(eqn.outvars[0])
        if name in lists.PRODUCTS and contracts(eqn):
            low = [self.cast(x, path, region.low) if binding.is_float(v) else x for x, v in pairs]
            if part is not None:
                return [binding.product(eqn, region.low, *low)], None
            return compat.bind(eqn, low, **binding.accumulator(eqn, region.low)), None
        if part is not None and part.name == "linear":
            args = [binding.to(x, region.low) if self.program.is_bias(v) else x for x, v in pairs]
        if part is not None:
            outs = binding.in_float32(eqn, args)
            return (outs if part.end is not eqn else self.rounded(outs, eqn, part, region)), None
        if name in region.primitives or self.is_reciprocal(eqn, region):
            return binding.in_float32(eqn, args), None

        dtype = self.widest(args, eqn.invars)
        if name in lists.ROUNDED_ONCE or list(jex_core.jaxprs_in_params(eqn.params)):
            return binding.each(eqn.outvars, binding.in_float32(eqn, args), dtype), None
        if dtype == jnp.float32:
            return binding.in_float32(eqn, args), None
        params = binding.accumulator(eqn, dtype)
        return compat.bind(eqn, binding.each(eqn.invars, args, dtype), **params), None

    def elsewhere(self) -> set[_jaxpr.Path]:
        """The equations in a region with another setting."""
        return {path for path, region in self.regions.items() if region != self.regions[()]}

    def rounded(self, outs: list[Any], eqn: Any, part: Operation, region: _Region) -> list[Any]:
        """The result of a whole operation."""
        if part.name in region.operations:
            return outs
        if part.name == "linear":
            return binding.each(eqn.outvars, outs, region.low)
        known = [v for v in part.data if v in self.seen]
        dtypes = [jax.ShapeDtypeStruct((), self.seen[v]) for v in known]
        return binding.each(eqn.outvars, outs, self.widest(dtypes, known))

    def cast(self, x: Any, path: Any, low: Any) -> Any:
        """In low precision; an argument once, so that its uses add up before they are cast back."""
        if len(path) > 1 or id(x) not in self.leaves:
            return binding.to(x, low)
        if (id(x), low) not in self.casts:
            self.casts[id(x), low] = binding.to(x, low)
        return self.casts[id(x), low]

    def is_reciprocal(self, eqn: jex_core.JaxprEqn, region: _Region) -> bool:
        """`1 / x` is `reciprocal` in torch."""
        listed = eqn.primitive.name == "div" and "reciprocal" in region.operations
        return listed and self.program.rank(eqn.invars[0]) == 0

    def widest(self, args: list[Any], atoms: list[Any]) -> Any:
        """torch's promotion: arrays count before 0-d arrays, and those before numbers."""
        ranked = [
            (jnp.result_type(x), self.program.rank(v))
            for x, v in zip(args, atoms, strict=True)
            if binding.is_float(v)
        ]
        top = max(rank for _, rank in ranked)
        return functools.reduce(jnp.promote_types, [dtype for dtype, r in ranked if r == top])


def _region(eqn: jex_core.JaxprEqn) -> _Region | None:
    """The innermost region that the name stack of an equation tells of."""
    found = _REGION.findall(str(eqn.source_info.name_stack))
    if not found:
        return None
    dtype, device_type = found[-1]
    return _Region(None if dtype == "off" else jnp.dtype(dtype), device_type)


def _is_var(atom: Any) -> bool:
    return isinstance(atom, jex_core.Var)
