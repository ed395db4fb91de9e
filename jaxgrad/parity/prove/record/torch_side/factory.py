"""Open the torch model of a proof: a module to run here, or the path of a dump."""

from __future__ import annotations

import os
from typing import Any

from jaxgrad.parity.prove.checks import arrays_per_side, as_arrays
from jaxgrad.parity.prove.record.sides import PerSide, as_pair
from jaxgrad.parity.prove.record.torch_side.dump import Dumped
from jaxgrad.parity.prove.record.torch_side.side import TorchSide
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.users import ProofError


def open_torch_side(request: Request) -> TorchSide:
    """Return the torch model that the request names."""
    if isinstance(request.module, str | os.PathLike):
        dumped = Dumped(request.module)
        if isinstance(request.inputs, PerSide) and request.inputs.torch is None:
            dumped.jax_inputs = as_arrays(request.inputs.jax)
        elif request.inputs is not None:
            raise ProofError(
                f"the dump {request.module} already contains the inputs: leave inputs= out, or "
                "pass inputs=PerSide(jax=...) where the port's differ"
            )
        if request.outputs[0] is not None:
            raise ProofError(
                "torch's outputs are selected when the dump is written: use "
                "dump(..., outputs=torch_pick) and prove(..., outputs=(None, jax_pick))"
            )
        return dumped
    try:
        from jaxgrad.parity.prove.record.torch_side.live import Live
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            "prove runs the torch module, and torch is not installed; run: pip install torch. Or "
            "write a dump where torch is installed (jaxgrad.parity.dump) and pass its path",
            name="torch",
        ) from error

    def live(inputs: Any) -> TorchSide:
        return Live(request.module, inputs, request.outputs[0], request.loss[0], request.seed)

    pair = as_pair(request.inputs)
    if pair is None:
        return live(request.inputs)
    if isinstance(request.inputs, PerSide):
        return _for_both(live(pair.torch), pair)
    try:
        return live(request.inputs)
    except ProofError as error:
        try:
            return _for_both(live(pair.torch), pair)
        except ProofError:
            raise error from None


def _for_both(side: TorchSide, pair: PerSide) -> TorchSide:
    """Add the port's inputs to a torch model that has torch's."""
    side.jax_inputs = arrays_per_side(pair).jax
    return side
