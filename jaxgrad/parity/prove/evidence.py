"""The evidence of a proof: both sides run on the same draws of weights and inputs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove import adapters as front
from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.align.align import Alignment, align
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.flow import Flow, leaf_of
from jaxgrad.parity.prove.jax_side.port import Draw, Gradients, Port
from jaxgrad.parity.prove.jax_side.program import Key, Spot
from jaxgrad.parity.prove.judge import Judged, judge
from jaxgrad.parity.prove.report import Finding
from jaxgrad.parity.prove.surfaces import locate_backward as backward
from jaxgrad.parity.prove.surfaces import locate_forward as forward
from jaxgrad.parity.prove.surfaces import structure
from jaxgrad.parity.prove.torch_side.side import torch_side
from jaxgrad.parity.prove.torch_side.values import TorchRun, rounding
from jaxgrad.parity.ulp import scale_of


class Proof:
    """Everything that was run, each part once; the surfaces are judged by it."""

    def __init__(
        self,
        module: Any,
        fn: Any,
        params: Any,
        inputs: Any,
        weights: Any,
        outputs: Any,
        loss: Any,
        trainable: Any,
        has_state: bool,
        seed: int,
        clock: Callable[[str], Any],
    ):
        self.clock = clock
        pick_torch, pick_jax = outputs or (None, None)
        loss_torch, loss_jax = loss or (None, None)
        with clock("torch"):
            self.side = torch_side(module, inputs, pick_torch, loss_torch, seed)
        if self.side.has_loss != (loss_jax is not None):
            raise ProofError(
                "loss= is a pair, (torch_loss, jax_loss): "
                + ("torch's side has one, JAX's none" if self.side.has_loss else "torch's is None")
            )
        with clock("weights"):
            params, found = structure.weight_map(self.side, fn, params, weights)
        given = front.normalise(fn, params)
        with clock("trace"):
            program = structure.traced(given, self.side.inputs, pick_jax, loss_jax, has_state)
        found = dataclasses.replace(found, leaves=tuple(program.params))  # one copy of them
        self.port = Port(
            self.side.module, program, found, self.side.has_loss, has_state, self.side.seed
        )
        self.train = front.trains(trainable, program.param_paths, params)
        with clock("torch"):
            drawn = self.side.drawn(self._mapped())
        self.draws = [d.draw for d in drawn]
        self.runs: list[TorchRun] = [d.run for d in drawn]
        self.noise: list[list[TorchRun]] = [d.again for d in drawn]
        program.numbers = self.runs[0].numbers
        self.notes = list(self.side.notes)
        if program.pins:
            self.notes.append(
                "the port casts to less than float64, lifted here: " + "; ".join(program.pins[:4])
            )
        # Outputs and fingerprints of the JAX side in each draw.
        self.watched: list[tuple[list[np.ndarray], dict[Key, Any]]] = [
            self._watch(draw) for draw in self.draws
        ]
        structure.check_outputs(self.runs[0], program, self.watched[0][0])
        self._pair_constants()
        with clock("align"):
            self.seen = self._align()

    def _mapped(self) -> list[str]:
        """The weights that the port takes from its params; a constant that it holds there and
        makes itself all the same (a table of positions) is not one.
        """
        ends = {key for keys in self.flow.outputs for key in keys}
        used = {leaf_of(key) for key in self.flow.back(ends, set())}
        weights, flags = self.port.weights, self.side.flags
        return [
            name
            for name in weights.tensors
            if (leaves := weights.leaves_of(name)) and (flags.get(name) or used & set(leaves))
        ]

    def _watch(self, draw: Draw) -> tuple[list[np.ndarray], dict[Key, Any]]:
        with self.clock("jax forward"):
            return structure.guarded(lambda: self.port.watch(draw))

    def _pair_constants(self) -> None:
        """Weights paired by name alone are proved by the second draw; else others are tried."""

        def agree(ours: list[np.ndarray]) -> bool:
            return all(j.verdict != "fail" for j in self.judge_outputs(1, ours))

        kept = self.port.weights
        if not any(piece.guessed for piece in kept.pieces) or agree(self.watched[1][0]):
            return
        if any(j.verdict == "fail" for j in self.judge_outputs(0, self.watched[0][0])):
            return  # constants that changed places are equal there: something else is wrong
        for weights in structure.other_pairings(kept):
            self.port.weights = weights
            seen = self._watch(self.draws[1])
            if agree(seen[0]):
                self.watched[1] = seen
                return
        self.port.weights = kept

    def _align(self) -> Alignment:
        """Which torch values the JAX program has, in every draw."""
        spots, first = jax_program.spots(self.watched[0][1])
        _, second = jax_program.spots(self.watched[1][1])
        same = len(self.runs[0].values) == len(self.runs[1].values)
        draws = (0, 1) if same else (0,)
        values = [[v.print for v in self.runs[k].values] for k in draws]
        noise = [rounding(self.runs[k], self.noise[k], lambda v: v.print) for k in draws]
        return align(values, (first, second)[: len(draws)], spots, np.maximum.reduce(noise))

    @property
    def live(self) -> bool:
        """Whether torch can be run again; a dump cannot, and some questions stay open."""
        return self.side.module is not None

    def located(self, find: Callable[[], Finding], otherwise: Finding) -> Finding:
        """The place of what fails. A verdict stands also where looking for its place goes wrong."""
        try:
            with self.clock("locate"):
                return find()
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            self.notes.append(f"the first place was not found, a fault of jaxgrad: {fault}")
            return otherwise

    # -- forward

    def judge_outputs(self, number: int, ours: Sequence[np.ndarray]) -> list[Judged]:
        """torch's outputs in one draw and these of the JAX side."""
        out = []
        for (name, theirs), x in zip(self.runs[number].outputs.items(), ours, strict=False):
            reruns = [r.outputs[name] for r in self.noise[number]]
            mine = np.reshape(x, theirs.shape) if np.size(x) == theirs.size else np.asarray(x)
            out.append(judge(name or "output", theirs, mine, reruns))
        return out

    @functools.cached_property
    def forward_fails(self) -> int | None:
        """The first draw whose outputs differ."""
        return _first_fail(self.judge_outputs(k, ours) for k, (ours, _) in enumerate(self.watched))

    @functools.cached_property
    def flow(self) -> Flow:
        return Flow(self.port.program)

    @functools.cached_property
    def not_visible(self) -> list[str]:
        """The torch modules whose outputs the JAX program does not have."""
        return forward.hidden(self.runs[0], self.seen)

    # -- backward

    def spots(self, number: int = 0) -> dict[int, Spot]:
        """The JAX values whose cotangents are compared, by torch's values in one draw."""
        return backward.watched(self.runs[number], self.seen, self.port.program)

    @functools.cached_property
    def slots(self) -> tuple[Key, ...]:
        """The same in every draw, each once."""
        every = range(len(self.draws))
        return tuple(dict.fromkeys(s.key for k in every for s in self.spots(k).values()))

    @functools.cached_property
    def ends(self) -> set[int]:
        """Where torch's outputs are among its values."""
        return {i for i in self.runs[0].output_values if i is not None}

    @functools.cached_property
    def plantable(self) -> list[int]:
        """Values outside of loops in the middle of the program, the middle first: for controls."""
        outside = [i for i, s in self.spots().items() if not s.turn]
        numbers = [i for i in outside if i not in self.ends]
        middle = len(numbers) / 2
        order = sorted(range(len(numbers)), key=lambda k: abs(k - middle))
        return [numbers[k] for k in order[:6]] or outside

    @functools.cached_property
    def bent(self) -> Key | None:
        """The JAX value whose cotangent a control bends."""
        spots = self.spots()
        return next((s.key for i, s in spots.items() if not s.turn and i in self.plantable), None)

    def gradients(self, draw: Draw, bend: float = 1.0, leaves: Any = None) -> Gradients:
        """The JAX side differentiated, with the cotangent of `bent` times `bend`."""
        bends = {} if self.bent is None else {self.bent: bend}
        return structure.guarded(
            lambda: self.port.gradients(draw, self.slots, bends=bends, leaves=leaves)
        )

    @functools.cached_property
    def _differentiated(self) -> list[tuple[Gradients, list[Judged]]]:
        """Each draw; of a later one that agrees the gradients are let go: large as the model."""
        done = []
        for number, draw in enumerate(self.draws):
            with self.clock("jax backward"):
                found = self.gradients(draw)
                judged = self.judge_gradients(number, found)
            if number and _first_fail([judged]) is None:
                found = dataclasses.replace(found, leaves=[])
            done.append((found, judged))
        return done

    @property
    def differentiated(self) -> list[Gradients]:
        """The JAX side's gradients and cotangents in each draw."""
        return [found for found, _ in self._differentiated]

    @property
    def judged_gradients(self) -> list[list[Judged]]:
        """The gradients of both sides in each draw."""
        return [judged for _, judged in self._differentiated]

    def named(self, found: Gradients) -> dict[str, np.ndarray | None]:
        """The JAX gradients by torch's names, inputs too."""
        count = len(self.port.program.param_paths)
        grads = self.port.weights.to_torch(found.leaves[:count])
        given = dict(zip(self.port.program.input_paths, found.leaves[count:], strict=True))
        return grads | {f"input {path}": g for path, g in given.items()}

    def theirs(self, run: TorchRun) -> dict[str, np.ndarray | None]:
        """torch's gradients, inputs too."""
        inputs = zip(self.port.program.input_paths, run.input_grads, strict=True)
        return dict(run.grads) | {f"input {path}": g for path, g in inputs}

    def judge_gradients(self, number: int, found: Gradients) -> list[Judged]:
        """Every parameter and floating input that has a gradient on both sides, in one draw."""
        ours, theirs = self.named(found), self.theirs(self.runs[number])
        reruns = [self.theirs(r) for r in self.noise[number]]
        tree_scale = max((scale_of(g) for g in theirs.values() if g is not None), default=0.0)
        out = []
        for name in theirs:
            grad, mine = theirs[name], ours.get(name)
            if name.startswith("input ") and (grad is None) != (mine is None):
                # Of a parameter the structure surface says so; an input has nobody else.
                grad = np.zeros_like(mine) if grad is None else grad
                mine = np.zeros_like(grad) if mine is None else mine
            if grad is None or mine is None:
                continue
            again = [r[name] for r in reruns if r[name] is not None]
            out.append(
                judge(name, grad, mine, [a for a in again if a is not None], tree_scale=tree_scale)
            )
        return out

    @functools.cached_property
    def gradients_fail(self) -> int | None:
        """The first draw in which a gradient differs."""
        return _first_fail(self.judged_gradients)

    def jax_of(self, name: str) -> str:
        """Where a torch parameter, or an input, is on the JAX side."""
        if name.startswith("input "):
            return name
        return self.port.weights.place_of(name)


def _first_fail(draws: Iterable[Sequence[Judged]]) -> int | None:
    failed = (k for k, judged in enumerate(draws) if any(j.verdict == "fail" for j in judged))
    return next(failed, None)
