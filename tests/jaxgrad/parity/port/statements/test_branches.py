"""A branch on the value of a tensor is `lax.cond`, even if one arm returns early."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class ReturnsEarly(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        if h.abs().sum() > 50:
            return h * 2
        h = h * h
        return h + 1


def test_the_statements_after_an_early_return_are_the_other_arm():
    assert "lax.cond" in source(ReturnsEarly(), X)
    assert proves(ReturnsEarly(), X) and proves(ReturnsEarly(), X * 100)


class Skips(nn.Module):
    """A loop that leaves out what is zero, as the Lovasz loss does with absent classes."""

    def forward(self, x):
        total = x.sum()
        for n in range(3):
            if x[n].sum() == 0:
                continue
            total = total * x[n].mean()
        return total


class Stops(nn.Module):
    def forward(self, x):
        total = x.sum()
        for n in range(3):
            if x[n].sum() > 100:
                break
            total = total * x[n].mean()
        return total


class Collects(nn.Module):
    def forward(self, x):
        parts = {"sums": [x.sum()]}
        if x.max() > 100:
            parts["sums"].append(x.mean())
        return torch.stack(parts["sums"]).sum()


@pytest.mark.parametrize(
    "module, reason",
    [
        (Skips(), "a `continue` in a branch on the value of a tensor.*torch.where"),
        (Stops(), "a `break` in a branch on the value of a tensor.*torch.where"),
        (Collects(), "a list or dict is changed in one arm of a branch"),
    ],
)
def test_what_an_arm_may_not_do_is_refused(module, reason):
    """Both arms are traced: neither may leave a loop or change a list."""
    with pytest.raises(PortError, match=reason):
        port(module, (X,), prove=False)


class Counts(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.fc, self.step = nn.Linear(4, 4), step
        self.register_buffer("good", torch.zeros(()))
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        return self.step(self, self.fc(x))


def _in_both(self, h):
    if torch.isfinite(h).all():
        h = h * 2
        self.good += 1
        self.total += self.good
    else:
        self.total += h.detach().sum(0)
    return h


def _returns(self, h):
    if h.sum() > 100:
        self.good += 1
        return h * 2
    return h


def _in_a_loop(self, h):
    for _ in range(2):
        if h.sum() > 0:
            self.good += 1
        h = h + 1
    return h


@pytest.mark.parametrize("step", [_in_both, _returns, _in_a_loop])
def test_buffers_that_change_in_an_arm_are_results_of_the_branch(step):
    module = Counts(step)
    ported = port(module, (X,))
    params = ported.params(module.state_dict())

    for x in (X, -X, X * 1000, np.full_like(X, np.inf)):
        _, returned = ported.fn(params, x)
        changed = Counts(step)
        changed.load_state_dict(module.state_dict())
        changed(torch.tensor(x))
        for name in {"good", "total"} & set(returned):
            expected = getattr(changed, name).numpy()
            assert np.allclose(returned[name], expected, equal_nan=True), (name, ported.source)


def test_the_arm_that_is_not_taken_leaves_the_module_as_it_is():
    """The interpretation runs both arms on torch's tensors."""
    module = Counts(_returns)
    text = source(module, X)

    assert 'lambda: (h * 2, p["good"] + 1)' in text, text
    assert float(module.get_buffer("good")) == 0


def test_one_buffer_is_assigned_where_the_branch_is():
    line = 'p["good"] = lax.cond(h.sum() > 0, lambda: p["good"] + 1, lambda: p["good"])'
    assert line in source(Counts(_in_a_loop), X)


def test_a_flax_class_changes_one_variable_after_the_branch():
    assert ".good[...] = lax.cond(" in port(Counts(_in_a_loop), (X,), style="nnx").source


def test_a_flax_class_changes_no_variable_in_a_branch():
    with pytest.raises(
        PortError, match=r"'good' changes in one arm .* style=\"functions\" writes it"
    ):
        port(Counts(_in_both), (X,), style="nnx")
