"""A loop over the parameters of flax modules is written as one map over their states."""

import copy

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.port import port


X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


class Averaged(nn.Module):
    """A network whose target is the moving average of another one."""

    def __init__(self, momentum=0.9):
        super().__init__()
        torch.manual_seed(0)
        self.momentum = momentum
        self.online = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 3))
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def update(self):
        for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
            k.mul_(self.momentum).add_(q, alpha=1 - self.momentum)

    def forward(self, x):
        with torch.no_grad():
            self.update()
        return (self.online(x) + self.target(x)) ** 2


def written(module):
    """Return the source of a port that is proved."""
    ported = port(module, (X,), style="nnx")
    assert all(report.verdict == "pass" for report in ported.reports.values())
    return ported.source


def test_a_moving_average_is_a_map_over_the_parameters():
    text = written(Averaged())
    assert "target = nnx.state(self.target, nnx.Param)" in text
    assert "lambda target, online: F.add(target * self.momentum, online, alpha=1 - " in text
    assert "nnx.update(self.target, lax.stop_gradient(target))" in text
    assert "return None" not in text


class Copied(Averaged):
    """The parameters and the buffers of the target are those of the other network."""

    def update(self):
        for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
            k.copy_(q)
        for q, k in zip(self.online.buffers(), self.target.buffers(), strict=True):
            k.copy_(q)


def test_a_copy_of_parameters_and_buffers_is_one_update():
    assert "online = nnx.state(self.online, (nnx.Param, nnx.BatchStat))" in written(Copied())


class Weights(Averaged):
    """The biases are left alone."""

    def update(self):
        online = dict(self.online.named_parameters())
        for name, k in self.target.named_parameters():
            if name.endswith("weight"):
                k.lerp_(online[name], 0.1)


def test_a_loop_over_some_of_the_parameters_stays_apart():
    """There is no type of variables for the weights alone."""
    assert "nnx.state" not in written(Weights())


class Called(nn.Linear):
    """A layer that is called in another way than the layers of torch."""

    def forward(self, input):
        return super().forward(input) + 1


class Unlike(Averaged):
    """The classes of the networks differ, with the same parameters."""

    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3))
        self.target = nn.Sequential(Called(4, 5), Called(5, 3)).requires_grad_(False)


def test_modules_of_different_classes_stay_apart():
    assert "nnx.state" not in written(Unlike())


class Statistics(nn.Module):
    mean: torch.Tensor

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("mean", torch.zeros(3))

    def keep(self, x):
        self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)

    def forward(self, x):
        x = self.linear(x)
        self.keep(x)
        return x - self.mean


def test_a_method_that_returns_nothing_changes_its_buffers():
    assert "self.keep(x)" in written(Statistics())


class State(Averaged):
    """The floating tensors of a state_dict are averaged, and the counter is copied."""

    def update(self):
        online = self.online.state_dict()
        for name, k in self.target.state_dict().items():
            if k.dtype.is_floating_point:
                k.mul_(self.momentum).add_(online[name], alpha=1 - self.momentum)
            else:
                k.copy_(online[name])


def test_the_floating_variables_of_a_state_dict_are_chosen_by_a_filter():
    text = written(State())
    assert "def is_floating(_, x):" in text
    assert "target = nnx.state(self.target, is_floating)" in text
    assert "online = nnx.state(self.online, is_floating)" in text
    assert "self.target.layers[1].num_batches_tracked[...] = " in text
