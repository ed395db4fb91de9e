"""Modules that differ in one submodule are of one flax class, which takes the submodule."""

import numpy as np
import pytest
from torch import nn

import jaxgrad


X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


class Residual(nn.Module):
    """The skip connection is a layer if the sizes differ, and else nothing."""

    def __init__(self, width_in, width, kind):
        super().__init__()
        self.lin = nn.Linear(width_in, width)
        same = {"identity": nn.Identity(), "none": None, "empty": nn.Sequential()}[kind]
        self.skip = nn.Linear(width_in, width) if width_in != width else same

    def forward(self, x):
        shortcut = x
        if self.skip is not None:
            shortcut = self.skip(x)
        return self.lin(x).tanh() + shortcut


class Deep(Residual):
    """The skip connection is itself a stack of layers."""

    def __init__(self, width_in, width, kind):
        super().__init__(width_in, width, kind)
        if width_in != width:
            self.skip = nn.Sequential(nn.Linear(width_in, width), nn.BatchNorm1d(width))


class Net(nn.Module):
    def __init__(self, block, kind="identity"):
        super().__init__()
        self.first, self.second = block(4, 5, kind), block(5, 5, kind)

    def forward(self, x):
        return self.second(self.first(x))


def written(module):
    """Return the source of a port that is proved."""
    ported = jaxgrad.port(module, (X,), style="nnx")
    assert all(report.verdict == "pass" for report in ported.reports.values())
    return ported.source


@pytest.mark.parametrize("kind", ["identity", "none", "empty"])
def test_a_skip_connection_that_one_module_lacks_is_an_argument(kind):
    text = written(Net(Residual, kind))
    assert "self.first = Residual(in_features=4, skip=Linear(4, 5, rngs=rngs), rngs=rngs)" in text
    assert "self.second = Residual(in_features=5, rngs=rngs)" in text
    assert "def __init__(self, in_features, skip=nnx.identity, *, rngs: nnx.Rngs):" in text
    assert "self.skip = skip" in text
    assert "Residual2" not in text


def test_the_submodule_may_be_a_stack_of_layers():
    """The modules then have unlike heights, so that they are written at the larger one."""
    text = written(Net(Deep))
    assert "skip=nnx.Sequential(Linear(4, 5, rngs=rngs), BatchNorm1d(5))" in text
    assert "Deep2" not in text


class Gated(nn.Module):
    """A statement of its own calls the submodule."""

    def __init__(self, width_in, width, kind):
        super().__init__()
        self.lin = nn.Linear(width_in, width)
        self.norm = {"identity": nn.Identity, "layer": nn.LayerNorm}[kind](width)

    def forward(self, x):
        x = self.lin(x)
        if not isinstance(self.norm, nn.Identity):
            x = self.norm(x)
        return x.sigmoid()


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Gated(4, 5, "identity"), Gated(5, 5, "layer")

    def forward(self, x):
        return self.second(self.first(x))


def test_a_statement_that_one_module_lacks_calls_a_submodule_that_does_nothing():
    text = written(Mixed())
    assert "self.second = Gated(in_features=5, norm=LayerNorm(5), rngs=rngs)" in text
    assert "Gated2" not in text


class Normed(nn.Module):
    """The norm is of one of two kinds."""

    def __init__(self, width_in, width, norm):
        super().__init__()
        self.lin, self.norm = nn.Linear(width_in, width), norm

    def forward(self, x):
        return self.norm(self.lin(x)).relu()


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Normed(4, 6, nn.BatchNorm1d(6))
        self.second = Normed(6, 6, nn.GroupNorm(2, 6))

    def forward(self, x):
        return self.second(self.first(x))


def test_a_layer_of_another_kind_is_an_argument():
    text = written(Norms())
    assert "Normed(in_features=4, norm=BatchNorm1d(6), rngs=rngs)" in text
    assert "Normed(in_features=6, norm=GroupNorm(2, 6), rngs=rngs)" in text
    assert "def __init__(self, in_features, norm, *, rngs: nnx.Rngs):" in text


class Stack(nn.Module):
    """Its layers are all that it has."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x) * 2


class Stacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Stack(nn.Linear(4, 5), nn.ReLU())
        self.second = Stack(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 2))

    def forward(self, x):
        return self.second(self.first(x))


def test_unlike_stacks_of_layers_have_a_class_each():
    """A class that takes its stack would be a mere shell around it."""
    text = written(Stacks())
    assert "self.second = Stack2(rngs=rngs)" in text


class Other(nn.Module):
    """The submodule is added in one module and multiplied in the other."""

    def __init__(self, width_in, width, gate):
        super().__init__()
        self.lin, self.gate = nn.Linear(width_in, width), gate

    def forward(self, x):
        y = self.lin(x)
        return y if self.gate is None else y * self.gate(x)


class Others(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Other(4, 5, nn.Linear(4, 5)), Other(5, 5, None)

    def forward(self, x):
        return self.second(self.first(x))


def test_modules_whose_methods_differ_in_more_than_the_call_have_a_class_each():
    assert "self.second = Other2(rngs=rngs)" in written(Others())


class Nested(nn.Module):
    """A module in one of its own class, which cannot be written at one height."""

    def __init__(self, width, inner=None):
        super().__init__()
        self.lin = nn.Linear(4, width)
        self.inner = inner

    def forward(self, x):
        x = self.lin(x)
        return x if self.inner is None else self.inner(x)


def test_a_module_inside_of_one_of_its_own_class_has_a_class_of_its_own():
    text = written(Nested(4, Nested(4, Nested(3))))
    assert "class Nested2(nnx.Module)" in text
