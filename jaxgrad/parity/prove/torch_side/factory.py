"""Open the torch model of a proof: a module to run here, or the path of a dump."""

from __future__ import annotations

import os

from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.torch_side.dump import Dumped
from jaxgrad.parity.prove.torch_side.side import TorchSide
from jaxgrad.parity.prove.users import ProofError


def open_torch_side(request: Request) -> TorchSide:
    """Return the torch model that the request names."""
    if isinstance(request.module, str | os.PathLike):
        dumped = Dumped(request.module)
        if request.inputs is not None:
            raise ProofError(
                f"the dump {request.module} already contains the inputs: leave inputs= out"
            )
        if request.outputs[0] is not None:
            raise ProofError(
                "torch's outputs are selected when the dump is written: use "
                "dump(..., outputs=torch_pick) and prove(..., outputs=(None, jax_pick))"
            )
        return dumped
    try:
        from jaxgrad.parity.prove.torch_side.live import Live
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            "prove runs the torch module, and torch is not installed; run: pip install torch. Or "
            "write a dump where torch is installed (jaxgrad.parity.dump) and pass its path",
            name="torch",
        ) from error
    pick, loss = request.outputs[0], request.loss[0]
    return Live(request.module, request.inputs, pick, loss, request.seed)
