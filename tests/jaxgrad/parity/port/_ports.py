"""Compare the gradients of a written port with torch's, faster than a proof."""

from typing import Any

import jax
import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.port import port


def source(module: nn.Module, *inputs: Any) -> str:
    """Return the source of a port that is not proved."""
    return port(module, inputs, prove=False).source


def agrees(module: nn.Module, *inputs: Any, without: str = "", instead: str = "") -> bool:
    """Return whether a port has torch's gradients, with a piece of its source replaced."""
    ported = port(module, inputs, prove=False)
    assert without in ported.source, ported.source
    space: dict[str, Any] = {}
    exec(ported.source.replace(without, instead) if without else ported.source, space)
    params = ported.params(module.state_dict())
    grad = jax.grad(lambda p: (space[ported.name](p, *inputs) ** 2).sum())
    try:
        grads = jax.jit(grad)(params)  # compiling each operation on its own takes longer
    except TypeError:  # the port reads values, as a mixture of experts may
        grads = grad(params)
    module.zero_grad()
    (module(*map(torch.tensor, inputs)) ** 2).sum().backward()
    zeros = {n: torch.zeros_like(x) for n, x in module.state_dict().items()}
    known = {n: p.grad for n, p in module.named_parameters() if p.grad is not None}
    expected = ported.params(zeros | known)
    pairs = zip(jax.tree.leaves(grads), jax.tree.leaves(expected), strict=True)
    return all(np.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs)


def written(module: nn.Module, *inputs: Any, without: str = "", instead: str = "") -> bool:
    """Write what `agrees` compares, and return what the test expects of it."""
    del instead
    port(module, inputs, prove=False)
    return not without


def proves(module: nn.Module, *inputs: Any, style: str = "functions") -> bool:
    """Return whether a port is written and proved."""
    report = port(module, inputs, style=style).report
    return report is not None and report.verdict == "pass"
