"""A mode without a gradient is proved by its outputs, and the file says so."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.proof.verifying import verify
from jaxgrad.parity.port.source.refusals import PortError


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Quantizer(nn.Module):
    """Codes are learned in train mode, and looked up in eval mode."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(5, 4))

    def forward(self, x):
        places = torch.cdist(x, self.codes).argmin(-1)
        found = self.codes[places]
        return found * 2 if self.training else found.detach() * 3


@pytest.mark.slow
def test_a_mode_without_a_gradient_is_proved_by_its_outputs(tmp_path):
    module = Quantizer()
    ported = port(module, (X,))
    assert set(ported.reports) == {"train", "eval"} and ported.idle == (False,)
    assert "No gradient passes through the module in eval mode" in ported.source
    ported.write(tmp_path / "quantizer.py")
    reports = dict(verify(tmp_path / "quantizer.py", lambda _: None))
    assert {mode: r.verdict for mode, r in reports.items()} == {"train": "pass", "eval": "pass"}
    wrong = dataclasses.replace(ported, source=ported.source.replace("* 3", "* 4"))
    with pytest.raises(PortError, match="not proved in eval mode"):
        proved(wrong, module, (X,), (), 0)


def test_a_module_without_a_gradient_in_either_mode_is_not_proved():
    class Frozen(Quantizer):
        def forward(self, x):
            return super().forward(x).detach()

    with pytest.raises(PortError, match="there is no gradient to compare"):
        port(Frozen(), (X,))
