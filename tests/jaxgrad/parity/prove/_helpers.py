"""A small torch module, its port, and a file of pairs, shared by several tests."""

import os
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import Surface, prove
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.surfaces import updates
from parity_tests.case import identity


PAIRS = textwrap.dedent(
    """
    import numpy as np
    import torch

    from jaxgrad.parity import Report, Surface

    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    params = {name: x.detach().numpy() for name, x in layer.state_dict().items()}
    inputs = (np.linspace(-1.0, 1.0, 12).reshape(4, 3),)

    def port(params, x):
        return x @ params["weight"].T + params["bias"]

    def wrong(params, x):
        return x @ params["weight"].T - params["bias"]

    def pair_good():
        return layer, port, params, inputs

    def pair_wrong():
        return dict(module=layer, fn=wrong, params=params, inputs=inputs)

    def noisy():
        return Report("inconclusive", {"forward": Surface("forward", "inconclusive", "")})

    def raises():
        return 1 / 0

    def number():
        return 3

    def misspelt():
        return dict(module=layer, fn=port, parms=params)
    """
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.norm(torch.tanh(self.inner(x))) + x)


def port(p: Any, x: Any, *, eps: float = 1e-5, transpose: bool = True, stop: Any = identity) -> Any:
    w = p["inner.weight"]
    h = jnp.tanh(x @ (w.T if transpose else w) + p["inner.bias"])
    mean, var = jnp.mean(h, -1, keepdims=True), jnp.var(h, -1, keepdims=True)
    h = (h - mean) * lax.rsqrt(var + eps) * p["norm.weight"] + p["norm.bias"]
    return (stop(h) + x) @ p["head.weight"].T + p["head.bias"]


def proved(arguments: dict[str, Any], **changes: Any) -> Any:  # Any: tests read `first` unchecked
    """Prove a port with some arguments changed, and return the report."""
    changed = arguments | changes
    positional = [changed.pop(name) for name in ("module", "fn", "params", "inputs")]
    return prove(*positional, **changed)


def updated(evidence: Evidence, optimizer: Any, steps: int = 1) -> Surface:
    """Judge the updates alone."""
    with adapters.float64_on_cpu():
        return updates.surface(
            evidence, Request(None, None, optimizer=optimizer, steps=steps)
        ).surface


def arrays(module: nn.Module) -> dict[str, np.ndarray]:
    """Return the state of a module as arrays."""
    return {name: x.detach().numpy() for name, x in module.state_dict().items()}


def draw(*shape: int) -> np.ndarray:
    """Draw a standard normal array in float32."""
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process."""
    root = pathlib.Path(__file__).parents[4]
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
