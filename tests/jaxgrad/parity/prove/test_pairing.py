"""Constant weights whose names say nothing are paired by what the port computes with them."""

from typing import Any

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import draw


D = 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(D, 1, batch_first=True)

    def forward(self, x):
        return self.attn(x, x, x, need_weights=False)[0]


def attend(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D)) @ v


@pytest.mark.parametrize("cause", ["", "twice"])
def test_zero_biases_are_paired_by_the_values_that_follow(cause):
    """Three zero biases with names in a random order pass; a bias that is added twice fails."""
    torch.manual_seed(0)
    module = Attention()
    state = {name: x.detach().numpy() for name, x in module.attn.state_dict().items()}
    weights = dict(zip(("m0", "m1", "m2"), np.split(state["in_proj_weight"], 3), strict=True))
    params = {**weights, "m3": state["out_proj.weight"]}
    params |= {name: np.zeros(D, np.float32) for name in ("one", "two", "three", "four")}

    def port(p: Any, x: Any) -> Any:
        biases = p["two"], p["four"], p["one"] * (2 if cause else 1)
        q, k, v = (x @ p[f"m{i}"].T + b for i, b in enumerate(biases))
        return attend(q, k, v) @ p["m3"].T + p["three"]

    report = prove(module, port, params, (draw(2, 3, D),))

    assert report.verdict == ("fail" if cause else "pass")
