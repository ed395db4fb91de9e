"""What a module stores while it runs: numbers for this call, elements of its own lists."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Settings(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.layer, self.step, self.factor, self.sizes = nn.Linear(4, 4), step, 1, [4, 4]

    def forward(self, x):
        return self.step(self, self.layer(x))


def _sets(self, h):
    self.factor = 3
    sizes = self.sizes.copy()
    sizes[0] = 2
    return h * self.factor * sizes[0]


def _counts(self, h):
    self.factor += 1
    return h * self.factor


def _checks(self, h):
    if not torch.isfinite(h).all():
        raise ValueError("not finite")
    try:
        scale = {"a": 2}["b"]
    except KeyError:
        scale = 5
    h[:, 0].zero_()
    return h * scale


def _keeps(self, h):
    held = {}
    held["first"] = h
    h = h * 2
    return h * held["first"]


def _rolls(self, input):
    x = torch.roll(input, (1, 1), (0, 1))
    return x * input


def _shadows(self, h):
    def inner(y):
        h = y * 2
        return h + 1

    z = inner(h)
    return h * z


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor


def _pair(h):
    twice = h * 2
    return Pair(twice.tanh(), twice)


def _replaces(self, h):
    pair = _pair(h)
    pair.first = pair.first * pair.second
    return pair.first + pair.second


def _constructs(self, h):
    return nn.Softmax(dim=-1)(h) * h


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "step, line, instead",
    [
        (_sets, "h * 3 * 2", "h * 6 * 2"),
        (_checks, "* 5", "* 2"),
        (_keeps, "h * first", "h * h"),
        (_rolls, "x * input_", "x * x"),
        (_replaces, 'first + pair["second"]', 'pair["first"] + pair["second"]'),
        (_constructs, "axis=-1", "axis=0"),
        (_shadows, "z + 1", "z + 2"),
    ],
)
def test_a_port_with_stores_has_torchs_gradients(step, line, instead):
    """Settings, elements, handled errors and names of nested functions are as in torch."""
    torch.manual_seed(0)
    module = Settings(step)
    assert agrees(module, X)
    assert not agrees(module, X, without=line, instead=instead)


def test_the_module_keeps_its_own_settings():
    """After porting, an attribute that the forward pass sets has its old value."""
    module = Settings(_sets)
    source(module, X)
    assert module.factor == 1 and module.sizes == [4, 4]


def test_a_setting_that_carries_over_to_the_next_call_is_refused():
    """A counter on the module is state, which a port takes and returns."""
    with pytest.raises(PortError, match="`factor` is read and then set on a module while it runs"):
        source(Settings(_counts), X)


def test_a_size_that_depends_on_values_is_refused_with_the_remedy():
    """`nonzero` is refused, with the advice to use a mask."""

    def picks(self, h):
        return h[(h[:, 0] > 0).nonzero().squeeze(-1)]

    with pytest.raises(PortError, match=r"nonzero\(\) makes a size that depends on values"):
        source(Settings(picks), X)


def test_an_error_of_the_module_is_a_refusal_with_its_line():
    """An exception on the example inputs names the torch line."""

    def breaks(self, h):
        return h * {"a": 1}["b"]

    with pytest.raises(PortError, match=r"test_stores.py:[0-9]+ .*this raised KeyError: 'b'"):
        source(Settings(breaks), X)


def test_a_tensor_that_a_hook_captures_is_written_out():
    """A small constant tensor of a closure becomes an array of the port."""
    torch.manual_seed(0)
    module, keep = Settings(_shadows), torch.tensor([[1.0], [0.0], [1.0], [1.0]])
    module.layer.weight.register_hook(lambda grad: grad * keep)
    assert agrees(module, X)
    assert not agrees(module, X, without="[0.0]", instead="[1.0]")


class Positions(nn.Module):
    """A loop that stores its variable in a list, as einops does with sizes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        sizes: list[Any] = [None, None]
        parts: list[Any] = [None, None]
        for n, size in enumerate(x.shape):
            sizes[n] = size
            parts[n] = self.layer(x) * size
        return parts[0] * sizes[0] + parts[1] * sizes[1]


def test_each_iteration_of_a_loop_stores_its_own_value():
    """A list has the values of all iterations, not several times that of the last one."""
    torch.manual_seed(0)
    module = Positions()
    assert agrees(module, X)
    text = source(module, X)
    assert "for n" not in text and "x.shape[0]" in text and "x.shape[1]" in text


class Deleted(nn.Module):
    scale = 3.0

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        self.scale = 2.0
        self.hidden = self.fc(x) * self.scale
        y = self.hidden * 2
        del self.hidden, self.scale
        if hasattr(self, "hidden"):
            y = y + 1
        return y * y * self.scale


class DeletesItsOwn(Deleted):
    def __init__(self):
        super().__init__()
        self.first = True

    def forward(self, x):
        y = self.fc(x)
        del self.first
        return y


def test_a_deleted_attribute_is_not_there():
    """The attribute of the class has its value again."""
    assert agrees(Deleted(), X)
    assert not agrees(Deleted(), X, without="* 3.0", instead="* 2.0")


def test_the_deletion_of_an_attribute_that_the_run_has_not_set_is_refused():
    with pytest.raises(PortError, match="`first` is deleted, and this run has not set it"):
        source(DeletesItsOwn(), X)


class Shapes(nn.Module):
    """It notes a shape for nobody."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        self.last_shape = x.shape
        return self.fc(x).reshape(self.last_shape)


def test_a_stored_shape_that_the_caller_may_read_is_no_output():
    assert '**p["fc"]).reshape(x.shape)' in source(Shapes(), X)
    assert proves(Shapes(), X)


class Running(nn.Module):
    """A buffer that gets a new tensor in train mode, as the counts of a codebook do."""

    def __init__(self, shape=(4,)):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(shape))

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return self.layer(x - self.mean)


class Outer(nn.Module):
    """A module that sets a buffer of its own after it has called one that does."""

    def __init__(self):
        super().__init__()
        self.inner = Running()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        h = self.inner(x)
        with torch.no_grad():
            self.count = self.count + h.sum(0)
        return h * torch.tanh(self.count)


@pytest.mark.parametrize("module", [Running(), Outer()], ids=["own", "nested"])
def test_a_buffer_that_is_assigned_is_returned(module):
    """The new value is read in the same call, and the port returns it as its state."""
    ported = port(module, (X,))
    assert ported.report is not None
    assert ported.report.verdict == "pass" and ported.has_state
    params = ported.params(module.state_dict())
    module.train()(torch.tensor(X))
    _, new = ported.fn(params, X, training=True)
    for name, x in module.named_buffers():
        value = new["inner"]["mean"] if name == "inner.mean" else new[name]
        np.testing.assert_allclose(value, x.numpy(), rtol=1e-5, atol=1e-6)


def test_a_buffer_keeps_its_shape():
    """A buffer that gets another shape is refused: the next call would begin with this shape."""
    text = "the buffer `mean` is torch.float32[1] and is set to torch.float32[4]; give it one shape"
    with pytest.raises(PortError, match=re.escape(text)):
        source(Running((1,)), X)
