"""The params of a module are passed together where a call takes all of them."""

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as tf

from jaxgrad.parity.port.port import port


X = np.ones((1, 2, 4), np.float32)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(2, 2, 3), nn.Conv1d(2, 2, 1, bias=False)

    def forward(self, x):
        x = self.b(self.a(x))
        return tf.conv1d(x, self.a.weight[:, :, :1]) + tf.conv1d(tf.pad(x, (1, 1)), self.a.weight)


def test_a_call_that_takes_every_tensor_of_a_module_takes_its_params():
    """With and without a bias; a call that leaves the bias out names the weight."""
    text = port(Convolutions(), (X,), prove=False).source
    assert 'F.conv1d(F.conv1d(x, **p["a"]), **p["b"])' in text
    assert 'F.conv1d(F.pad(x, (1, 1)), p["a"]["weight"])' in text


class Tied(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=bias)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


def test_a_tied_head_reads_the_weight_of_the_embedding():
    """A head with a bias of its own gets the weight in its place."""
    ids = torch.tensor([[1, 2]])
    text = port(Tied(False), (ids,), prove=False).source
    assert 'F.linear(F.embedding(ids, **p["embed"]), p["embed"]["weight"])  # tied' in text
    text = port(Tied(True), (ids,), prove=False).source
    assert 'p["head"]["weight"] = p["embed"]["weight"]  # tied' in text


class Halves(nn.Module):
    """One layer whose weight and bias are in two modules."""

    a: Any
    b: Any

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Module(), nn.Module()
        self.a.weight, self.b.bias = nn.Parameter(torch.ones(4, 4)), nn.Parameter(torch.ones(4))

    def forward(self, x):
        return tf.linear(x, self.a.weight, self.b.bias)


def test_a_call_may_take_the_params_of_several_modules():
    """Neither module is lost where train and eval mode are merged."""
    ported = port(Halves(), (X,))
    assert 'return F.linear(x, **p["a"], **p["b"])' in ported.source
    assert ported.report is not None and ported.report.verdict == "pass"
