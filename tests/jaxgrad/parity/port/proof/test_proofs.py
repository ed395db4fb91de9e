"""A port is proved in every mode that torch distinguishes, with its buffers and its keys."""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof import proofs
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.prove.report import Report


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x) * (2.0 if self.training else 0.5)


class Dropouts(Scaled):
    def forward(self, x):
        x = self.linear(x)
        return tf.dropout(x, 0.5, self.training) + 2 * tf.dropout(x, 0.5, self.training)


def changed(ported: Ported, old: str, new: str, **fields) -> Ported:
    assert old in ported.source, ported.source
    return dataclasses.replace(ported, source=ported.source.replace(old, new), **fields)


def test_a_port_without_modes_is_proved_in_each_if_torch_has_two():
    """A port that is right in train mode alone is not proved."""
    module = Scaled()
    right = port(module, (X,), prove=False)
    wrong = changed(right, ", *, training=False", "", takes_mode=False)
    wrong = changed(wrong, "2.0 if training else 0.5", "2.0")

    assert set(proved(right, module, (X,), (), 0).reports) == {"train", "eval"}
    with pytest.raises(PortError, match="is not proved"):
        proved(wrong, module, (X,), (), 0)


def test_a_port_of_one_mode_is_proved_in_that_mode():
    """A module without modes is proved once, and so is a port for one mode."""
    module = nn.Linear(3, 2)
    once = port(module, (X,))
    module = Scaled().eval()
    other = changed(port(module, (X,), prove=False), "2.0 if training else 0.5", "0.5")
    other = changed(other, ", *, training=False", "", takes_mode=False, modes=(False,))
    assert set(once.reports) == {"train"}
    assert set(proved(other, module, (X,), (), 0).reports) == {"eval"}


def test_a_port_that_loses_a_buffer_is_not_proved():
    """torch changes the running mean in train mode, so the port has to return it."""
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    wrong = changed(port(module, (X,), prove=False), "return x, p", "return x", has_state=False)

    with pytest.raises(PortError, match=r"changes the buffer '1.running_mean'"):
        proved(wrong, module, (X,), (), 0)


def test_two_draws_from_one_key_are_not_proved():
    """`prove` gives both programs torch's masks, so the keys are compared without it."""
    module = Dropouts()
    right = port(module, (X,), prove=False)
    wrong = changed(right, "key=dropout_rng_2", "key=dropout_rng_1")

    with pytest.raises(PortError, match="the same random key"):
        proved(wrong, module, (X,), (), 0)
    assert proved(right, module, (X,), (), 0).reports


def test_objects_that_are_not_tensors_let_both_modes_be_proved():
    """What torch returns beside tensors is not compared, so that the modes may differ in it."""

    class Named(Scaled):
        def forward(self, x):
            return {"out": self.linear(x), "note": "a"}

    assert set(port(Named(), (X,)).reports) == {"train", "eval"}


class Blurred(nn.Module):
    """A loss without weights, whose filter is a plain attribute."""

    def __init__(self):
        super().__init__()
        self.window = torch.arange(9.0).reshape(1, 1, 3, 3) / 36

    def forward(self, a, b):
        blurred = tf.conv2d(a, self.window, padding=1)
        return (blurred - tf.conv2d(b, self.window, padding=1)).square().mean()


def test_a_module_without_weights_is_proved_with_its_constants():
    """The proof is in float64; params of an empty state_dict keep the dtype of the constants."""
    images = np.random.default_rng(0).standard_normal((2, 2, 1, 5, 5)).astype(np.float32)

    ported = port(Blurred(), tuple(images))

    assert ported.report is not None and ported.report.verdict == "pass"
    assert ported.params({})["window"].dtype == np.float32


class Labels(Scaled):
    def forward(self, x):
        return self.linear(x).argmax(-1)


def test_a_module_of_integer_outputs_has_nothing_to_prove():
    with pytest.raises(PortError, match="the outputs of Labels are not floating, so that it has"):
        port(Labels(), (X,))
    assert "argmax" in port(Labels(), (X,), prove=False).source


@dataclasses.dataclass(frozen=True)
class Scores:
    """Outputs that are fields of an object."""

    logits: torch.Tensor


class Scored(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return Scores(self.fc(x))


def test_outputs_in_an_object_are_proved():
    """A tensor in an object is an output, although the object is none."""
    report = port(Scored(), (X,)).report
    assert report is not None and report.verdict == "pass"


def test_an_undecided_proof_is_not_a_proof(monkeypatch):
    """If rounding alone causes too large a difference, the port is not accepted."""
    monkeypatch.setattr(proofs, "prove", lambda *_, **__: Report("inconclusive", {}))

    with pytest.raises(PortError, match="the port of Linear is not proved"):
        port(nn.Linear(3, 2), (X,))
