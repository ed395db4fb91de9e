"""torch's side of a proof where torch runs: a float64 copy of the user's module."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.interop import cast, to_numpy
from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.port import (
    Draw,
    cotangent,
    load,
    moved,
    redrawn,
    rounded_buffers,
    state_of,
)
from jaxgrad.parity.prove.judge import noise
from jaxgrad.parity.prove.surfaces import structure
from jaxgrad.parity.prove.torch_side import run as torch_run
from jaxgrad.parity.prove.torch_side.side import Drawn, State, Steps, marks
from jaxgrad.parity.prove.torch_side.values import TorchRun


class Live:
    """A module, its inputs, and what of its outputs is compared."""

    def __init__(self, module: Any, inputs: Any, pick: Any, loss: Any, seed: int):
        _check_module(module)
        self.given, self.pick, self.loss, self.seed = module, pick, loss, seed
        self.has_loss = loss is not None
        self.inputs: Any = structure.check_inputs(inputs)
        self.module: Any = torch_run.twin(module)
        outputs = _check_run(self.module, self.inputs, pick, loss)
        self.outputs = sum(name != "loss" for name in outputs)
        self.state: State = state_of(self.module)
        self.flags: Mapping[str, bool] = {
            name: p.requires_grad for name, p in self.module.named_parameters()
        }
        self.rough: Sequence[str] = ()
        self.notes: list[str] = []
        self.versions: Mapping[str, str] = {}

    def drawn(self, mapped: Sequence[str]) -> list[Drawn]:
        """Both draws; in the second the weights are redrawn that the port takes from its params."""
        self.rough = rounded_buffers(self.module, mapped)
        first = Draw(self.state, self.inputs)
        buffers = [name for name in mapped if name not in self.flags]
        second = redrawn(first, mapped, buffers, self.seed)
        found = [self._drawn(first)]
        try:
            found.append(self._drawn(second))
        except Exception as error:
            # The second draw may be no input at all (lengths, positions): keep the first.
            self.notes.append(f"inputs were not redrawn: torch raised {type(error).__name__}")
            found.append(self._drawn(Draw(second.state, first.inputs, second.number)))
        return found

    def _drawn(self, draw: Draw) -> Drawn:
        run = self.run(draw)
        return Drawn(draw, run, self.again(draw, run))

    def again(self, draw: Draw, run: TorchRun) -> list[TorchRun]:
        """Runs that differ from this one by rounding alone; of their gradients, by how much."""
        return [_apart(run, self.run(moved(draw, self.rough, salt), rough=salt)) for salt in (0, 1)]

    def run(self, draw: Draw, **options: Any) -> TorchRun:
        """torch on a draw, forward and back."""
        load(self.module, draw.state)
        found = torch_run.run(
            self.module, draw.inputs, self.pick, self.loss, self._cotangent, **options
        )
        self.module.zero_grad()  # a large module's gradients are kept once
        return found

    def single(self, draw: Draw) -> list[TorchRun]:
        """torch in float32: on the draw, and with every weight moved by an ULP of float32."""
        module = torch_run.twin(self.given, torch.float32)
        runs = []
        for near in (draw, *(moved(draw, list(draw.state), salt) for salt in (0, 1))):
            load(module, near.state)
            given = cast(near.inputs, np.float32)
            runs.append(torch_run.run(module, given, self.pick, self.loss, self._cotangent,
                                      watch=False, dtype=torch.float32))  # fmt: skip
        return runs

    def _cotangent(self, name: str, output: np.ndarray) -> np.ndarray:
        del name
        return cotangent(self.seed, self.outputs, output)

    def steps(self, factory: Any, steps: int, *, reruns: int = 2) -> Steps:
        """An optimizer on the first draw."""
        first = Draw(self.state, self.inputs)
        draws = [moved(first, self.rough, salt) for salt in range(reruns)]
        again = [self._trajectory(factory, draw, steps)[0] for draw in draws]
        return Steps(*self._trajectory(factory, first, steps), again)

    def _trajectory(
        self, factory: Any, draw: Draw, steps: int
    ) -> tuple[dict[int, State], dict[str, dict[str, np.ndarray]]]:
        """The parameters after the marked steps, and the optimizer's own state after the last."""
        load(self.module, draw.state)
        optimizer = made_optimizer(factory, self.module)
        self.module.zero_grad()  # from then on the optimizer's own zero_grad does, or does not
        found: dict[int, State] = {}
        for step in range(1, steps + 1):
            optimizer.zero_grad()
            torch_run.run(self.module, draw.inputs, self.pick, self.loss, self._cotangent,
                          watch=False, fresh=False)  # fmt: skip
            optimizer.step()
            scheduler = getattr(optimizer, "scheduler", None)
            if scheduler is not None:
                scheduler.step()
            if step in marks(steps):
                found[step] = {n: x for n, x in state_of(self.module).items() if n in self.flags}
        names = {id(p): n for n, p in self.module.named_parameters()}
        moments = {
            names[id(p)]: {k: to_numpy(x) for k, x in s.items() if isinstance(x, torch.Tensor)}
            for p, s in optimizer.state.items()
            if id(p) in names
        }
        return found, moments

    def state_dict(self, values: State) -> dict[str, Any]:
        """The module's state_dict in float32 with these values, for the user's converter."""
        module = copy.deepcopy(self.given).to("cpu").float()
        for name, x in [*module.named_parameters(), *module.named_buffers()]:
            if name in values:
                x.data = torch.tensor(values[name]).to(x.dtype)
        return {name: x.detach() for name, x in module.state_dict().items()}


def _apart(run: TorchRun, again: TorchRun) -> TorchRun:
    """The second run with how far its gradients are from the first's: a number, not an array."""

    def off(x: Any, y: Any) -> float | None:
        return None if x is None or y is None else noise(x, y)

    pairs = zip(run.input_grads, again.input_grads, strict=True)
    return dataclasses.replace(
        again,
        grads={name: off(x, again.grads[name]) for name, x in run.grads.items()},
        input_grads=[off(x, y) for x, y in pairs],
    )


def made_optimizer(factory: Any, module: nn.Module) -> Any:
    """The user's optimizer over the parameters of the copy."""
    try:
        found = factory(list(module.parameters()))
    except (TypeError, AttributeError, ValueError) as error:
        try:
            found = factory(module)
        except Exception:
            raise ProofError(
                f"optimizer=: the torch factory raised {type(error).__name__}: {error}. It is "
                "called with the list of parameters, e.g. lambda p: torch.optim.SGD(p, lr=0.1)"
            ) from error
    if not hasattr(found, "step") or not hasattr(found, "zero_grad"):
        raise ProofError(f"optimizer=: the torch factory gave {type(found).__name__}, no optimizer")
    return found


def _check_module(module: Any) -> None:
    """What must hold of the torch module before it runs."""
    if not isinstance(module, nn.Module):
        raise ProofError(f"the first argument is {type(module).__name__}, not a torch.nn.Module")
    for name, x in [*module.named_parameters(), *module.named_buffers()]:
        bad = int((~torch.isfinite(x)).sum()) if x.is_floating_point() else 0
        if bad and isinstance(x, nn.Parameter):
            raise ProofError(
                f"the weights are not finite: {name!r} of shape {tuple(x.shape)} has {bad} NaN or "
                "infinities"
            )


def _check_run(module: nn.Module, inputs: Any, pick: Any, loss: Any) -> dict[str, np.ndarray]:
    """The outputs: torch runs, and runs the same way twice."""
    state = copy.deepcopy(module.state_dict())
    runs = []
    for number in range(2):
        try:
            runs.append(torch_run.run(module, inputs, pick, loss, watch=False, salt=number))
        except Exception as error:
            arrays = jax_program.flat(inputs)[1]
            kinds = ", ".join(f"{np.dtype(x.dtype).name}{list(x.shape)}" for x in arrays)
            raise ProofError(
                f"torch: {type(module).__name__} called with {len(arrays)} inputs "
                f"({kinds}) raised {type(error).__name__}: {error}"
            ) from error
        module.load_state_dict(state)
    one, two = runs
    same = all(np.array_equal(one.outputs[k], two.outputs[k], equal_nan=True) for k in one.outputs)
    if not same:
        on = [
            name
            for name, part in module.named_modules()
            if part.training and "dropout" in type(part).__name__.lower() and getattr(part, "p", 1)
        ]
        named = f": {', '.join(on[:4])} drop values in train mode" if on else ""
        raise ProofError(
            f"the torch module is not deterministic{named}. Call module.eval(), or make what is "
            "random an input of both sides"
        )
    if not one.outputs:
        raise ProofError("the torch module gives no tensor; pick one with outputs=(torch_pick, ..)")
    if not any(np.issubdtype(x.dtype, np.inexact) for x in one.outputs.values()):
        kinds = ", ".join(sorted({str(x.dtype) for x in one.outputs.values()}))
        raise ProofError(
            f"the outputs hold no floating values ({kinds}), so nothing has a gradient; pick the "
            "logits, not the labels, with outputs=(torch_pick, jax_pick)"
        )
    for name, x in one.outputs.items():
        if np.issubdtype(x.dtype, np.inexact) and np.isnan(x).all() and x.size:
            raise ProofError(f"torch's output {name!r} is NaN throughout: nothing can be compared")
    return one.outputs
