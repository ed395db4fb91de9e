"""With `scan=True`, layers of equal structure run as `lax.scan` over their stacked params."""

import types
from typing import Any

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.loops.scans import STACKED
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


class Unit(nn.Module):
    def __init__(self, width=4, out=4):
        super().__init__()
        self.fc = nn.Linear(width, out)

    def forward(self, x):
        return torch.tanh(self.fc(x))


class Dropped(Unit):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(super().forward(x))


class Tower(nn.Module):
    def __init__(self, units=None):
        super().__init__()
        self.units = nn.ModuleList(units or [Unit() for _ in range(3)])

    def forward(self, x):
        # one unit after the other
        for unit in self.units:
            x = x + unit(x)
        return x


class WithTotal(Tower):
    def forward(self, x):
        total = 0
        for unit in self.units:
            x = unit(x)
            total = total + x.pow(2).mean()
        return total


class WithLast(Tower):
    def forward(self, x):
        for unit in self.units:
            y = unit(x)
            x = x + y
        return x * y  # pyright: ignore[reportPossiblyUnboundVariable]


class Growing(Tower):
    def forward(self, x):
        for unit in self.units:
            x = torch.cat([x, unit(x[:, :4])], 1)
        return x


class WithMemory(Tower):
    def forward(self, x):
        memory = None
        for unit in self.units:
            x = unit(x) if memory is None else unit(x) + memory
            memory = x
        return x


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.tanh(self.norm(x))


def loaded(source: str) -> Any:
    module = types.ModuleType("port_file")
    exec(source, module.__dict__)
    return module


def test_equal_layers_are_scanned():
    """The body of the loop becomes a function of one layer, and the port is proved."""
    torch.manual_seed(0)
    ported = port(Tower([Dropped(), Dropped()]), (X,), scan=True)
    assert "    # one unit after the other\n    def layer(carry, unit):\n" in ported.source
    assert f'_ = lax.scan(layer, (rng, x), {STACKED}(p["units"]))' in ported.source
    assert "lax.scan" not in port(Tower(), (X,), prove=False).source


def test_stacked_params_are_scanned_as_they_are():
    """`stacked` stacks the params once, and the port takes both forms."""
    torch.manual_seed(0)
    module = Tower()
    ported = port(module, (X,), scan=True, prove=False)
    file, params = loaded(ported.source), ported.params(module.state_dict())
    once = {"units": file.stacked(params["units"])}
    assert jax.tree.leaves(once)[0].shape[0] == 3
    np.testing.assert_array_equal(file.tower(once, X), file.tower(params, X))


def test_numbers_and_outputs_of_the_last_iteration_are_carried():
    """A sum that starts at 0 is carried."""
    torch.manual_seed(0)
    source = port(WithTotal(), (X,), scan=True).source
    assert "(total, x), _ = lax.scan(layer, (total, x)" in source


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "module",
    [
        WithLast(),  # `y` has no value before the first iteration
        Growing(),  # `x` changes its shape
        WithMemory(),
        Tower([Unit(), Unit(), nn.Tanh()]),
        Tower([Unit()]),
        Tower([Normed(), Normed()]),  # the loop collects new buffers
    ],
    ids=["last", "growing", "memory", "unequal", "single", "buffers"],
)
def test_other_loops_are_kept(module):
    """What a scan cannot carry stays a loop of Python or separate lines, and is proved."""
    torch.manual_seed(0)
    assert "lax.scan" not in port(module, (X,), scan=True).source


def test_layers_of_other_shapes_are_not_equal():
    """Two layers with the same names but other sizes are not stacked."""
    torch.manual_seed(0)

    class Sizes(Tower):
        def forward(self, x):
            total = 0
            for unit in self.units:
                total = total + unit(x).sum()
            return total

    source = port(Sizes([Unit(4, 4), Unit(4, 6)]), (X,), scan=True).source
    assert "lax.scan" not in source


def test_layers_that_share_weights_differently_are_not_equal():
    """The second layer ties two weights that the first does not tie."""
    torch.manual_seed(0)

    class Pair(nn.Module):
        def __init__(self, tied):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            if tied:
                self.b.weight = self.a.weight

        def forward(self, x):
            return torch.tanh(self.b(self.a(x)))

    assert "lax.scan" not in port(Tower([Pair(False), Pair(True)]), (X,), scan=True).source


def test_an_unrolled_loop_calls_the_function_of_its_class():
    """The variable `unit` of the loop and the function `unit` of the class `Unit` stay apart."""
    source = port(Tower([Unit()]), (X,), prove=False).source
    assert 'return x + unit(p["units"][0], x)' in source


def test_a_wrong_scan_is_an_error():
    """Both arguments that make no sense are named."""
    with pytest.raises(PortError, match="scan= needs True or False, got str"):
        port(Tower(), (X,), scan="yes")  # pyright: ignore[reportArgumentType]
    with pytest.raises(PortError, match=r'style="nnx" writes no lax.scan; leave out scan='):
        port(Tower(), (X,), scan=True, style="nnx")
