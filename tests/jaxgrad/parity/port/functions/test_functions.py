"""Decorated, nested, inherited and mapped functions of a torch program are ported."""

import functools

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
KEEP = np.array([[True, True, True], [True, True, False]])


def logged(forward):
    """Decorate a forward pass without a change of what it computes."""

    @functools.wraps(forward)
    def wrapper(*args, **kwargs):
        output = forward(*args, **kwargs)
        return output  # noqa: RET504 - decorators of packages look like this

    return wrapper


def causal(query, key):
    return key <= query


def both(*masks):
    def inner(query, key):
        result = query.new_ones((), dtype=torch.bool)
        for mask in masks:
            result = result & mask(query, key)
        return result

    return inner


def padding(keep):
    def inner(query, key):
        return keep[key]

    return inner


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.lin(x))


class Attention(Base):
    """A decorated method, `super()`, and a mask that `vmap` makes of nested functions."""

    lines = (
        "def attention(p, x, keep):",
        "h = base(p, x)",
        "mask = jax.vmap(jax.vmap(function, in_axes=(None, 0)), in_axes=(0, None))(places, places)",
        "result = result & one[key]",
    )

    @logged
    def forward(self, x, keep):  # pyright: ignore[reportIncompatibleMethodOverride]
        h = super().forward(x)
        places = torch.arange(x.shape[1])
        rows = []
        for one in keep:
            test = both(causal, padding(one))
            mask = torch.vmap(torch.vmap(test, in_dims=(None, 0)), in_dims=(0, None))(
                places, places
            )
            rows.append(mask)
        scores = h @ h.transpose(1, 2)
        return scores.masked_fill(~torch.stack(rows), -1e9).softmax(-1) @ h


class Packed(nn.Module):
    """A test on positions, which depend on sizes alone, and a `return` inside of a loop."""

    lines = ('x = F.linear(x, **p["layers"][0])', "    return x")

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        positions = torch.arange(x.shape[1])
        if (positions.diff() == 1).all():
            x = x * 2
        for layer in self.layers:
            x = layer(x)
            if x.shape[-1] == 4:
                return x
        return x.sum()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "inputs"), [(Attention, (X, KEEP)), (Packed, (X,))])
def test_functions_are_ported_and_proved(kind, inputs):
    """The port has the lines of the behaviour and torch's gradients."""
    torch.manual_seed(0)
    ported = port(kind(), inputs)

    assert ported.report is not None and ported.report.verdict == "pass"
    assert [line for line in kind.lines if line not in ported.source] == []


def test_a_folded_test_on_values_is_an_assumption():
    """The header names the test that the port cannot ask."""
    ported = port(Packed(), (X,), prove=False)

    assert [a.text for a in ported.assumptions if "diff" in a.text] == [
        "(positions.diff() == 1).all()"
    ]


@pytest.mark.slow
def test_a_function_that_only_calls_another_is_left_out():
    """A decorator leaves no function behind, and the class keeps its name."""
    source = port(Attention(), (X, KEEP), prove=False).source

    assert "wrapper" not in source and source.count("def attention") == 1


class Traced(nn.Module):
    """A test on the values of a mask, which the module leaves out where it is traced."""

    def forward(self, x, keep):
        if not torch.compiler.is_compiling() and keep.all():
            return x * 2
        return x * keep[..., None] * 2


class Untraced(nn.Module):
    def forward(self, x, keep):
        return x if keep.all() else x[0]


def test_a_module_may_leave_out_a_test_on_values_where_it_is_traced():
    """A branch that cannot be written is left out, and torch's own way for tracers is taken."""
    ported = port(Traced(), (X, KEEP), prove=False)
    assert "return x * keep[..., None] * 2" in ported.source

    with pytest.raises(PortError, match="depends on the values of a tensor"):
        port(Untraced(), (X, KEEP), prove=False)
