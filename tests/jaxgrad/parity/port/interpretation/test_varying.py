"""The calls of `chunk` on an axis of any size are told from those on an axis of the weights."""

import warnings

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.interpretation.varying import varying_chunks


class Chunks(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)

    def forward(self, x):
        a, b = self.fc(x).chunk(2, dim=-1)
        c, d = torch.chunk(a * b, 2)
        return c + d


def test_the_lines_of_the_axes_whose_sizes_change():
    """torch refuses some other sizes, here an odd batch, after the call of `chunk`."""
    first = Chunks.forward.__code__.co_firstlineno

    lines = varying_chunks(Chunks(), (np.ones((4, 4), np.float32),))

    assert lines == {(__file__, first + 2)}


def test_a_module_without_chunks_runs_once():
    calls = []

    class Counts(nn.Module):
        def forward(self, x):
            calls.append(x.shape)
            return x * 2

    assert not varying_chunks(Counts(), (np.ones((4, 4), np.float32),))
    assert calls == [(4, 4)]


def test_a_size_that_the_user_did_not_give_warns_of_nothing(recwarn):
    """The user knows of no batch of another size."""

    class Warns(Chunks):
        def forward(self, x):
            warnings.warn(f"a batch of {len(x)}", stacklevel=1)
            return super().forward(x)

    assert varying_chunks(Warns(), (np.ones((2, 4), np.float32),))
    assert not recwarn.list
