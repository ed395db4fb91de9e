"""Calls of numpy on sizes stay calls, so that the port holds for other sizes."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        grid = torch.tensor(np.linspace(0, 1, x.shape[0]), dtype=torch.float)
        return self.fc(x) * grid[:, None]


def test_a_numpy_grid_depends_on_the_size():
    assert "np.linspace(0, 1, x.shape[0])" in source(Grid(), X)
    assert "import numpy as np" in source(Grid(), X)
    assert agrees(Grid(), X)


class CausalMask(nn.Module):
    """Hide what comes later, with a mask that numpy makes and changes in place."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        size = x.shape[0]
        shape = [size, size]
        later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
        start = np.ones(size).astype(np.float32)
        start[0] = 0
        np.fill_diagonal(later, 1)
        scores = self.fc(x) @ x.T
        scores = scores.masked_fill(torch.from_numpy(later) == 0, -2.0)
        return scores * torch.from_numpy(start)[:, None]


def test_a_mask_of_numpy_is_made_by_the_same_calls():
    text = source(CausalMask(), X)
    for line in (
        "later = np.triu(np.ones(shape), k=1).astype(np.uint8).T",
        "start[0] = 0",
        "np.fill_diagonal(later, 1)",
    ):
        assert line in text
    assert agrees(CausalMask(), X)
    for line in ("start[0] = 0", "np.fill_diagonal(later, 1)"):
        assert not agrees(CausalMask(), X, without=line, instead="pass")


class Overlapped(nn.Module):
    """The envelope of overlapping windows, which a loop adds up."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.window = np.array([0.5, 1.0])

    def forward(self, x):
        size = x.shape[0]
        total = np.zeros(size, dtype=np.float32)
        for i in range(size):
            total[i : min(size, i + 2)] += self.window[: max(0, size - i)]
        return self.fc(x) * torch.from_numpy(total)[:, None] / total[0].item()


def test_parts_of_an_array_of_numpy_change():
    text = source(Overlapped(), X)
    assert "total[0].item()" in text and "np.array([0.5, 1.0])" in text
    assert proves(Overlapped(), X)


class Counted(nn.Module):
    def forward(self, x):
        top = np.ceil(np.log(x.shape[0])).astype("int").item()
        return x.topk(top, dim=0)[0]


def test_a_number_of_numpy_has_its_methods():
    assert 'np.ceil(np.log(x.shape[0])).astype("int").item()' in source(Counted(), X)


class Weighed(nn.Module):
    def forward(self, x):
        return np.arange(x.shape[0]).clip(0, x.sum())


def test_a_method_of_an_array_takes_no_tensor():
    with pytest.raises(PortError, match=r"`.clip\(\)` of a number that depends on shapes, with a"):
        source(Weighed(), X)


class Identity(nn.Module):
    """A table of the configuration, with more numbers than a literal may have."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 81)

    def forward(self, x):
        eye = torch.from_numpy(np.eye(9).flatten().astype(np.float32))
        return self.fc(x) + eye


def test_a_large_array_of_the_configuration_is_made_by_its_call():
    assert "np.eye(9).flatten().astype(np.float32)" in source(Identity(), X)
    assert agrees(Identity(), X)
