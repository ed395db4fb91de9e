"""Changes that torch does not record leave the gradient as it was."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)


class Masked(Layer):
    """Attention hides scores by their data, so that the mask has no part in the backward pass."""

    def forward(self, x):
        scores = self.fc(x)
        scores.data.masked_fill_(x > 1, -float("inf"))
        return torch.softmax(scores, dim=1)


class Data(Layer):
    def forward(self, x):
        h = self.fc(x)
        h.data[:, 0] = 0.5
        h.data[:, 1].zero_()
        h.data *= 2
        return h**2


class NoGrad(Layer):
    def forward(self, x):
        h = self.fc(x)
        with torch.no_grad():
            h.mul_(2)
            h += 1
            h[:, 0] = 1.0
        return h**2


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "count"), [(Masked, 1), (Data, 3), (NoGrad, 3)])
def test_an_unrecorded_change_has_the_gradient_of_the_identity(kind: type, count: int) -> None:
    assert source(kind(), X).count("h = jaxgrad.straight_through(") == count * (kind is not Masked)
    assert proves(kind(), X)


def test_the_change_is_needed_and_so_is_its_gradient():
    change = "jaxgrad.straight_through(lambda h: h.at[:, 0].set(0.5))(h)"
    assert agrees(Data(), X)
    assert not agrees(Data(), X, without=change, instead="h")
    assert not agrees(Data(), X, without=change, instead="h.at[:, 0].set(0.5)")


class Recorded(Layer):
    """Only the value that is added is detached."""

    def forward(self, x):
        h = self.fc(x)
        h.add_(h.detach() * 2)
        return h**2


def test_a_change_by_detached_values_is_recorded():
    assert "straight_through" not in source(Recorded(), X)
    assert proves(Recorded(), X)


class OwnValue(Layer):
    def forward(self, x):
        h = self.fc(x)
        with torch.no_grad():
            scale = h * 2
            scale.add_(1)
        return h * scale


def test_a_value_without_a_gradient_stays_without():
    assert "straight_through" not in source(OwnValue(), X)
    assert proves(OwnValue(), X)


class Rectified(nn.Module):
    """In torch `h` is `y` after the call, because the layer changes it in place."""

    def __init__(self, assigned):
        super().__init__()
        self.fc, self.relu, self.assigned = nn.Linear(4, 4), nn.ReLU(inplace=True), assigned

    def forward(self, x):
        h = self.fc(x)
        if self.assigned:
            y = self.relu(h)
            return y * 2 + h
        self.relu(h)
        return h * 3


@pytest.mark.parametrize("assigned", [True, False])
def test_a_layer_that_changes_its_input_changes_the_variable_of_the_caller(assigned):
    text = source(Rectified(assigned), X)
    assert agrees(Rectified(assigned), X)
    assert ("return y * 2 + y" in text) is assigned


class Renamed(nn.Module):
    """After `y` has another value, `h` has no name."""

    def __init__(self):
        super().__init__()
        self.fc, self.relu = nn.Linear(4, 4), nn.ReLU(inplace=True)

    def forward(self, x):
        h = self.fc(x)
        y = self.relu(h)
        y = y.tanh()
        return y + h


def test_a_changed_variable_whose_new_value_has_no_name_is_refused():
    with pytest.raises(PortError, match="'h' shares memory with a tensor that line [0-9]+ changes"):
        source(Renamed(), X)
