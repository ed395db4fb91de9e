"""Autocast: run matrix products in low precision, and range-sensitive operations in float32."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core
from jax.typing import DTypeLike

from jaxgrad._core import compat, refusals
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core import tree as _tree
from jaxgrad.precision import _binding as binding
from jaxgrad.precision import _lists as lists
from jaxgrad.precision._operations import operations
from jaxgrad.precision._program import LinkedProgram, Operation, contracts
from jaxgrad.precision._weights import only_low


# An autocast region records its setting in the name stack, where enclosing regions find it.
_REGION = re.compile(r"autocast_(off|bfloat16|float16)_(cpu|cuda)")


def autocast(
    fun: Callable[..., Any],
    dtype: DTypeLike = jnp.bfloat16,
    *,
    device_type: str = "cpu",
    enabled: bool = True,
) -> Callable[..., Any]:
    """Run `fun` with the dtypes that torch's autocast would give its operations.

    Matrix products and convolutions, with their biases, run in `dtype`; operations on torch's
    float32 list run in float32; all others run in the widest dtype of their inputs, not counting
    numbers and 0-d arrays. A torch operation that is several equations in JAX is computed
    in float32 and rounded once: linear, mean, var, norm, softmax, logsumexp, layer, group and batch
    norm, average pooling, cross entropy, MSE and L1 losses, gelu and the other functions of
    `jax.nn`. As in torch, float64 and complex values are not cast. Parameters keep their dtype and
    get gradients of that dtype. A parameter that only products use is cast once, outside of any
    loop; any other parameter is cast in the loop's body, and XLA moves that cast out of the loop.

    A nested `autocast` is a separate region with its own dtype and lists.

    Args:
        fun: Any function of trees of arrays that can be traced, as for `jax.jit`.
        dtype: `jnp.bfloat16` or `jnp.float16`.
        device_type: The device whose lists of operations apply: "cpu" or "cuda".
        enabled: If False, `fun` runs without autocast; inside another `autocast`, all its values,
            including its inputs, have the dtypes that they would have without autocast.

    Returns:
        A function with the arguments of `fun`, whose results have the dtypes that autocast gives.

    Raises:
        ValueError: `dtype` or `device_type` is not supported.
        NotImplementedError: `fun` contains a primitive that runs a program jaxgrad does not know.

    Example:
        >>> import jax.numpy as jnp
        >>> x, w = jnp.ones((2, 3), jnp.float32), jnp.ones((3, 4), jnp.float32)
        >>> autocast(lambda x, w: jnp.tanh(x @ w))(x, w).dtype
        dtype(bfloat16)

    Torch: `torch.autocast(device_type, dtype, enabled)`.

    Differs from torch in:
        1. Inside a `scan` or `while_loop`, a carry has one dtype, the widest of all iterations.
        2. A product plus a vector argument is `linear`; `jnp.dot` of two vectors is `matmul`; the
           mean square of a difference is `mse_loss`; means over all axes but the first, divided by
           the square root of their variance, are `layer_norm`.
        3. `x.astype(jnp.float32)` leaves no trace if `x` is float32 without autocast: use a region
           with `enabled=False`, whose inputs are cast up as by torch's `x.float()`.
        4. Padding by reflection or replication, which torch's CPU list has in float32, keeps its
           dtype.
        5. Under `jit`, XLA may omit a rounding to `dtype` between operations that it fuses;
           `XLA_FLAGS=--xla_allow_excess_precision=false` keeps all of them.
    """
    refusals.non_function("autocast", "fun", fun)
    try:
        low = jnp.dtype(dtype)
    except TypeError:
        raise ValueError(
            f"autocast: dtype must be jnp.bfloat16 or jnp.float16, got {dtype!r}"
        ) from None
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
        inputs, static = _tree.partition(arrays, leaves)
        inputs = [jnp.asarray(x) for x in inputs]

        def flat(*inputs: Any) -> Any:
            args, kwargs = jax.tree.unflatten(tree, _tree.merge(arrays, inputs, static))
            return fun(*args, **kwargs)

        with jax.named_scope(region.name):
            traced = _jaxpr.trace(flat, *inputs)
            rule = _DtypeRule(traced.jaxpr, region, inputs)
            flags = only_low(traced.jaxpr, rule.program, rule.operation_of, rule.elsewhere())
            inputs = [
                binding.to(x, low) if flag and x.dtype == jnp.float32 else x
                for x, flag in zip(inputs, flags, strict=True)
            ]
            outs, _ = _jaxpr.evaluate(traced.jaxpr, inputs, rule, enters=rule.enters)
        return jax.tree.unflatten(traced.out_tree, outs)

    return autocast_fun


class _Region(NamedTuple):
    low: Any  # the low-precision dtype; None if disabled
    device_type: str

    @property
    def name(self) -> str:
        return f"autocast_{'off' if self.low is None else self.low}_{self.device_type}"


class _DtypeRule:
    """The dtype rule for each equation of one program, with the state of one evaluation."""

    def __init__(self, jaxpr: Any, region: _Region, args: list[Any]) -> None:
        self.program = LinkedProgram(jaxpr)
        self.operation_of = operations(self.program)  # by the first output of an equation
        self._regions: dict[_jaxpr.Path, _Region] = {(): region}
        self._whole: set[_jaxpr.Path] = set()  # equations with a jaxpr that are one operation
        self._dtypes: dict[Any, Any] = {}  # the dtype that each variable has had so far
        self._args = {id(x): x for x in args}  # holds the arguments, so that no id is reused
        self._casts: dict[Any, Any] = {}  # the arguments in low precision, by id and dtype
        for path, eqn, *_ in _jaxpr.walk(jaxpr):
            self._regions[path] = _region(eqn) or self._regions[path[:-2]]
            if _jaxpr.inner(eqn) and eqn.outvars and eqn.outvars[0] in self.operation_of:
                self._whole.add(path)

    def enters(self, path: _jaxpr.Path) -> bool:
        return path not in self._whole

    def __call__(self, eqn: jex_core.JaxprEqn, path: Any, args: list[Any], slot: Any) -> Any:
        del slot
        return self.run(eqn, path, args, self.region(path, eqn)), None

    def run(self, eqn: Any, path: Any, args: list[Any], region: _Region) -> list[Any]:
        """Run one equation in the dtype that torch's autocast would give it."""
        name, pairs = eqn.primitive.name, list(zip(args, eqn.invars, strict=True))
        self._dtypes.update(
            (v, jnp.result_type(x)) for x, v in pairs if isinstance(v, jex_core.Var)
        )
        dtypes = [jnp.result_type(x) for x, v in pairs if binding.is_float(v)]
        inert = region.low is None or name in lists.AS_TRACED
        if inert or not dtypes or not all(map(binding.is_eligible, dtypes)):
            return binding.as_traced(eqn, args)
        if name == "convert_element_type":
            if _jaxpr.abstract(eqn.invars[0]).dtype == eqn.params["new_dtype"]:
                return args  # only the weak type changes
            return binding.as_traced(eqn, args)

        operation = self.operation_of.get(eqn.outvars[0])
        if name in lists.PRODUCTS and contracts(eqn):
            low = [self.cast(x, path, region.low) if binding.is_float(v) else x for x, v in pairs]
            if operation is not None:
                return [binding.product(eqn, region.low, *low)]
            return compat.bind(eqn, low, **binding.accumulator(eqn, region.low))
        if operation is not None:
            if operation.name == "linear":
                low = region.low
                args = [binding.to(x, low) if self.program.is_bias(v) else x for x, v in pairs]
            outs = binding.in_float32(eqn, args)
            return self.rounded(outs, eqn, operation, region) if operation.end is eqn else outs
        if name in lists.FLOAT32_PRIMITIVES[region.device_type] or self.is_reciprocal(eqn, region):
            return binding.in_float32(eqn, args)

        dtype = self.widest(args, eqn.invars)
        if name in lists.ROUNDED_ONCE or compat.contains_jaxpr(eqn):
            return binding.each(eqn.outvars, binding.in_float32(eqn, args), dtype)
        if dtype == jnp.float32:
            return binding.in_float32(eqn, args)
        params = binding.accumulator(eqn, dtype)
        return compat.bind(eqn, binding.each(eqn.invars, args, dtype), **params)

    def region(self, path: _jaxpr.Path, eqn: jex_core.JaxprEqn) -> _Region:
        """Return the innermost region of an equation.

        An equation of a derivative rule has no entry of its own: the rule's region applies to it.
        """
        while path not in self._regions:
            path = path[:-2]
        return _region(eqn) or self._regions[path]

    def elsewhere(self) -> set[_jaxpr.Path]:
        """Return the paths of the equations in a region with a different setting."""
        return {path for path, region in self._regions.items() if region != self._regions[()]}

    def rounded(self, outs: list[Any], eqn: Any, operation: Operation, region: _Region) -> Any:
        """Round the float32 result of an operation to the dtype that torch returns."""
        if operation.name in lists.FLOAT32_OPERATIONS[region.device_type]:
            return outs
        if operation.name == "linear":
            return binding.each(eqn.outvars, outs, region.low)
        known = [v for v in operation.data if v in self._dtypes]
        dtypes = [jax.ShapeDtypeStruct((), self._dtypes[v]) for v in known]
        return binding.each(eqn.outvars, outs, self.widest(dtypes, known))

    def cast(self, x: Any, path: Any, low: Any) -> Any:
        """Cast to low precision; an argument only once, so its cotangents are summed in `low`."""
        if len(path) > 1 or id(x) not in self._args:
            return binding.to(x, low)
        if (id(x), low) not in self._casts:
            self._casts[id(x), low] = binding.to(x, low)
        return self._casts[id(x), low]

    def is_reciprocal(self, eqn: jex_core.JaxprEqn, region: _Region) -> bool:
        """Return whether an equation is `1 / x` and torch's float32 list has `reciprocal`."""
        listed = "reciprocal" in lists.FLOAT32_OPERATIONS[region.device_type]
        return listed and eqn.primitive.name == "div" and self.program.rank(eqn.invars[0]) == 0

    def widest(self, args: list[Any], atoms: list[Any]) -> Any:
        """Promote dtypes as torch does: arrays outrank 0-d arrays, which outrank numbers."""
        ranked = [
            (jnp.result_type(x), self.program.rank(v))
            for x, v in zip(args, atoms, strict=True)
            if binding.is_float(v)
        ]
        top = max(rank for _, rank in ranked)
        return functools.reduce(jnp.promote_types, [dtype for dtype, r in ranked if r == top])


def _region(eqn: jex_core.JaxprEqn) -> _Region | None:
    """Return the innermost region recorded in the name stack of an equation."""
    regions = _REGION.findall(str(eqn.source_info.name_stack))
    if not regions:
        return None
    dtype, device_type = regions[-1]
    return _Region(None if dtype == "off" else jnp.dtype(dtype), device_type)
