"""What a run leaves behind in a module is recorded, and what nothing reads is told apart."""

import collections
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.prove.record.torch_side.left_behind import (
    attributes,
    changed_attributes,
    changed_parameters,
)
from jaxgrad.parity.prove.record.torch_side.live import Live


X = (np.ones((4, 3), np.float32),)


class Teacher:
    """A plain object of the user, which holds a module that is not registered."""

    def __init__(self):
        self.net, self.calls = nn.Linear(2, 1, bias=False), 0


class Rich(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.alias = self.linear.weight
        self.teacher, self.steps, self.name = Teacher(), np.int64(3), "a"
        self.cache: Any = {"x": [torch.ones(2), (1.5, None)]}
        self.recent = collections.deque([True])
        self.itself = [self]


def test_attributes_are_listed_by_path():
    """Numbers, texts and tensors are found in containers and objects; parameters are left out."""
    values = attributes(Rich())

    assert set(values) >= {
        "teacher.net.weight", "teacher.calls", "steps", "name", "cache.x.0", "cache.x.1.0",
        "cache.x.1.1", "recent.0", "training", "linear.training", "linear.in_features",
    }  # fmt: skip
    assert not any(name.startswith(("alias", "linear.weight", "itself")) for name in values)
    assert (values["steps"], values["name"], values["cache.x.1.1"]) == (3, "a", None)
    assert isinstance(values["cache.x.1.0"], np.ndarray)


def test_changed_attributes_have_both_values():
    """An attribute that appears or disappears is None at the other time."""
    one, nan = np.array(1.0), np.array([np.nan])
    before = {"a": one, "b": nan, "c": "x", "d": None}
    after = {"a": one + 1, "b": nan.copy(), "c": "y", "e": one}

    assert changed_attributes(before, after) == {
        "a": (1.0, 2.0), "c": ("x", "y"), "e": (None, 1.0)
    }  # fmt: skip


def test_changed_parameters_are_found_by_value():
    """A change through `.data`, which torch does not count, is found too."""
    module = nn.Linear(3, 2)
    before = {name: x.detach().numpy().copy() for name, x in module.named_parameters()}
    module.weight.data += 1

    changed = changed_parameters(module, before, ["weight", "bias"])
    assert list(changed) == ["weight"]
    assert np.array_equal(changed["weight"], before["weight"] + 1)
    assert not changed_parameters(module, before, ["bias"])


class Busy(nn.Module):
    """A forward pass that changes all kinds of things, some of which the next call reads."""

    count: torch.Tensor
    mean: torch.Tensor
    total: torch.Tensor

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("total", torch.tensor(0.0))
        self.teacher, self.last, self.random = Teacher(), None, 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.linear(x)) * (1 + self.teacher.calls) - self.mean
        self.mean = 0.9 * self.mean + 0.1 * y.detach().abs().mean(0) / (1 + self.count)
        self.count += 1
        self.total += y.detach().sum()
        self.teacher.calls += 1
        self.last = y.detach()
        self.random = np.random.rand()  # noqa: NPY002
        return y


def test_values_that_no_further_call_reads():
    """Running statistics are read in eval mode, and a counter only where an update divides by it.

    The others are told apart by whether a layer of torch.nn has them.
    """
    torch.manual_seed(0)
    module = Busy()
    rng = np.random.default_rng(0)
    live = Live(module, (rng.standard_normal((4, 3)),), None, None, 0)
    draw = live.drawn(list(live.state))[0]
    left = dict(draw.run.buffers) | {
        name: after for name, (_, after) in draw.run.attributes.items()
    }

    assert dict(live.unread(left)) == {
        "norm.num_batches_tracked": True, "total": False, "last": False, "random": False
    }  # fmt: skip
    live.close()
    assert (module.count, module.teacher.calls, module.last) == (0, 0, None)
