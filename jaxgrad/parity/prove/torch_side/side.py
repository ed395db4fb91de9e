"""torch's side of a proof: a module that runs here, or what a dump holds of one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.jax_side.port import Draw
from jaxgrad.parity.prove.torch_side.values import TorchRun


State = Mapping[str, np.ndarray]


@dataclasses.dataclass
class Drawn:
    """torch's run on one draw, and its runs with every number moved by an ULP."""

    draw: Draw
    run: TorchRun
    again: list[TorchRun]


@dataclasses.dataclass
class Steps:
    """Weights after some steps of an optimizer."""

    states: dict[int, State]  # step -> the parameters
    moments: dict[str, dict[str, np.ndarray]]  # parameter -> name in the optimizer's state
    again: list[dict[int, State]]  # with every number moved by an ULP


def marks(steps: int) -> tuple[int, ...]:
    """After which of the steps the weights are compared: each takes as much as the model."""
    return tuple(sorted({1, steps}))


class TorchSide(Protocol):
    """What a proof asks of torch."""

    module: Any  # the float64 copy, None in a dump: what needs it is left out
    seed: int
    has_loss: bool
    inputs: Any
    state: State  # parameters and buffers; tied ones under their first name
    flags: Mapping[str, bool]  # parameter -> requires_grad
    notes: list[str]
    versions: Mapping[str, str]

    def drawn(self, mapped: Sequence[str]) -> list[Drawn]:
        """Both draws; `mapped` are the weights that the port takes from its params."""
        ...

    def run(self, draw: Draw, **options: Any) -> TorchRun:
        """torch on a draw, forward and back."""
        ...

    def single(self, draw: Draw) -> list[TorchRun]:
        """torch in float32, and how far rounding moves it there."""
        ...

    def steps(self, factory: Any, steps: int, *, reruns: int = 2) -> Steps:
        """An optimizer on the first draw."""
        ...

    def state_dict(self, values: State) -> Mapping[str, Any]:
        """These values as the module's state_dict, for the user's converter."""
        ...


def torch_side(module: Any, inputs: Any, pick: Any, loss: Any, seed: int) -> TorchSide:
    """The side that was given: a module, or the path of a dump."""
    if isinstance(module, str | os.PathLike):
        from jaxgrad.parity.prove.torch_side.dump import Dumped

        if inputs is not None:
            raise ProofError(f"the inputs are those in the dump {module}: leave inputs= out")
        if pick is not None:
            raise ProofError(
                "torch's outputs were picked when the dump was written: give "
                "dump(..., outputs=torch_pick), and prove(..., outputs=(None, jax_pick))"
            )
        return Dumped(module)
    try:
        from jaxgrad.parity.prove.torch_side.live import Live
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            "prove runs the torch module, and torch is not installed; run: pip install torch. Or "
            "write a dump where it is (jaxgrad.parity.dump) and give its path",
            name="torch",
        ) from error
    return Live(module, inputs, pick, loss, seed)
