"""What torch does in each mode."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from jaxgrad.parity.port.proof.mode_dependence import depends_on_mode, observed
from jaxgrad.parity.port.source.refusals import PortError


class Checkpointed(nn.Module):
    """A checkpoint of the kind that `torch.autograd.grad` refuses."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(4, 4), nn.Dropout(p))

    def forward(self, x):
        return checkpoint(self.layer, self.layer(x), use_reentrant=True)


@pytest.mark.parametrize(("p", "expected"), [(0.0, False), (0.5, True)])
def test_a_checkpoint_depends_on_the_mode_if_its_function_does(p: float, expected: bool) -> None:
    module, inputs = Checkpointed(p), (torch.ones(2, 4),)
    module.layer[0].weight.grad = kept = torch.ones(4, 4)
    train, evaluated = observed(module, inputs, True), observed(module, inputs, False)
    assert depends_on_mode(train, evaluated) == expected
    assert module.layer[0].weight.grad is kept  # the user's own gradients stay


class Overwrites(nn.Module):
    """An in-place addition to a value that the gradient of `exp` needs."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x).exp().add_(1)


def test_a_module_that_torch_cannot_differentiate_is_refused() -> None:
    words = "torch raises in the backward pass of Overwrites on the example.*inplace operation"
    with pytest.raises(PortError, match=words):
        observed(Overwrites(), (torch.ones(2, 4),), True)
