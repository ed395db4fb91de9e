"""A mask that depends on sizes alone is an index, which numpy makes while JAX traces."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
LARGER = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)


class Contrast(nn.Module):
    """Similarities of each row with the other rows, as in a contrastive loss."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        own = torch.eye(h.shape[0], dtype=torch.bool)
        scores = h @ h.T
        others = scores[~own].view(h.shape[0], -1)
        return torch.logsumexp(others, dim=1) - scores[own]


class Upper(Contrast):
    """The mask is computed from floats, as an index after a slice."""

    def forward(self, x):
        h = self.fc(x)
        scores = h @ h.T
        upper = torch.ones_like(scores)
        upper = upper.triu(1)
        return scores[None][:, upper > 0]


class OfData(Contrast):
    def forward(self, x):
        h = self.fc(x)
        own = torch.eye(h.shape[0], dtype=torch.bool)
        return h[(own & (x[:, :1] > 0)).any(1)]


class OfHelper(Contrast):
    def forward(self, x):
        h = self.fc(x)
        own = torch.zeros(h.shape[0], h.shape[0], dtype=torch.bool)
        own[0] = True
        return (h @ h.T)[own]


def test_a_mask_of_sizes_is_an_index_at_each_batch_size():
    ported = port(Contrast(), (X,), also=[(LARGER,)])
    assert ported.report is not None and ported.report.verdict == "pass"
    assert "own = np.eye(h.shape[0], dtype=bool)" in ported.source
    assert "[~own]" in ported.source


def test_a_mask_of_floats_is_computed_in_numpy():
    ported = port(Upper(), (X,), also=[(LARGER,)])
    assert ported.report is not None and ported.report.verdict == "pass"


def test_a_mask_of_data_is_refused():
    with pytest.raises(PortError, match="a mask as an index makes a size that depends on values"):
        source(OfData(), X)


def test_a_mask_that_numpy_cannot_make_is_refused():
    with pytest.raises(PortError, match="depends on sizes alone, but it is not made by operators"):
        source(OfHelper(), X)
