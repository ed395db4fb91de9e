"""Packed sequences are ported as padded ones with a mask."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


LENGTHS = np.array([3, 5, 1, 2])


def sequences(batch_first: bool) -> np.ndarray:
    shape = (4, 5, 3) if batch_first else (5, 4, 3)
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


class Packed(nn.Module):
    def __init__(self, kind: Any = nn.LSTM, batch_first: bool = True, **options: Any) -> None:
        super().__init__()
        self.batch_first, self.padding = batch_first, options.pop("padding", {})
        self.rnn = kind(3, 4, batch_first=batch_first, **options)
        self.out = nn.Linear(8 if options.get("bidirectional") else 4, 2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths.cpu(), self.batch_first, enforce_sorted=False)
        packed, state = self.rnn(packed)
        out, lengths = pad_packed_sequence(packed, self.batch_first, **self.padding)
        return self.out(out), state, lengths


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (nn.LSTM, {"num_layers": 2}),
        (nn.GRU, {"batch_first": False, "bidirectional": True}),
        (nn.RNN, {"padding": {"padding_value": -1.0, "total_length": 5}}),
    ],
)
def test_a_port_masks_what_is_after_the_end(kind: Any, options: dict[str, Any]) -> None:
    """The outputs, the last states and the gradients are those of torch's packed sequences."""
    module = Packed(kind, **options)
    x = sequences(module.batch_first)
    ported = port(module, (x, LENGTHS))
    assert ported.report is not None and ported.report.verdict == "pass"
    assumed = [a.text for a in ported.assumptions]
    assert assumed == ([] if module.padding else ["the longest sequence has all 5 steps"])


def test_every_mask_is_needed():
    """Without the mask of the steps or that of the outputs, the values are not torch's."""
    module, x = Packed(), sequences(True)
    ported = port(module, (x, LENGTHS), prove=False)
    out, state, _ = module(torch.tensor(x), torch.tensor(LENGTHS))
    for mask in ("jnp.where(exists[:, None], n, s)", ""):
        source = ported.source
        assert mask in source
        space: dict[str, Any] = {}
        exec(source.replace(mask, "n") if mask else source, space)
        found, last, _ = space[ported.name](ported.params(module.state_dict()), x, LENGTHS)
        assert np.allclose(found, out.detach(), atol=1e-5)  # only what exists
        assert np.allclose(last[0], state[0].detach(), atol=1e-5) == (mask == "")
    (line,) = [text for text in ported.source.splitlines() if "jnp.where(jnp.arange(" in text]
    space = {}
    exec(ported.source.replace(line, "    out = packed"), space)
    found, _, _ = space[ported.name](ported.params(module.state_dict()), x, LENGTHS)
    assert not np.allclose(found, out.detach(), atol=1e-5)


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, batch_first=True)

    def packed(self, x, lengths):
        return pack_padded_sequence(x, lengths.cpu(), True, enforce_sorted=False)

    def forward(self, x, lengths):
        out, _ = self.rnn(self.packed(x, lengths))
        return pad_packed_sequence(out, True)[0]


@pytest.mark.parametrize(
    ("module", "style", "lengths", "error"),
    [
        (Packed(), "functions", [3, 4, 1, 2], "as many steps as the longest sequence has, which"),
        (Packed(), "nnx", LENGTHS, 'a packed sequence in LSTM for style="nnx"; pass a padded one'),
        (
            Packed(num_layers=2, dropout=0.5),
            "functions",
            LENGTHS,
            "with dropout between its layers",
        ),
        (Functions(), "functions", LENGTHS, "a packed sequence that another function has made"),
    ],
)
def test_what_has_no_mask_is_refused(module: Any, style: Any, lengths: Any, error: str) -> None:
    with pytest.raises(PortError, match=error):
        port(module, (sequences(True), np.array(lengths)), style=style, prove=False)
