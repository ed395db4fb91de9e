"""Both arms of a branch on a size are written if inputs of another size prove the other arm.

The same holds for the sides of `a if size > 1 else b`.
"""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import agrees, source


RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 5, 4)).astype(np.float32)
POSITIONS = RNG.standard_normal((1, 5, 4)).astype(np.float32)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)


class Expanded(Layer):
    def forward(self, x, positions):
        # one row for all samples
        if positions.shape[0] != x.shape[0]:
            # a view
            positions = positions.expand(x.shape[0], -1, -1)
        return self.linear(x) + torch.cat([positions, positions], 0)[: len(x)]


class Padded(Layer):
    def forward(self, x):
        y = self.linear(x)
        if y.shape[1] % 4:
            pad = 4 - y.shape[1] % 4
            y = nn.functional.pad(y, (0, 0, 0, pad))
        else:
            y = y * 2
            pad = 0
        return y.reshape(len(y), -1, 4, 4).sum(2) * (1 + pad)


class Unless(Layer):
    def forward(self, x):
        if x.shape[0] > 1:
            scale = 1.0
        else:
            scale = x.shape[1] / 2
        return self.linear(x) * scale


class Chosen(Layer):
    def forward(self, x, positions):
        # one row for all samples
        rows = positions if positions.shape[0] == x.shape[0] else positions.expand(len(x), -1, -1)
        return self.linear(x) + torch.cat([rows, rows], 0)[: len(x)]


class Factor(Layer):
    def forward(self, x):
        y = self.linear(x) * (x.shape[1] / 2 if x.shape[0] > 1 else 3.0)
        return y.sum(1) if len(y) > 1 else y.mean(1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("module", "inputs", "line"),
    [
        (Expanded, (X, POSITIONS), "if positions.shape[0] != x.shape[0]:"),
        (Padded, (X,), "if y.shape[1] % 4:"),
        (Unless, (X,), "if x.shape[0] > 1:"),
        (Chosen, (X, POSITIONS), "positions if positions.shape[0] == x.shape[0] else"),
        (Factor, (X,), "return y.sum(axis=1) if y.shape[0] > 1 else y.mean(axis=1)"),
    ],
)
def test_both_arms_are_written_and_proved(module, inputs, line):
    """The port has torch's gradients on either side of the test."""
    torch.manual_seed(0)
    ported = port(module(), inputs)
    assert line in ported.source and "assert" not in ported.source
    assert ported.witnesses and not ported.assumptions
    for given in (inputs, *ported.witnesses):
        model = module()
        expected = model(*map(torch.tensor, given)).detach()
        found = ported.fn(ported.params(model.state_dict()), *given)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_comments_stay_above_the_branch_and_in_its_arm():
    """The text has the comments of the author once."""
    lines = [line.strip() for line in source(Expanded(), X, POSITIONS).splitlines()]
    at = lines.index("if positions.shape[0] != x.shape[0]:")
    assert lines[at - 1] == "# one row for all samples" and lines[at + 1] == "# a view"


def test_an_arm_that_is_wrong_is_not_proved():
    """The witnesses make the proof fail if the other arm is wrong."""
    ported = port(Padded(), (X,))
    (short,) = [w for (w,) in ported.witnesses if w.shape[1] == 4]
    assert agrees(Padded(), short)
    assert not agrees(Padded(), short, without="y = y * 2", instead="y = y * 3")


class Large(Layer):
    def forward(self, x):
        y = self.linear(x)
        if y.shape[0] > 64:
            y = y.tanh()
        return y


class Returns(Layer):
    def forward(self, x):
        if x.shape[0] == 1:
            return self.linear(x)
        return self.linear(x) * 2


class Stores(Layer):
    def forward(self, x):
        y = self.linear(x).clone()
        if x.shape[0] > 1:
            y[0] = 0
        return y


class OtherKinds(Layer):
    def forward(self, x):
        scale = self.linear(x)
        if x.shape[0] > 1:
            scale = scale.sum(-1)
        return scale.mean()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("module", [Large, Returns, Stores, OtherKinds])
def test_other_branches_on_sizes_are_asserted(module):
    """No inputs take the other arm, or the arms do more than to assign arrays of one kind."""
    ported = port(module(), (X,))
    assert "assert" in ported.source and not ported.witnesses


class Unneeded(Layer):
    def forward(self, x):
        length = x.shape[1]
        if x.shape[0] > 1:
            length = x.shape[0]  # noqa: F841 - the case
        return self.linear(x)


def test_a_branch_whose_values_nothing_reads_is_left_out():
    text = source(Unneeded(), X)
    assert "if " not in text and "length" not in text


class OneSideOnly(Layer):
    def forward(self, x):
        y = self.linear(x) if x.shape[1] > 4 else None
        y = self.linear(x) if y is None else y
        if x.shape[0] > 1:
            y = y * 2
        return y


def test_a_side_of_another_kind_is_asserted_and_the_other_branches_stay():
    """A side that is None cannot be written; the branch below it has both arms all the same."""
    ported = port(OneSideOnly(), (X,))
    assert "assert x.shape[1] > 4" in ported.source and "if x.shape[0] > 1:" in ported.source
    assert ported.report is not None and ported.report.verdict == "pass"
