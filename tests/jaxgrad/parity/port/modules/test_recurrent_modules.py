"""Recurrent modules become scans, for a batch of sequences and for one sequence."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Reader(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = getattr(nn, kind)(4, 5, **options)

    def forward(self, x, start=None):
        return self.rnn(x, start)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_one_sequence_without_a_batch(kind):
    """The state has no batch either, and `batch_first` changes nothing."""
    assert proves(Reader(kind, batch_first=True), X)


@pytest.mark.slow
def test_one_sequence_from_a_given_state_in_both_directions():
    module = Reader("LSTM", num_layers=2, bidirectional=True)
    hidden = torch.randn(4, 5)
    report = port(module, (torch.from_numpy(X), (hidden, hidden.clone()))).report
    assert report is not None and report.verdict == "pass"


def test_a_projection_is_refused():
    with pytest.raises(PortError, match="LSTM with a projection is not ported"):
        source(Reader("LSTM", proj_size=2), X)
