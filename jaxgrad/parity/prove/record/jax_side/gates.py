"""Differentiate the port with parts of its backward pass opened, closed or scaled.

A *gate* is a change of the backward pass alone, so all values stay as they are. Each gate tests a
hypothesis: "without this stop_gradient, the gradients are torch's".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import source
from jaxgrad._core.jaxpr import Path, abstract, is_inexact
from jaxgrad._core.torch_versions import Change
from jaxgrad.functional.pointwise.clamp_maximum import KERNELS
from jaxgrad.parity import maxima
from jaxgrad.parity.compiling import quick_jit
from jaxgrad.parity.prove.record.jax_side import evaluation, lifting
from jaxgrad.parity.prove.record.jax_side.evaluation import scale_cotangent
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_key
from jaxgrad.parity.prove.record.jax_side.port import Draw, Gradients, Port
from jaxgrad.parity.prove.record.jax_side.program import Key


class Gate(NamedTuple):
    """A place in the program at which the backward pass can be changed."""

    path: Path
    operand: int
    kind: str = "use"  # "use": scale the cotangent of an operand; "stop": open a stop_gradient;
    # "tie": scale the cotangent of an operand where it equals the other operand; "finite": drop the
    # elements of an operand's cotangent that are NaN or infinite; "merge": use the result of
    # `first`, the same hook or custom rule on the same value; "straight": give the cotangent of the
    # equation's result to the result `operand` of `first`, or to a leaf, instead of its operands;
    # "version": use the gradient of the other versions of torch
    first: Path = ()


_HOOKS = ("attach", "custom_vjp_call", "custom_vjp_call_jaxpr")
# Primitives whose derivative can be infinite.
_UNBOUNDED = frozenset(
    "sqrt rsqrt cbrt log log1p div pow integer_pow exp exp2 expm1 mul square asin acos acosh atanh "
    "atan2 tan sinh cosh erf_inv lgamma digamma".split()
)


def stops(flow: Flow) -> list[Gate]:
    """Return the program's stop_gradients, in order."""
    names = {path: eqn.primitive.name for path, eqn in flow.program.equations.items()}
    return [Gate(path, 0, "stop") for path, name in names.items() if name == "stop_gradient"]


def ties(flow: Flow) -> list[Gate]:
    """Return the operands of `max`, `min` and `abs`, whose gradients at a tie are a convention.

    That of `abs` is at 0, where its operand is equal to its negative.
    """
    return [
        Gate(path, k, "tie")
        for path, eqn in flow.program.equations.items()
        if eqn.primitive.name in ("max", "min", "abs") and path not in flow.program.closed
        for k, operand in enumerate(eqn.invars)
        if is_inexact(operand) and abstract(operand).shape == abstract(eqn.outvars[0]).shape
    ]


def versions(flow: Flow, torch: str) -> list[Gate]:
    """Return the operators of `jaxgrad.functional` that have the gradient of another torch."""
    found = []
    for path, eqn in flow.program.equations.items():
        known = None if path in flow.program.closed else changed(eqn)
        if known is not None and known.newer != known.change.holds(torch):
            found.append(Gate(path, 0, "version"))
    return found


class Changed(NamedTuple):
    """An operator of `jaxgrad.functional` whose gradient depends on the version of torch."""

    change: Change
    newer: bool  # whether it has the gradient since the change
    other: Callable[..., Any]  # the operator with the other gradient


def changed(eqn: Any) -> Changed | None:
    """Return what is known of an equation that is such an operator, else None."""
    name = source.own_operator(eqn) if eqn.primitive.name == "custom_jvp_call" else ""
    for change, since, before in KERNELS:
        if name in (since.__name__, before.__name__):
            newer = name == since.__name__
            return Changed(change, newer, before if newer else since)
    return None


def unbounded(flow: Flow) -> list[Gate]:
    """Return the operands of calls whose derivative can be infinite."""
    return [
        Gate(path, k, "finite")
        for path, eqn in flow.program.equations.items()
        if eqn.primitive.name in _UNBOUNDED and path not in flow.program.closed
        for k, operand in enumerate(eqn.invars)
        if is_inexact(operand)
    ]


def uses(flow: Flow, keys: Iterable[Key]) -> list[Gate]:
    """Return the operands through which some values are used, without stop_gradients."""
    wanted, program = set(keys), flow.program
    return [
        Gate(path, k)
        for path, operands in flow.operands.items()
        if path not in program.closed and program.equations[path].primitive.name != "stop_gradient"
        for k, sources in enumerate(operands)
        if wanted & set(sources)
    ]


def repeated(flow: Flow) -> list[list[Gate]]:
    """Return the hooks and custom rules that several uses of one value pass, a group for each.

    The gates of a group give all these uses the result of the first of them.
    """
    groups: dict[Any, list[Path]] = {}
    for path, operands in flow.operands.items():
        eqn = flow.program.equations[path]
        if path not in flow.program.closed and eqn.primitive.name in _HOOKS and operands[0]:
            what = eqn.primitive.name, eqn.params.get("name"), operands[0]
            groups.setdefault((path[:-1], *what), []).append(path)
    return [
        [Gate(path, 0, "merge", paths[0]) for path in paths[1:]]
        for paths in groups.values()
        if len(paths) > 1
    ]


def straight(flow: Flow, x: Sequence[Key], y: Sequence[Key]) -> list[Gate]:
    """Return the gates that pass the gradient of a value straight to an earlier one.

    Args:
        flow: The flow of the program's values.
        x: The values that may get the gradient, leaves included.
        y: The results that may pass it.
    """
    return [
        Gate(path, number, "straight", first)
        for first, number in x
        for path, _ in y
        if path not in flow.program.closed and path[: len(first) - 1] == first[:-1]
    ]


class Gated:
    """The port's gradients as a function of the settings of some gates."""

    def __init__(self, port: Port, gates: Sequence[Gate], slots: Sequence[Key] = ()):
        self.port, self.gates, self.slots = port, tuple(dict.fromkeys(gates)), tuple(slots)

    def gradients(
        self, draw: Draw, settings: Mapping[Gate, float], slots: Sequence[Key] | None = None
    ) -> Gradients:
        """Return the gradients on a draw with some gates set.

        Args:
            draw: Random weights and inputs.
            settings: 0 closes a use. 1 opens a stop_gradient, drops the elements that are not
                finite, merges hooks, passes a gradient straight through, or changes the version.
            slots: Values whose cotangents are returned too; by default those of this object.
        """
        differentiate = self._opened if self._shows_maximum(settings) else self._differentiate
        arguments = self._arguments(draw, settings, self.slots if slots is None else slots)
        (grads, cotangents), outputs = differentiate(*arguments)
        leaves = [None if g is None else np.conj(np.asarray(g)) for g in grads]
        values = {key: np.conj(np.asarray(x)) for key, x in cotangents.items()}
        return Gradients([np.asarray(x) for x in outputs], leaves, values)

    def differentiable(self, draw: Draw) -> Gated:
        """Drop the stop_gradients that hide a value that JAX cannot differentiate.

        An example is a reduction of values together with their indices. JAX raises an error if such
        a stop_gradient is opened, and the error would end the search for any other cause. The slots
        are dropped if their values are used in such a way.
        """
        if self._traces(draw):
            return self
        if self.slots:
            return Gated(self.port, self.gates).differentiable(draw)
        rest = [gate for gate in self.gates if gate.kind != "stop"]
        opened = [gate for gate in self.gates if gate.kind == "stop"]
        return Gated(self.port, [*_openable(self.port, draw, opened), *rest])

    def _traces(self, draw: Draw) -> bool:
        """Whether JAX has all derivatives that the gates need."""
        try:
            self._differentiate.eval_shape(*self._arguments(draw, {}, self.slots))  # pyright: ignore[reportFunctionMemberAccess]
        except Exception:
            return False
        return True

    def _arguments(
        self, draw: Draw, settings: Mapping[Gate, float], slots: Sequence[Key]
    ) -> tuple[Any, ...]:
        values = self.port.leaves(draw)
        floating = [jnp.issubdtype(np.asarray(x).dtype, jnp.inexact) for x in values]
        default = [1.0 if gate.kind in ("use", "tie") else 0.0 for gate in self.gates]
        numbers = [settings.get(g, x) for g, x in zip(self.gates, default, strict=True)]
        return (
            [None if f else x for x, f in zip(values, floating, strict=True)],
            [x if f else None for x, f in zip(values, floating, strict=True)],
            {key: evaluation.slot(self.port.program, key) for key in slots},
            self.port.cotangents(draw),
            jnp.asarray(numbers),
            self.port.noise(draw),
        )

    def compiles(self, settings: Mapping[Gate, float]) -> bool:
        """Whether the gradients with these settings need a program that is not compiled yet."""
        name = "_opened" if self._shows_maximum(settings) else "_differentiate"
        return name not in vars(self)

    def _shows_maximum(self, settings: Mapping[Gate, float]) -> bool:
        """Whether a stop_gradient is opened that may hide the derivative of a maximum."""
        opens = any(gate.kind == "stop" and on for gate, on in settings.items())
        return opens and maxima.any_in_rules(self.port.program.jaxpr)

    @functools.cached_property
    def _differentiate(self) -> Callable[..., Any]:
        return self._compiled(maxima.differentiated(self.port.program.jaxpr).in_rules)

    @functools.cached_property
    def _opened(self) -> Callable[..., Any]:
        """The same with the options for a maximum with a rule, which a stop_gradient may hide."""
        return self._compiled(True)

    def _compiled(self, compares: bool) -> Callable[..., Any]:
        port, program = self.port, self.port.program
        firsts = {gate.first for gate in self.gates}
        placed: dict[Path, list[tuple[int, Gate]]] = {}
        for n, gate in enumerate(self.gates):
            placed.setdefault(gate.path, []).append((n, gate))

        def run(
            integers: Any, floats: Any, slots: Any, cotangents: Any, numbers: Any, noise: Any
        ) -> Any:
            shared: dict[Path, list[Any]] = {}

            def compute(eqn: Any, path: Path, ins: list[Any]) -> list[Any]:
                gated = list(ins)
                for n, gate in placed.get(path, ()):
                    x = jnp.asarray(gated[gate.operand])
                    if gate.kind == "finite":
                        gated[gate.operand] = _finite(x, numbers[n])
                    elif gate.kind in ("use", "tie") and jnp.issubdtype(x.dtype, jnp.inexact):
                        gated[gate.operand] = scale_cotangent(x, _scale(gate, ins, numbers[n]))
                outs = lifting.equation(eqn, gated, program.numbers)
                for n, gate in placed.get(path, ()):
                    if gate.kind == "stop":
                        outs = [jnp.where(numbers[n] > 0, ins[0], outs[0])]
                    elif gate.kind == "version" and (known := changed(eqn)) is not None:
                        outs = [jnp.where(numbers[n] > 0, known.other(*gated), outs[0])]
                    elif gate.kind == "merge":
                        pairs = zip(shared[gate.first], outs, strict=True)
                        outs = [jnp.where(numbers[n] > 0, x, y) for x, y in pairs]
                    elif gate.kind == "straight" and gate.first in shared:
                        x = shared[gate.first][gate.operand]
                        outs = [_straight(x, y, numbers[n]) for y in outs]
                if path in firsts:
                    shared[path] = outs
                return outs

            def objective(floats: Any, slots: Any) -> Any:
                pairs = zip(floats, integers, strict=True)
                leaves = port.stopped([n if x is None else x for x, n in pairs])
                shared.update({leaf_key(i)[0]: [x] for i, x in enumerate(leaves)})
                outs = evaluation.run_watched(
                    program, leaves, slots=slots, noise=noise, compute=compute, pins=True
                ).outputs
                return port.objective(outs, cotangents), outs

            return jax.grad(objective, argnums=(0, 1), has_aux=True)(floats, slots)

        equations = program.equations.values()
        return quick_jit(run, equations, differentiates=True, compares=compares)


def _openable(port: Port, draw: Draw, gates: Sequence[Gate]) -> list[Gate]:
    """Return the stop_gradients without which JAX can differentiate the port."""
    if not gates or Gated(port, gates)._traces(draw):
        return list(gates)
    if len(gates) == 1:
        return []
    middle = len(gates) // 2
    return [g for half in (gates[:middle], gates[middle:]) for g in _openable(port, draw, half)]


def _scale(gate: Gate, ins: Sequence[Any], number: Any) -> Any:
    if gate.kind == "use":
        return number
    x = ins[gate.operand]
    y = ins[1 - gate.operand] if len(ins) > 1 else -x
    return jnp.where(x == y, number, 1.0)


def _straight(x: Any, y: Any, passes: Any) -> Any:
    """Return `y`; if `passes` is 1, its cotangent goes to `x`, and not to what `y` comes from."""
    x = jnp.asarray(x)
    if (x.shape, x.dtype) != (y.shape, y.dtype) or not jnp.issubdtype(x.dtype, jnp.inexact):
        return y
    return jnp.where(passes > 0, lax.stop_gradient(y) + (x - lax.stop_gradient(x)), y)


@jax.custom_vjp
def _finite(x: jax.Array, drops: jax.Array) -> jax.Array:
    """Return `x`; if `drops` is 1, its cotangent is 0 where it is not finite."""
    del drops
    return x


_finite.defvjp(
    lambda x, drops: (x, drops),
    lambda drops, g: (jnp.where((drops > 0) & ~jnp.isfinite(g), 0, g), jnp.zeros_like(drops)),
)
