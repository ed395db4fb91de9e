"""Operators that draw random numbers."""

import functools
from typing import Any

import jax
import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.prove.prove import prove


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.scale = nn.Buffer(torch.linspace(0, 1, 10))

    def forward(self, x):
        step = torch.randint(2, 10, (x.shape[0],), device=x.device).long()
        return self.fc(x) * self.scale[step][:, None]


def test_integers_are_drawn_and_proved_with_those_of_torch():
    ported = port(Noisy(), (X,))
    assert "jax.random.randint(rng, (x.shape[0],), 2, 10)" in ported.source
    assert ported.report is not None and ported.report.verdict == "pass"


def test_other_bounds_are_not_proved():
    module = Noisy()
    ported = port(module, (X,), prove=False)
    space: dict[str, Any] = {}
    exec(ported.source.replace("2, 10)", "3, 10)"), space)
    params = ported.params(module.state_dict())
    fn = functools.partial(space[ported.name], rng=jax.random.key(0))
    assert prove(module, fn, params, inputs=(X,), weights=ported.params).verdict == "fail"


class Jitter(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x * torch.empty_like(x).uniform_(0.5, 1.5))


def test_numbers_that_fill_an_array_like_another_take_its_shape():
    """No empty array is made for its shape and dtype."""
    ported = port(Jitter(), (X,))
    assert "jax.random.uniform(rng, x.shape, x.dtype, minval=0.5, maxval=1.5)" in ported.source
    assert "empty_like" not in ported.source
