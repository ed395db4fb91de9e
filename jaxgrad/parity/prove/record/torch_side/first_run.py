"""Check that the torch module can be run, and that its runs are deterministic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.torch_side import run as torch_run
from jaxgrad.parity.prove.record.torch_side.values import TorchRun
from jaxgrad.parity.prove.request import Function
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.users import ProofError, described, needed_inputs, not_a_module


def check_module(module: Any) -> None:
    """Check that the first argument is a module with finite parameters."""
    if not isinstance(module, nn.Module):
        raise ProofError(not_a_module(module, "prove(module, fn, params, inputs)"))
    for name, x in [*module.named_parameters(), *module.named_buffers()]:
        if nn.parameter.is_lazy(x):
            raise ProofError(
                f"the module is lazy: {name!r} has no shape yet; call the module once first"
            )
        if x.is_meta:
            raise ProofError(f"{name!r} is on the meta device and has no values: load them first")
        if x.layout != torch.strided:
            raise ProofError(
                f"{name!r} is a sparse tensor ({x.layout}), which prove does not read: make it "
                "dense with to_dense(), or delete it if the gradients do not need it"
            )
        bad = int((~torch.isfinite(x)).sum()) if x.is_floating_point() else 0
        if bad and isinstance(x, nn.Parameter):
            raise ProofError(
                f"the weights are not finite: {name!r} of shape {tuple(x.shape)} contains {bad} "
                "NaN or infinities"
            )


_CHANGED = (
    "leaf Variable that requires grad is being used in an in-place operation"  # torch's words
)


def _no_array(inputs: Any) -> str:
    """Say what inputs are that contain no array."""
    named = inputs.items() if isinstance(inputs, Mapping) else enumerate(inputs)
    given = [f"inputs[{key!r}] is a {type(x).__name__}" for key, x in named]
    return f"no array ({', '.join(given) or 'inputs= is empty'}; pass numpy arrays)"


class FirstRun(NamedTuple):
    """What the first run of a module shows."""

    outputs: dict[str, np.ndarray]
    draws: bool  # whether the module draws random numbers
    attaches: bool  # whether its inputs may require gradients; else it changes them in place


def check_run(
    module: nn.Module, inputs: Any, pick: Function, loss: Function, reset: Callable[[], None]
) -> FirstRun:
    """Run the module twice with the same random numbers, and check that both runs agree."""
    runs: list[TorchRun] = []
    attaches = True

    def run(number: int) -> TorchRun:
        noise = runs[0].noise if runs else ()
        options: dict[str, Any] = dict(watch=False, salt=number, noise=noise, attach=attaches)
        call = torch_run.again if number else torch_run.run
        return call(module, inputs, pick, loss, **options)

    for number in range(2):
        try:
            try:
                runs.append(run(number))
            except RuntimeError as error:
                if not attaches or _CHANGED not in str(error):
                    raise
                attaches = False
                reset()
                runs.append(run(number))
        except ProofError:
            raise
        except Exception as error:
            arrays = jax_program.flat(inputs)[1]
            listed = ", ".join(f"{np.dtype(x.dtype).name}{list(x.shape)}" for x in arrays)
            called = f"{type(module).__name__} called with "
            called += f"{counted(len(arrays), 'input')} ({listed})" if arrays else _no_array(inputs)
            needed = needed_inputs(module.forward, inputs)
            raise ProofError(f"torch: {called} raised {described(error)}{needed}") from error
        reset()
    outputs, again = (run.outputs for run in runs)
    if not all(np.array_equal(x, again[k], equal_nan=True) for k, x in outputs.items()):
        raise ProofError(
            "the torch module is not deterministic: two runs with the same inputs and the same "
            "random numbers of torch differ. Pass what it draws elsewhere as inputs to both models"
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
    return FirstRun(outputs, bool(runs[0].noise), attaches)
