"""The port as a function of one draw (random weights and inputs), and how draws are made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core.jaxpr import Path, abstract
from jaxgrad.parity import maxima
from jaxgrad.parity.compiling import quick_jit
from jaxgrad.parity.interop import to_numpy, to_torch
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.record.jax_side import evaluation, lifting
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key, Spot
from jaxgrad.parity.prove.record.jax_side.sites import NO_INJECTION, Injection
from jaxgrad.parity.prove.record.lazy import stored
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.weights.map import WeightMap


if TYPE_CHECKING:
    from torch import nn


T = TypeVar("T")

# Above so many bytes, fingerprints are computed inside loops, which compiles slowly.
_KEPT = 250_000_000


@dataclasses.dataclass(frozen=True)
class Draw:
    """Random parameters and buffers, keyed by torch's names, and inputs."""

    state: Mapping[str, np.ndarray]
    inputs: Any
    number: int = 0
    noise: Sequence[Noise] = ()  # the random numbers that torch draws


@dataclasses.dataclass
class Gradients:
    """The port's outputs, and the gradients and cotangents of one scalar computed from them."""

    outputs: list[np.ndarray]
    leaves: list[np.ndarray | None]  # None where no derivative path leads to a leaf
    cotangents: dict[Key, np.ndarray]
    state: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)  # torch's weights


@dataclasses.dataclass(frozen=True, eq=False)
class Port:
    """The JAX program, with the map from torch's weights to its params."""

    program: JaxProgram
    weights: WeightMap
    has_loss: bool
    has_state: bool
    seed: int
    injection: Injection = NO_INJECTION
    # What was computed from the program alone, which ports that differ in other fields share.
    compiled: dict[str, Any] = dataclasses.field(default_factory=dict)

    def replacing(
        self, *, weights: WeightMap | None = None, injection: Injection | None = None
    ) -> Port:
        """Return the port with other weights or random numbers, without compiling it again."""
        weights = self.weights if weights is None else weights
        injection = self.injection if injection is None else injection
        return dataclasses.replace(self, weights=weights, injection=injection)

    def of(self, program: JaxProgram, injection: Injection = NO_INJECTION) -> Port:
        """Return the port with another program, which needs random numbers of its own."""
        return dataclasses.replace(self, program=program, injection=injection, compiled={})

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` returned when it was first called for this name."""
        if name not in self.compiled:
            self.compiled[name] = make()
        return self.compiled[name]

    def leaves(self, draw: Draw) -> list[Any]:
        """Return the JAX leaves of a draw: params, then inputs."""
        params = self.weights.to_jax(draw.state)
        return [*params, *jax_program.flat(draw.inputs)[1]]

    def noise(self, draw: Draw) -> dict[Path, np.ndarray]:
        """Return torch's random numbers of a draw for the port's calls of `jax.random`."""
        return self.injection.values(draw.noise)

    def watch(self, draw: Draw) -> Watched:
        """Return the outputs and the fingerprint of every value."""
        outputs, values = self._watch(_moved(self.leaves(draw)), {}, self.noise(draw))
        prints = {key: self._print(key, x) for key, x in values.items()}
        return Watched([np.asarray(x) for x in outputs], prints)

    def outputs(self, draw: Draw, scales: Mapping[Key, Any]) -> list[np.ndarray]:
        """Return the outputs after scaling some intermediate values."""
        run = self._scaled(self.leaves(draw), scales, self.noise(draw))
        return [np.asarray(x) for x in run.outputs]

    def call(self, draw: Draw, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Return the outputs and the new state for other leaves than the draw's."""
        values = _moved([np.asarray(x) for x in leaves])
        outputs, _ = self._watch(values, {}, self.noise(draw))
        return [np.asarray(x) for x in outputs]

    def rounded_outputs(self, draw: Draw) -> list[np.ndarray]:
        """Return the outputs after rounding the results of every equation to one bit less."""
        run = self._rounded(self.leaves(draw), {}, self.noise(draw))
        return [np.asarray(x) for x in run.outputs]

    def value(self, draw: Draw, spot: Spot) -> np.ndarray:
        """Return one value of the JAX program."""
        return self.values(draw, [spot])[0]

    def values(self, draw: Draw, spots: Sequence[Spot]) -> list[np.ndarray]:
        """Return some values of the JAX program."""
        if self._keeps:
            values = self._watch(self.leaves(draw), {}, self.noise(draw)).prints
        else:
            keys = {spot.key for spot in spots}
            values = evaluation.run_watched(
                self.program,
                self.leaves(draw),
                read=lambda key: key in keys,
                show=lambda _, x: x,
                noise=self.noise(draw),
            ).prints
        return [np.asarray(values[spot.key])[spot.iteration] for spot in spots]

    def discrete(self, draw: Draw) -> dict[Key, np.ndarray]:
        """Return all integers and booleans of the JAX program, in program order."""
        run = evaluation.run_watched(
            self.program, self.leaves(draw), read=lambda _: True, show=lambda _, x: x,
            noise=self.noise(draw), discrete=True,
        )  # fmt: skip
        keys = sorted(run.prints, key=evaluation.order)
        return {key: np.asarray(run.prints[key]) for key in keys}

    def outputs_with(self, draw: Draw, values: Mapping[Key, np.ndarray]) -> list[np.ndarray]:
        """Return the outputs with other integers or booleans in place of some values."""

        def compute(eqn: Any, path: Path, ins: list[Any]) -> list[Any]:
            outs = lifting.equation(eqn, ins, self.program.numbers)
            for k, x in enumerate(outs):
                if (path, k) in values:
                    outs[k] = jnp.asarray(values[path, k]).reshape(x.shape).astype(x.dtype)
            return outs

        noise = self.noise(draw)
        run = evaluation.run_watched(self.program, self.leaves(draw), compute=compute, noise=noise)
        return [np.asarray(x) for x in run.outputs]

    def _print(self, key: Key, x: Any) -> np.ndarray:
        """Return a value's fingerprint, or one per iteration for a value inside a loop."""
        x, lengths = np.asarray(x), self.program.lengths[key[0]]
        if not self._keeps:
            return x
        iterations = x.reshape(math.prod(lengths), *x.shape[len(lengths) :])
        return np.stack([fingerprint(y) for y in iterations]).reshape(*lengths, -1)

    @property
    def _keeps(self) -> bool:
        """Whether all values together are small enough to be returned whole."""
        return self._once("keeps", lambda: 8 * _size(self.program) <= _KEPT)

    @property
    def _compiles(self) -> bool:
        """Whether to compile the forward pass as a whole instead of one equation at a time.

        One equation at a time needs less memory in a large program. A loop's body, however, would
        be compiled again in every run.
        """
        return self._keeps or any(self.program.lengths.values())

    @property
    def _watch(self) -> Callable[..., Watched]:
        """A function that returns the outputs and all values (or their fingerprints)."""
        return self._once("watch", lambda: self._forward(lambda _: True))

    @property
    def _scaled(self) -> Callable[..., Watched]:
        """A function that scales some values and returns the outputs."""
        return self._once("scaled", lambda: self._forward(lambda _: False))

    @property
    def _rounded(self) -> Callable[..., Watched]:
        """A function that rounds the results of every equation and returns the outputs."""
        return self._once("rounded", lambda: self._forward(lambda _: False, rounds=True))

    def _forward(
        self, read: Callable[[Key], bool], *, rounds: bool = False
    ) -> Callable[..., Watched]:
        def show(_: Key, x: Any) -> Any:
            return x if self._keeps else fingerprint(x)

        def run(leaves: Any, scales: Any, noise: Any) -> Watched:
            return evaluation.run_watched(
                self.program, leaves, scales=scales, noise=noise, rounds=rounds, read=read,
                show=show,
            )  # fmt: skip

        return quick_jit(run, self.program.equations.values()) if self._compiles else run

    @property
    def reachable(self) -> list[bool]:
        """For each leaf, whether a derivative path leads to it."""
        return self._derivatives.reached

    @property
    def _derivatives(self) -> jax_program.Derivatives:
        return self._once("derivatives", lambda: jax_program.derivatives(self.program))

    def stopped(self, leaves: Sequence[Any]) -> list[Any]:
        """Stop the gradient before each leaf for which no derivative is implemented."""
        refused = self._derivatives.refused
        return [lax.stop_gradient(x) if i in refused else x for i, x in enumerate(leaves)]

    def cotangents(self, draw: Draw) -> list[np.ndarray | None]:
        """Return the cotangent of each output on a draw, None for integer outputs."""
        count = sum(name != "loss" for name in self.program.out_paths)
        return [
            cotangent(self.seed, count, np.zeros(x.shape), draw.number)
            if jnp.issubdtype(x.dtype, jnp.inexact)
            else None
            for x in self.program.jaxpr.out_avals[: len(self.program.out_paths)]
        ]

    def objective(self, outputs: Sequence[Any], cotangents: Sequence[Any]) -> Any:
        """Return the scalar that is differentiated: the loss, or <outputs, cotangents>."""
        count = len(self.program.out_paths)
        if self.has_loss:
            return jnp.sum(jnp.real(outputs[count - 1]))
        total = jnp.zeros(())
        for x, g in zip(outputs[:count], cotangents, strict=True):
            if g is not None:
                total = total + jnp.sum(jnp.real(x * g.reshape(x.shape)))
        return total

    @property
    def _differentiate(self) -> Callable[..., Any]:
        return self._once("differentiate", self._derivative)

    @property
    def _differentiate_rounded(self) -> Callable[..., Any]:
        return self._once("differentiate_rounded", lambda: self._derivative(rounds=True))

    def _derivative(self, *, rounds: bool = False) -> Callable[..., Any]:
        compared = maxima.differentiated(self.program.jaxpr)

        def run(
            integers: Any, floats: Any, cotangents: Any, slots: Any, scales: Any, noise: Any
        ) -> Any:
            of_values, of_cotangents = scales

            def objective(floats: Any, slots: Any) -> Any:
                pairs = zip(floats, integers, strict=True)
                leaves = self.stopped([x if x is not None else n for x, n in pairs])
                outputs = evaluation.run_watched(
                    self.program, leaves, slots=slots, scales=of_values,
                    cotangent_scales=of_cotangents, noise=noise, rounds=rounds,
                    pins=compared.plain,
                ).outputs  # fmt: skip
                return self.objective(outputs, cotangents), outputs

            return jax.grad(objective, (0, 1), has_aux=True)(floats, slots)

        donate = (1,)  # the gradients take it
        equations = self.program.equations.values()
        return quick_jit(run, equations, donate, differentiates=True, compares=compared.in_rules)

    def gradients(
        self,
        draw: Draw,
        slots: Sequence[Key] = (),
        cotangent_scales: Mapping[Key, float] | None = None,
        leaves: Sequence[Any] | None = None,
        scales: Mapping[Key, float] | None = None,
        *,
        rounds: bool = False,
    ) -> Gradients:
        """Differentiate the port, and return the cotangents of the values in `slots`.

        The scales multiply some values or only their cotangents. Leaves replace the draw's. With
        `rounds`, the results of every equation and their cotangents are rounded to one bit less.
        """
        differentiate = self._differentiate_rounded if rounds else self._differentiate
        values = _moved(self.leaves(draw) if leaves is None else [np.asarray(x) for x in leaves])
        floating = [jnp.issubdtype(x.dtype, jnp.inexact) for x in values]
        (grads, cotangents), outputs = differentiate(
            [None if f else x for x, f in zip(values, floating, strict=True)],
            [x if f else None for x, f in zip(values, floating, strict=True)],
            self.cotangents(draw),
            {key: evaluation.slot(self.program, key) for key in slots},
            jax.tree.map(jnp.asarray, (dict(scales or {}), dict(cotangent_scales or {}))),
            self.noise(draw),
        )
        # JAX's gradient of a complex number is the conjugate of torch's.
        return Gradients(
            [np.asarray(x) for x in outputs],
            [
                _conjugate(g) if g is not None and reached else None
                for g, reached in zip(grads, self.reachable, strict=True)
            ],
            {key: _conjugate(x) for key, x in cotangents.items()},
            draw.state,
        )


def _size(program: JaxProgram) -> int:
    """Return the number of elements of all values of a program."""
    return sum(
        abstract(v).size * math.prod(program.lengths[path])
        for path, eqn in program.equations.items()
        for v in eqn.outvars
    )


def _moved(leaves: list[np.ndarray]) -> list[jax.Array]:
    """Copy arrays to JAX, and drop each array once it is copied: together they are a model."""
    leaves.reverse()
    return [jax.device_put(leaves.pop(), may_alias=False) for _ in range(len(leaves))]


def _conjugate(x: Any) -> np.ndarray:
    """Return the conjugate of an array as numpy; a real array is not copied."""
    x = np.asarray(x)
    return np.conj(x) if np.iscomplexobj(x) else x


def cotangent(seed: int, outputs: int, output: np.ndarray, draw: int) -> np.ndarray:
    """Draw a standard normal cotangent for one of several outputs, equal for torch and JAX.

    On the given inputs, the only output gets the cotangent 1 if it is one number: the gradients in
    the report are then those of the user's loss.
    """
    if draw == 0 and outputs == 1 and output.size == 1:
        return np.ones(output.shape)
    return np.random.default_rng([seed, output.size, outputs]).standard_normal(output.shape)


def state_of(module: nn.Module) -> dict[str, np.ndarray]:
    """Return all parameters and buffers of a module, tied ones under their first name."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: to_numpy(x) for name, x in named}


def names_of(module: nn.Module) -> dict[str, str]:
    """Map the keys of a module's state_dict to the names of `state_of`, one for tied keys."""
    known = {id(x): name for name, x in [*module.named_parameters(), *module.named_buffers()]}
    entries = module.state_dict(keep_vars=True).items()
    return {key: known[id(x)] for key, x in entries if id(x) in known}


def load(module: nn.Module, state: Mapping[str, np.ndarray], *, buffers: bool = True) -> None:
    """Copy the parameters, and with `buffers` also those, into a module in place."""
    import torch

    with torch.no_grad():
        held = module.named_buffers() if buffers else ()
        for name, x in [*module.named_parameters(), *held]:
            array = stored(state, name)
            shared = array.dtype.kind in "fc" and array.flags.writeable and array.flags.c_contiguous
            values = torch.from_numpy(array) if shared else to_torch(array)  # without a copy
            x.copy_(values.reshape(x.shape))


def is_rounded(x: np.ndarray) -> bool:
    """Whether an array holds float32 numbers that exact arithmetic hardly gives."""
    finite = x[np.isfinite(x)]
    if np.iscomplexobj(finite):
        finite = np.stack([np.real(finite), np.imag(finite)])
    if not np.array_equal(finite, finite.astype(np.float32)):
        return False
    scaled = finite * 4096  # short fractions are exact, and so is every float32 number above 4096
    return not np.array_equal(scaled, np.round(scaled))
