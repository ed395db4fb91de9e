"""Swapped weights are named, whether the params or the code of the port swap them."""

from typing import Any

import jax.numpy as jnp
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))


def port(p: Any, x: Any, scale: float = 1.0) -> Any:
    for i in (0, 2, 4):
        x = scale * x @ p[f"{i}.weight"].T + p[f"{i}.bias"]
        x = x if i == 4 else jnp.tanh(x)
    return x


@pytest.mark.parametrize("names", [("weight",), ("weight", "bias")], ids=str)
def test_swapped_params_are_named(names):
    """A port whose params hold two tensors, or two modules, the wrong way round fails there."""
    module = net()
    params = arrays(module)
    for name in names:
        a, b = f"0.{name}", f"2.{name}"
        params |= {a: params[b], b: params[a]}
    first = prove(module, port, params, (draw(3, 4),)).first

    assert first is not None and first.torch == first.jax and first.jax.startswith("0.")
    assert "leaf '0.weight' holds torch's '2.weight', but the port needs '0.weight'" in first.cause
    assert "every output agrees with torch's" in first.cause


def test_a_tensor_that_the_code_swaps_is_named_at_its_line():
    """A port that reads two weights in the wrong order fails at the first wrong call."""
    module = net()

    def wrong(p: Any, x: Any) -> Any:
        return port(p | {"0.weight": p["2.weight"], "2.weight": p["0.weight"]}, x)

    first = prove(module, wrong, arrays(module), (draw(3, 4),)).first

    assert first is not None and "test_swapped_weights.py" in first.jax
    text = "leaf '2.weight' as torch uses '0.weight'; the code or the params are wrong"
    assert f"the port uses leaf '0.weight' as torch uses '2.weight'; {text}" in first.cause


def test_another_mistake_is_not_a_swap():
    """A wrong factor is not explained by an exchange, although weights of one shape exist."""
    module = net()
    report = prove(module, lambda p, x: port(p, x, scale=1.1), arrays(module), (draw(3, 4),))

    assert report.verdict == "fail" and report.first is not None
    assert "leaf" not in report.first.cause
    assert not any("contradict" in note for note in report.notes)
