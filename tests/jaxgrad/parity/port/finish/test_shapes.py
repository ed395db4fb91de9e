"""Docstrings say the shapes of arguments and results."""

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.port import port


X = np.ones((5, 3), np.float32)
IDS = np.zeros((5,), np.int64)


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.embed = nn.Linear(3, 4), nn.Linear(4, 3), nn.Embedding(7, 3)

    def forward(self, x, ids):
        h = self.twice(x) + self.twice(self.embed(ids))
        return {"h": h, "same": ids == 2}, self.flat(x), self.flat(h.T)

    def twice(self, x):
        return self.b(torch.tanh(self.a(x)))

    def flat(self, x):
        return torch.sin(x).sum(1)


class Fixed(nn.Module):
    def forward(self, x):
        assert x.shape[0] == 5
        return torch.stack([x[n] for n in range(x.shape[0])]).sin()


def source(module: nn.Module, *inputs: np.ndarray) -> str:
    return port(module, inputs, prove=False).source


def test_a_docstring_has_the_shapes_of_arguments_and_results():
    """N is the first size of the inputs, and integers are marked."""
    text = source(Scores(), X, IDS)
    assert "letters stand for sizes that may change" in text
    assert "x (N, 3), ids (N,) int -> {h (N, 3), same (N,) bool}, (N,), (3,)." in text
    assert "x (N, 3) -> (N, 3)." in text
    assert "_)" not in text and "(_" not in text  # two calls of `flat` have no size in common


def test_sizes_are_numbers_where_the_port_needs_them():
    """A module that unrolls over its first size cannot run with a symbol."""
    assert "x (5, L) -> (5, L)." in source(Fixed(), X)


def test_a_port_that_cannot_run_has_no_shapes():
    """A statement that is to be written by hand raises."""

    class Sorts(nn.Module):
        def forward(self, x):
            return x * len(x.unique())

    text = port(Sorts(), (X,), holes=True, prove=False).source
    assert "Shapes are" not in text and "->" not in text.split("def sorts")[1].split("\n")[1]


class Processor:
    """Attention much as diffusers writes it: an object that gets modules."""

    def __call__(self, attn, out, x):
        return out[0](attn.to_q(x).sin())


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_q, self.processor = nn.Linear(4, 4), Processor()
        self.to_out = nn.ModuleList([nn.Linear(4, 4), nn.Dropout(0.0)])

    def forward(self, x):
        return self.processor(self, self.to_out, x) * 2


def test_params_under_another_name_have_no_shapes():
    text = source(Attention(), np.ones((5, 4), np.float32))
    assert "to_q {" not in text
    assert "def processor(attn, out, x):" in text and "x (N, 4) -> (N, 4)." in text
