"""torch's own run says what a call leaves behind, and the module gets everything back."""

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.leftovers.left_behind import left_behind


X = np.ones((2, 3), np.float32)


class Leaves(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.log, self.cached = [], None

    def forward(self, x):
        if self.cached is None:
            self.cached = torch.ones(3)
        self.log.append(x.shape[0])
        return self.norm(self.fc(x) * self.cached)


def kinds(left):
    return {(x.path, x.kind) for x in left.changes}


def test_the_modes_and_the_second_call_differ():
    """In train mode a layer changes its buffers; a cache changes in the first call alone."""
    module = Leaves()
    before = {name: x.clone() for name, x in module.state_dict().items()}

    trained = left_behind(module, (X,), True, warm=False)
    evaluated = left_behind(module, (X,), False, warm=True)

    statistics = {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}
    assert kinds(trained) == {
        ("log", "changed"), ("cached", "set"), *((x, "tensor") for x in statistics)
    }  # fmt: skip
    assert kinds(evaluated) == {("log", "changed")}
    assert trained.repeats and evaluated.repeats
    assert (module.log, module.cached, module.training) == ([], None, True)
    assert all(torch.equal(x, before[name]) for name, x in module.state_dict().items())


def test_a_change_has_its_line():
    left = left_behind(Leaves(), (X,), False, warm=False)
    lines = {x.path: left.line(x) for x in left.changes}

    texts = {path: place and place.text.strip() for path, place in lines.items()}
    assert texts == {
        "log": "self.log.append(x.shape[0])", "cached": "self.cached = torch.ones(3)"
    }  # fmt: skip


class Recurs(nn.Module):
    def forward(self, x):
        vars(self)["state"] = vars(self).get("state", 0) + x
        return vars(self)["state"] * 2


def test_a_call_on_which_the_next_one_depends_does_not_repeat():
    assert not left_behind(Recurs(), (X,), True, warm=False).repeats


class Halves(nn.Module):
    def forward(self, x, *, scale):
        scale.mul_(0.5)
        return x * scale


def test_an_argument_that_changes_is_named():
    left = left_behind(Halves(), {"x": X, "scale": X[0]}, True, warm=False)

    assert kinds(left) == {("scale", "argument")}
