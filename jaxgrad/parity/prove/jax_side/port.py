"""A port under proof: both sides as functions of one draw of weights and inputs."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.jaxpr import abstract
from jaxgrad.parity.interop import map_leaves, to_numpy, to_torch
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.program import JaxProgram, Key, Spot
from jaxgrad.parity.prove.judge import rounded
from jaxgrad.parity.prove.weights.map import WeightMap


if TYPE_CHECKING:
    from torch import nn


# Compiling is most of the time, and the results are judged by float64 rules either way.
FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


_KEPT = 2**28  # bytes; the fingerprints of more are made inside the loops, which compiles slowly


@dataclasses.dataclass(frozen=True)
class Draw:
    """Weights by torch's names (buffers too), and inputs."""

    state: Mapping[str, np.ndarray]
    inputs: Any
    number: int = 0


@dataclasses.dataclass
class Gradients:
    outputs: list[np.ndarray]
    leaves: list[np.ndarray | None]  # None where no derivative path leads
    cotangents: dict[Key, np.ndarray]


@dataclasses.dataclass
class Port:
    module: Any  # torch's, a float64 copy; None where a dump stands for it
    program: JaxProgram
    weights: WeightMap
    has_loss: bool
    has_state: bool
    seed: int

    def cotangent(self, output: np.ndarray) -> np.ndarray:
        """What comes back into an output."""
        return cotangent(self.seed, sum(n != "loss" for n in self.program.out_paths), output)

    def leaves(self, draw: Draw) -> list[Any]:
        """The JAX leaves of a draw: params, then inputs."""
        params = self.weights.to_jax(draw.state)
        _, inputs, _, _ = jax_program.flat(draw.inputs)
        return [*params, *inputs]

    def watch(self, draw: Draw, scales: Any = None) -> tuple[list[np.ndarray], dict[Key, Any]]:
        """The outputs, and the fingerprint of every value."""
        outputs, found = self._watch(self.leaves(draw), scales or {})
        prints = {key: self._print(key, x) for key, x in found.items()}
        return [np.asarray(x) for x in outputs], prints

    def outputs(self, draw: Draw, scales: Any) -> list[np.ndarray]:
        """The outputs alone, with some values scaled."""
        seen = jax_program.watched(self.program, self.leaves(draw), scales=scales)
        return [np.asarray(x) for x in seen.outputs]

    def _print(self, key: Key, x: Any) -> np.ndarray:
        """The fingerprint of a value, of one in a loop that of each turn."""
        x, turns = np.asarray(x), self.program.lengths[key[0]]
        if turns and not self._keeps:
            return x
        each = x.reshape(math.prod(turns), *x.shape[len(turns) :])
        return np.stack([fingerprint(part) for part in each]).reshape(*turns, -1)

    @functools.cached_property
    def _keeps(self) -> bool:
        """Whether the values in loops are few enough to be handed out whole."""
        made = self.program
        sizes = (
            abstract(v).size * int(np.prod(made.lengths[path]))
            for path, eqn in made.equations.items()
            if made.lengths[path]
            for v in eqn.outvars
        )
        return 8 * sum(sizes) <= _KEPT

    @functools.cached_property
    def _watch(self) -> Callable[..., Any]:
        """Values outside of loops and of small ones; inside of large ones fingerprints.

        Equation by equation nothing large is kept and little is compiled; a loop's body would be
        compiled anew in every run, so a program that has one is compiled once and whole.
        """
        made = self.program

        def run(leaves: Any, scales: Any) -> Any:
            def shown(key: Key, x: Any) -> Any:
                return fingerprint(x) if made.lengths[key[0]] and not self._keeps else x

            seen = jax_program.watched(made, leaves, scales=scales, read=lambda _: True, show=shown)
            return seen.outputs, seen.prints

        loops = any(made.lengths.values())
        return jax.jit(run, compiler_options=FAST) if loops else run

    def value(self, draw: Draw, spot: Spot) -> np.ndarray:
        """One value of the JAX program."""
        seen = jax_program.watched(
            self.program,
            self.leaves(draw),
            read=lambda key: key == spot.key,
            show=lambda _, x: x,
        )
        return np.asarray(seen.prints[spot.key])[spot.turn]

    @functools.cached_property
    def live(self) -> list[bool]:
        return jax_program.live(self.program)

    def cotangents(self) -> list[np.ndarray | None]:
        """What comes back into each output."""
        return [
            self.cotangent(np.zeros(x.shape)) if jnp.issubdtype(x.dtype, jnp.inexact) else None
            for x in self.program.jaxpr.out_avals[: len(self.program.out_paths)]
        ]

    def objective(self, outputs: Sequence[Any], cotangents: Sequence[Any]) -> Any:
        """The number whose gradients are compared: the loss, or the outputs by their cotangents."""
        count = len(self.program.out_paths)
        if self.has_loss:
            return jnp.sum(jnp.real(outputs[count - 1]))
        total = jnp.zeros(())
        for x, g in zip(outputs[:count], cotangents, strict=True):
            if g is not None:
                total = total + jnp.sum(jnp.real(x * g.reshape(x.shape)))
        return total

    @functools.cached_property
    def _differentiate(self) -> Callable[..., Any]:
        made = self.program

        def run(fixed: Any, moving: Any, cotangents: Any, slots: Any, scales: Any, bends: Any):
            def objective(moving: Any, slots: Any) -> Any:
                leaves = [m if m is not None else f for m, f in zip(moving, fixed, strict=True)]
                seen = jax_program.watched(made, leaves, slots=slots, scales=scales, bends=bends)
                return self.objective(seen.outputs, cotangents), seen.outputs

            return jax.grad(objective, (0, 1), has_aux=True)(moving, slots)

        return jax.jit(run, compiler_options=FAST)

    def gradients(
        self,
        draw: Draw,
        slots: Sequence[Key] = (),
        scales: Mapping[Key, float] | None = None,
        bends: Mapping[Key, float] | None = None,
        leaves: Sequence[Any] | None = None,
    ) -> Gradients:
        """Differentiate the JAX side.

        Args:
          draw: Weights and inputs.
          slots: The values whose cotangents are wanted.
          scales: Factors planted at some values.
          bends: Factors planted at some cotangents.
          leaves: Instead of those of the draw.
        """
        given = list(self.leaves(draw) if leaves is None else leaves)
        moves = [jnp.issubdtype(np.asarray(x).dtype, jnp.inexact) for x in given]
        (grads, found), outputs = self._differentiate(
            [None if m else x for x, m in zip(given, moves, strict=True)],
            [x if m else None for x, m in zip(given, moves, strict=True)],
            self.cotangents(),
            {key: jax_program.slot(self.program, key) for key in slots},
            {key: jnp.asarray(x) for key, x in (scales or {}).items()},
            {key: jnp.asarray(x) for key, x in (bends or {}).items()},
        )
        # JAX's gradient of a complex number is the conjugate of torch's.
        return Gradients(
            [np.asarray(x) for x in outputs],
            [
                np.conj(np.asarray(g)) if g is not None and alive else None
                for g, alive in zip(grads, self.live, strict=True)
            ],
            {key: np.conj(np.asarray(x)) for key, x in found.items()},
        )


def cotangent(seed: int, outputs: int, output: np.ndarray) -> np.ndarray:
    """Standard normal, the same on both sides.

    Args:
      seed: Of the proof.
      outputs: How many there are.
      output: The one that it comes back into.
    """
    return np.random.default_rng([seed, output.size, outputs]).standard_normal(output.shape)


def state_of(module: nn.Module) -> dict[str, np.ndarray]:
    """Every parameter and buffer of a module; tied ones under their first name."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: to_numpy(x) for name, x in named}


def load(module: nn.Module, state: Mapping[str, np.ndarray]) -> None:
    """Put weights into a module, in place."""
    import torch

    with torch.no_grad():
        for name, x in [*module.named_parameters(), *module.named_buffers()]:
            x.copy_(to_torch(np.asarray(state[name])).reshape(x.shape))


def moved(draw: Draw, fixed: Sequence[str], salt: int) -> Draw:
    """Every number moved by an ULP; the numbers that float32 rounded (`fixed`) by one of its."""
    rng = np.random.default_rng([draw.number, salt, 1])

    def leaf(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
            return x
        return x * (1 + float(np.finfo(np.float64).eps) * rng.integers(-1, 2, x.shape, np.int8))

    state = {name: rounded(x, rng) if name in fixed else leaf(x) for name, x in draw.state.items()}
    return dataclasses.replace(draw, state=state, inputs=map_leaves(leaf, draw.inputs))


def redrawn(draw: Draw, names: Sequence[str], buffers: Sequence[str], seed: int) -> Draw:
    """Other weights and inputs of the same kind: what is constant is constant no longer.

    Args:
      draw: The user's.
      names: The weights that may change, because both sides take them from here.
      buffers: Which of these are buffers: variances stay positive.
      seed: Of the draw.
    """
    rng = np.random.default_rng([seed, 2])
    state = dict(draw.state)
    for name in names:
        x = np.asarray(state[name])
        if x.dtype.kind not in "fc" or not x.size:
            continue
        noise = rng.standard_normal(x.shape)
        if name in buffers and x.min() >= 0:
            state[name] = x * (1 + 0.2 * np.abs(noise))
        else:
            state[name] = x + 0.2 * (float(np.std(x)) or 0.5) * noise

    def leaf(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or not x.size or x.dtype.kind == "b":
            return x
        if np.all((x == 0) | (x == 1)):
            return x  # a mask
        if x.dtype.kind in "iu":
            return np.roll(x, 1, -1) if x.ndim else x
        return x * (1 + 0.2 * rng.standard_normal(x.shape))

    inputs = map_leaves(leaf, draw.inputs)
    return Draw(state, inputs, draw.number + 1)


def rounded_buffers(module: nn.Module, mapped: Sequence[str]) -> list[str]:
    """Constants that only torch has and that float32 rounded: rotary tables, sinusoids."""
    frozen = [(name, x) for name, x in module.named_parameters() if not x.requires_grad]
    return [
        name
        for name, x in [*module.named_buffers(), *frozen]
        if name not in mapped and x.is_floating_point() and _is_rounded(to_numpy(x))
    ]


def _is_rounded(x: np.ndarray) -> bool:
    finite = x[np.isfinite(x)]
    exact = finite * 2**12 == np.round(finite * 2**12)
    return bool(finite.size) and not bool(np.all(exact | (np.abs(finite) > 1e8)))


def each_array(tree: Any) -> Iterator[np.ndarray]:
    """The arrays of a tree of inputs."""
    yield from (x for x in jax.tree.leaves(tree) if isinstance(x, np.ndarray))
