"""Loops, comprehensions and Python's functions over containers keep torch's gradients and sizes."""

import collections
import functools
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 3)).astype(np.float32)
SEQUENCE = RNG.standard_normal((4, 3, 3)).astype(np.float32)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)


class Total(Layer):
    def forward(self, x):
        total = 0.0
        for t in range(x.shape[1]):
            total = total + torch.tanh(self.linear(x[:, t]))
        return total


def test_a_total_that_starts_at_a_number_stays_a_loop():
    """The first iteration reads the variable, not its first value, so that other lengths work."""
    module = Total()
    ported = port(module, (SEQUENCE,), prove=False)

    assert "total = 0.0\n    for t in range(x.shape[1]):" in ported.source
    longer = np.concatenate([SEQUENCE, SEQUENCE], axis=1)
    expected = module(torch.tensor(longer)).detach().numpy()
    params = ported.params(module.state_dict())
    assert np.allclose(ported.fn(params, longer), expected, atol=1e-5)


def test_one_iteration_of_a_total_does_not_stand_for_all():
    """A loop of one iteration that changes a constant asserts that it has one iteration."""
    assert "assert len(range(x.shape[1])) == 1" in source(Total(), SEQUENCE[:, :1])


class Counter(Layer):
    def forward(self, x):
        place = 2
        for _ in range(x.shape[1]):
            x = x + self.linear(x[:, place])[:, None]
            place -= 1
        return x


def test_a_counter_unrolls_a_loop():
    """A number that each iteration changes is folded, and the number of iterations is asserted."""
    assert "== 3" in source(Counter(), SEQUENCE)
    assert agrees(Counter(), SEQUENCE)


class Aliased(Layer):
    def forward(self, x):
        total: Any = 1.0
        for t in range(3):
            old = total
            total = total + self.linear(x[:, t])
            x = x * old if t == 0 else x * old[:, None]
        return x.sum(1) + total


def test_an_older_value_of_a_variable_is_not_its_new_value():
    """A copy of a constant, made before the variable changes, keeps the constant."""
    assert agrees(Aliased(), SEQUENCE)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        self.branches = nn.ModuleList(nn.BatchNorm1d(4) for _ in range(2))

    def forward(self, x):
        a, b = (self.trunk(v) for v in (x, x * x))
        return torch.cat([branch(a * b) for branch in self.branches], dim=-1)


@pytest.mark.slow
def test_a_comprehension_of_modules_with_buffers_is_proved():
    """The buffers of a module that a comprehension calls twice change twice, in torch's order."""
    ported = port(Twice(), (X,))

    assert ported.has_state
    assert set(ported.reports) == {"train", "eval"}


class Filtered(Layer):
    def forward(self, x):
        parts = [self.linear(x[:, t]) * t for t in range(x.shape[1]) if t % 2 == 0]
        return torch.stack(parts).sum(0)


def test_a_filtered_comprehension_asserts_its_length():
    """A comprehension over a size that the port cannot keep holds for this size alone."""
    assert "assert len(range(x.shape[1])) == 3" in source(Filtered(), SEQUENCE)
    assert agrees(Filtered(), SEQUENCE)


class Functional(Layer):
    def scaled(self, x):
        return self.linear(x) * 2

    def forward(self, x):
        a, b = map(self.scaled, (x * x).chunk(2, dim=0))
        return functools.reduce(lambda p, q: p * q + p, [a, b, a])


def test_map_and_reduce_call_the_function_for_each_element():
    """`map` and `functools.reduce` are interpreted, and the container is computed once."""
    assert source(Functional(), X).count("jnp.array_split") == 1
    assert agrees(Functional(), X)


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3) for _ in range(2)]
        self.named = {"tail": nn.Linear(3, 3)}
        for number, layer in enumerate([*self.layers, *self.named.values()]):
            self.add_module(f"layer_{number}", layer)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.named["tail"](x)


def test_a_plain_list_of_modules_is_read_by_their_names():
    """Modules in a list or dict that is no ModuleList have the params of their own names."""
    assert 'p["layer_1"]' in source(Listed(), X)
    assert agrees(Listed(), X)


class Axis(Layer):
    def forward(self, x):
        h = self.linear(x)
        return h / h.square().sum(axis=-1, keepdims=True)


def test_the_words_of_numpy_are_those_of_torch():
    """`axis=` and `keepdims=` are `dim=` and `keepdim=`."""
    assert "axis=-1, keepdims=True" in source(Axis(), X)
    assert agrees(Axis(), X)


class Windows(Layer):
    def forward(self, x):
        h = self.linear(x).unfold(0, 2, 1)
        return h.unfold(-1, 1, 1)[..., 0] * 2


def test_the_method_unfold_is_not_the_function_unfold():
    """`x.unfold(dim, size, step)` takes windows along a dim; F.unfold takes blocks of images."""
    assert "F.unfold" not in source(Windows(), X)
    assert agrees(Windows(), X)


class Commented(Layer):
    def forward(self, x):
        # the target does not move
        with torch.no_grad():
            target = x * 2
        # two layers
        for n in range(2):
            x = self.linear(x) * (n + 1.5)
        # powers
        for power in (2, 3):
            x = x**power
        return x - target


def test_comments_above_a_block_are_kept():
    """Comments above `with` and above an unrolled loop stay above their first statement."""
    text = source(Commented(), X)

    assert "# the target does not move\n    target" in text
    assert "# two layers\n    for n" in text
    assert "# powers\n    x =" in text


class Scaled:
    """A function that is an object, as packages use them for settings."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


class Packaged(Layer):
    """Unequal parts, `next`, a nested function with `**`, and an object that is called."""

    def __init__(self):
        super().__init__()
        self.scaled = Scaled(2.0)

    def forward(self, x):
        dtype = next(p.dtype for p in self.parameters() if p.is_floating_point())
        batch, length, device = *x.shape[:2], x.device

        def mixed(y, *more, scale=1.0, **keywords):
            return y * scale + more[0] * keywords["extra"]

        first, last = x.chunk(2, dim=1)[0], x.split(2, dim=1)[-1]
        zeros = torch.zeros(batch, 1, dtype=dtype, device=device)
        out = mixed(self.scaled(self.linear(first)).sum(1), last.sum(1), scale=3.0, extra=length)
        return out + zeros


def test_idioms_of_packages_are_written_as_python():
    """The sizes of the parts and the length come from the arguments, at other sizes too."""
    module = Packaged()
    assert agrees(module, SEQUENCE)
    assert not agrees(module, SEQUENCE, without="* 3.0", instead="* 3.5")
    ported = port(module, (SEQUENCE,), prove=False)

    longer = np.concatenate([SEQUENCE, SEQUENCE[:, :2]], axis=1)
    expected = module(torch.tensor(longer)).detach().numpy()
    params = ported.params(module.state_dict())
    assert np.allclose(ported.fn(params, longer), expected, atol=1e-5)
    assert "def scaled(x, *, factor=2.0):" in ported.source


class Named(Layer):
    def forward(self, x):
        weights = self.linear.parameters()
        return x @ next(weights) + next(weights)


def test_an_iterator_that_is_read_twice_is_refused():
    """The second `next` has another value than the first."""
    with pytest.raises(PortError, match="`next` of an iterator that has a name"):
        port(Named(), (X,), prove=False)


class Kept(Layer):
    def forward(self, x):
        factors = iter([2.0, 3.0])
        self.linear = self.linear.to(torch.float32)
        return self.linear(x) * next(factors) + next(factors) + next(factors, 5.0)


def test_an_iterator_of_numbers_advances_and_a_cast_without_effect_is_left_out():
    """`next` returns one number after the other, and then its default."""
    assert 'F.linear(x, **p["linear"]) * 2.0 + 3.0 + 5.0' in source(Kept(), X)
    with pytest.raises(PortError, match=r"`.to\(\)` on a module while it runs"):
        source(Kept().double(), X.astype(np.float64))


class Repeated(Layer):
    def forward(self, x):
        ones = [x.shape[0], *itertools.repeat(1, x.dim() - 1)]
        scaled = [a * b for a, b in zip((x, x.tanh()), itertools.repeat(3.0), strict=False)]
        return self.linear(scaled[0] + scaled[1]) * x.new_ones(ones)


def test_itertools_repeat():
    """A value is repeated a given number of times, or as often as `zip` needs it."""
    assert proves(Repeated(), X)


class Outputs(collections.OrderedDict):
    """A dict whose values are attributes too, as in many packages."""

    def __getattr__(self, name):
        return self[name]


class Filled(Layer):
    def forward(self, x):
        outputs = Outputs()
        outputs["hidden"] = self.linear(x)
        outputs["last"] = outputs.hidden.tanh()
        return outputs


def test_a_class_of_dicts_that_the_module_fills():
    assert proves(Filled(), X)
