"""The torch model as a float64 copy of the user's module, which runs here."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.checks import as_arrays
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.port import (
    Draw,
    cotangent,
    load,
    names_of,
    perturbed,
    redrawn,
    rounded_buffers,
    state_of,
)
from jaxgrad.parity.prove.judge import max_difference
from jaxgrad.parity.prove.request import Function
from jaxgrad.parity.prove.torch_side import native as torch_native
from jaxgrad.parity.prove.torch_side import run as torch_run
from jaxgrad.parity.prove.torch_side.loop import Loop, add_gradients, build_optimizer
from jaxgrad.parity.prove.torch_side.ranges import Ranges
from jaxgrad.parity.prove.torch_side.redraws import Range, candidates, edges
from jaxgrad.parity.prove.torch_side.side import Drawn, Gradients, State, Steps, compared_steps
from jaxgrad.parity.prove.torch_side.values import Native, TorchRun
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.users import ProofError, described, running


class Live:
    """A module, its inputs, and the functions that select its outputs and its loss."""

    def __init__(self, module: Any, inputs: Any, pick: Function, loss: Function, seed: int):
        _check_module(module)
        self.original, self.pick, self.loss, self.seed = module, pick, loss, seed
        self.has_loss = loss is not None
        self.inputs: Any = as_arrays(inputs)
        self.module: Any = torch_run.copy_in_dtype(module)
        outputs = _check_run(self.module, self.inputs, pick, loss)
        self.output_count = sum(name != "loss" for name in outputs)
        self.state: State = state_of(self.module)
        self.flags: Mapping[str, bool] = {
            name: p.requires_grad for name, p in self.module.named_parameters()
        }
        self.names: Mapping[str, str] = names_of(self.module)
        self.rough: Sequence[str] = ()
        self._casts_low = False  # whether a run casts below float32
        self.notes: list[str] = []
        self.versions: Mapping[str, str] = {}

    def drawn(self, mapped: Sequence[str]) -> list[Drawn]:
        """Return both draws; the second redraws the weights that the port takes from its params."""
        self.rough = rounded_buffers(self.module, mapped)
        first = Draw(self.state, self.inputs)
        buffers = [name for name in mapped if name not in self.flags]
        rng = np.random.default_rng([self.seed, 2])
        second = Draw(redrawn(self.state, mapped, buffers, rng), self.inputs, 1)
        draws = [self._drawn(first)]
        names, leaves, fill = jax_program.flat(self.inputs)
        plans = candidates(leaves, self._ranges, rng)
        try:
            drawn = self._drawn(dataclasses.replace(second, inputs=fill([x[0] for x in plans])))
            if _similar(draws[0].run, drawn.run):
                return [*draws, drawn]
        except Exception:
            pass  # redrawn lengths, positions or labels may be invalid
        chosen = [x[-1] for x in plans]
        for k, plan in enumerate(plans):
            for x in plan:
                tried = fill([*chosen[:k], x, *chosen[k + 1 :]])
                if x is plan[-1]:
                    break
                if self._accepts(dataclasses.replace(second, inputs=tried), draws[0].run):
                    chosen[k] = x
                    break
        kept = [name for name, x, plan in zip(names, chosen, plans, strict=True)
                if x is plan[-1] and len(plan) > 1]  # fmt: skip
        if kept:
            self.notes.append(
                f"the second draw keeps the given values of input {', '.join(kept)}, because torch "
                "rejects the redrawn ones or returns outputs of other shapes for them"
            )
        return [*draws, self._drawn(dataclasses.replace(second, inputs=fill(chosen)))]

    def _accepts(self, draw: Draw, first: TorchRun) -> bool:
        """Whether torch runs on a draw, and returns finite numbers of the same shapes."""
        try:
            return _similar(first, self.run(draw, watch=False))
        except Exception:
            return False

    def edges(self) -> list[tuple[str, Any]]:
        """Return inputs of edge cases that the given inputs do not contain, with their names."""
        names, leaves, fill = jax_program.flat(self.inputs)
        return [(edge.name, fill(edge.leaves)) for edge in edges(names, leaves, self._ranges)]

    @functools.cached_property
    def _ranges(self) -> Mapping[int, Range]:
        """Return the values that the module accepts in its integer inputs, by their position."""
        if not any(x.dtype.kind in "iu" for x in jax_program.flat(self.inputs)[1]):
            return {}
        watcher = Ranges(self.module)
        load(self.module, self.state)
        with watcher:
            torch_run.run(self.module, self.inputs, self.pick, self.loss, watch=False)
        return watcher.found

    def _drawn(self, draw: Draw) -> Drawn:
        run = self.run(draw)
        self._casts_low |= run.low
        return Drawn(draw, run, self.reruns(draw, run))

    def reruns(self, draw: Draw, run: TorchRun) -> list[TorchRun]:
        """Return runs that differ from `run` by rounding, with gradients stored as differences."""
        near = {salt: perturbed(draw, self.rough, salt) for salt in (0, 1)}
        return [_differences(run, self.run(x, rough=salt)) for salt, x in near.items()]

    def run(self, draw: Draw, *, forward: bool = False, **options: Any) -> TorchRun:
        """Run torch forward and backward on a draw, or only `forward`."""
        load(self.module, draw.state)
        cotangents = None if forward else self._cotangent
        with running(f"torch: a forward and backward run of {type(self.module).__name__}"):
            result = torch_run.run(
                self.module, draw.inputs, self.pick, self.loss, cotangents, **options
            )
        self.module.zero_grad()  # do not store a large module's gradients twice
        return result

    def single_precision(self, draw: Draw) -> list[TorchRun]:
        """Run torch in float32 on a draw, and with every weight perturbed by a float32 ULP."""
        module = torch_run.copy_in_dtype(self.original, torch.float32)
        runs = []
        for near in (draw, *(perturbed(draw, list(draw.state), salt) for salt in (0, 1))):
            load(module, near.state)
            inputs = cast(near.inputs, np.float32)
            runs.append(torch_run.run(module, inputs, self.pick, self.loss, self._cotangent,
                                      watch=False, dtype=torch.float32))  # fmt: skip
        return runs

    def native(self, draws: Sequence[Draw], always: bool = False) -> Native:
        """Run torch in the module's own dtypes, and record which values are rounded.

        A module that rounds nothing below float32 is run only if `always` is true.
        """
        module = torch_run.copy_in_dtype(self.original, None)
        low = torch_native.is_low(module) or self._casts_low
        chosen = draws if low or always else ()
        return torch_native.run(module, chosen, self.pick, self.loss, low)

    def state_dtypes(self, training: Training) -> Mapping[str, str]:
        """Return the dtypes in which a torch optimizer stores the state of each parameter."""
        module = torch_run.copy_in_dtype(self.original, None)
        try:
            optimizer = build_optimizer(training.torch, module)
        except ProofError:  # the updates surface reports it
            return {}
        return torch_native.state_dtypes(module, optimizer)

    def _cotangent(self, output: np.ndarray) -> np.ndarray:
        return cotangent(self.seed, self.output_count, output)

    def steps(
        self, training: Training, draws: Sequence[Draw], steps: int, *, reruns: int = 2
    ) -> Steps:
        """Train from the first draw's weights; the draws' inputs are the micro-batches."""
        used = draws[: training.accumulate]
        near = [[perturbed(draw, self.rough, salt) for draw in used] for salt in range(reruns)]
        others = [self._trajectory(training, perturbation, steps) for perturbation in near]
        return dataclasses.replace(
            self._trajectory(training, used, steps),
            reruns=[other.states for other in others],
            moment_reruns=[other.moments for other in others],
        )

    def _trajectory(self, training: Training, draws: Sequence[Draw], steps: int) -> Steps:
        """Return the parameters after the compared steps, and the optimizer's last state."""
        load(self.module, draws[0].state)
        loop = Loop(training, self.module)
        self.module.zero_grad()  # afterwards only the user's optimizer clears gradients

        def backward(number: int) -> float | None:
            inputs = draws[number % len(draws)].inputs
            return torch_run.run(self.module, inputs, self.pick, self.loss, self._cotangent,
                                 watch=False, clear=False).loss  # fmt: skip

        taken = Steps({}, {}, [])
        for step in range(1, steps + 1):
            loop.step(backward)
            if step in compared_steps(steps):
                taken.states[step] = loop.parameters()
                taken.averages[step] = loop.averages()
        return dataclasses.replace(taken, moments=loop.moments())

    def replay(
        self, training: Training, draw: Draw, gradients: Gradients, *, single: bool = False
    ) -> Iterator[tuple[list[float], State]]:
        """Yield the learning rates and new weights of steps whose gradients are given."""
        module = torch_run.copy_in_dtype(self.original, torch.float32) if single else self.module
        load(module, draw.state)
        loop = Loop(dataclasses.replace(training, ema=None), module)
        module.zero_grad()
        for given in gradients:
            yield loop.step(lambda _, given=given: add_gradients(module, given)), loop.parameters()

    def state_dict(self, values: State) -> dict[str, Any]:
        """Return the module's state_dict in float64 with these values."""
        kept = self.module.state_dict()
        fresh = {name: torch.tensor(x) for name, x in values.items()}
        return {
            key: fresh[name].clone() if (name := self.names.get(key)) in fresh else copy.copy(x)
            for key, x in kept.items()
        }


def _similar(first: TorchRun, run: TorchRun) -> bool:
    """Whether two runs return the same shapes, and the second is finite where the first is."""

    def arrays(run: TorchRun) -> list[np.ndarray]:
        grads = [g for g in (*run.grads.values(), *run.input_grads) if g is not None]
        return [*run.outputs.values(), *grads]

    pairs = list(zip(arrays(first), arrays(run), strict=False))
    return first.outputs.keys() == run.outputs.keys() and all(
        x.shape == y.shape and (np.isfinite(y).all() or not np.isfinite(x).all()) for x, y in pairs
    )


def _differences(run: TorchRun, rerun: TorchRun) -> TorchRun:
    """Replace the gradients of a rerun by their largest difference from those of the run."""

    def off(x: Any, y: Any) -> float | None:
        return None if x is None or y is None else max_difference(x, y)

    pairs = zip(run.input_grads, rerun.input_grads, strict=True)
    return dataclasses.replace(
        rerun,
        grads={name: off(x, rerun.grads[name]) for name, x in run.grads.items()},
        input_grads=[off(x, y) for x, y in pairs],
    )


def _check_module(module: Any) -> None:
    """Check that the first argument is a module with finite parameters."""
    if not isinstance(module, nn.Module):
        known = (
            f"the class {module.__name__}" if isinstance(module, type) else type(module).__name__
        )
        raise ProofError(f"the first argument is {known}, not a torch.nn.Module")
    for name, x in [*module.named_parameters(), *module.named_buffers()]:
        bad = int((~torch.isfinite(x)).sum()) if x.is_floating_point() else 0
        if bad and isinstance(x, nn.Parameter):
            raise ProofError(
                f"the weights are not finite: {name!r} of shape {tuple(x.shape)} contains {bad} "
                "NaN or infinities"
            )


def _check_run(
    module: nn.Module, inputs: Any, pick: Function, loss: Function
) -> dict[str, np.ndarray]:
    """Run the module twice, check that both runs agree, and return the outputs."""
    state = copy.deepcopy(module.state_dict())
    runs = []
    for number in range(2):
        try:
            runs.append(torch_run.run(module, inputs, pick, loss, watch=False, salt=number))
        except ProofError:
            raise
        except Exception as error:
            arrays = jax_program.flat(inputs)[1]
            listed = ", ".join(f"{np.dtype(x.dtype).name}{list(x.shape)}" for x in arrays)
            called = f"{type(module).__name__} called with {len(arrays)} inputs"
            called += f" ({listed})" if arrays else " (inputs= contains no numpy array)"
            raise ProofError(f"torch: {called} raised {described(error)}") from error
        module.load_state_dict(state)
    outputs, again = (run.outputs for run in runs)
    if not all(np.array_equal(x, again[k], equal_nan=True) for k, x in outputs.items()):
        active = [
            name
            for name, m in module.named_modules()
            if m.training and "dropout" in type(m).__name__.lower() and getattr(m, "p", 1)
        ]
        named = f": dropout is active in {', '.join(active[:4])}" if active else ""
        raise ProofError(
            f"the torch module is not deterministic{named}. Call module.eval(), or pass the random "
            "numbers as inputs to both models"
        )
    if not outputs:
        raise ProofError(
            "no tensor was found in the torch module's output; extract one with "
            "outputs=(torch_pick, jax_pick)"
            if pick is None
            else "outputs=: torch_pick returned no tensor; it is called with the module's output"
        )
    if not any(np.issubdtype(x.dtype, np.inexact) for x in outputs.values()):
        dtypes = ", ".join(sorted({str(x.dtype) for x in outputs.values()}))
        raise ProofError(
            f"the outputs are not floating ({dtypes}), so there is no gradient to compare; select "
            "the logits instead of the labels with outputs=(torch_pick, jax_pick)"
        )
    for name, x in outputs.items():
        if np.issubdtype(x.dtype, np.inexact) and np.isnan(x).all() and x.size:
            raise ProofError(f"every element of torch's output {name or 0!r} is NaN")
    return outputs
