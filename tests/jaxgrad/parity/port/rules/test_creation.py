"""Operators that make tensors or change their dtype."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Masks(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        same = (x > 0).byte()
        axes = torch.arange(1, x.ndim).tolist()
        return (self.fc(x) * (same ^ 1)).sum(axes)


def test_bytes_and_lists_of_numbers_of_the_configuration():
    assert "jnp.uint8" in source(Masks(), X)
    assert agrees(Masks(), X)


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return h.gather(1, h.new_tensor([[2], [0], [1]], dtype=torch.long)) * h.new_tensor([0.5])


def test_a_new_tensor_has_the_dtype_that_is_given():
    assert agrees(Positions(), X)
    assert not agrees(Positions(), X, without="[0.5]", instead="[0.6]")


class Scaled(nn.Module):
    """The number is read from a tensor of the default dtype, as schedules of a diffusion are."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x) * torch.linspace(0, 1, 11)[3].item()


def test_a_number_of_a_float32_tensor_has_the_digits_that_it_was_made_of():
    """The proof in float64 makes the tensor in float64."""
    assert "* 0.3\n" in source(Scaled(), X)
    assert proves(Scaled(), X)


class Initialized(nn.Module):
    """It reads a flag as a number, as networks do that choose their scales in the first call."""

    initialized: torch.Tensor

    def __init__(self, flag: int) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("initialized", torch.tensor(flag, dtype=torch.uint8))

    def forward(self, x):
        if self.initialized.item() == 0:
            self.fc.weight.data.copy_(-x.std() * torch.ones(4, 4))
            self.initialized.fill_(1)
        return self.fc(x)


def test_the_number_of_a_flag_is_assumed():
    ported = port(Initialized(1), (X,))
    assert [a.text for a in ported.assumptions] == ["self.initialized.item() == 1"]
    with pytest.raises(PortError, match="run the module once before porting"):
        port(Initialized(0), (X,))


class Ordered(nn.Module):
    """Integers go through numpy, as the lengths of sequences do."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, at):
        return self.fc(x)[torch.from_numpy(at.detach().cpu().numpy())]


def test_integers_stay_tensors_in_numpy():
    assert agrees(Ordered(), X, np.array([2, 0, 1]))
    with pytest.raises(PortError, match=r"numpy\(\) reads the value of a tensor"):
        source(Ordered(), X, X)


class Old(nn.Module):
    """`new` of old programs: sizes or numbers."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        start = self.fc.weight.data.new(x.shape[0], 4).zero_()
        return self.fc(x) * (1 + start) * x.new([1.0, 2.0, 3.0, 4.0])


def test_new_has_the_dtype_of_its_tensor():
    text = source(Old(), X)
    assert "zeros_like" in text or "jnp.zeros" in text
    assert agrees(Old(), X)


class OldShape(nn.Module):
    def forward(self, x):
        return x * x.new(x.shape).fill_(2)


def test_new_of_a_shape_is_refused():
    """Of a list of the same numbers, it would be an array of those."""
    with pytest.raises(PortError, match=r"new\(\) of a shape, or of nothing; write new_empty"):
        source(OldShape(), X)


class Cast(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        name = x.type()
        mask = (x > 0).type("torch.FloatTensor" if name == "torch.FloatTensor" else name)
        return self.fc(x) * mask.type(name) + (x < 1).type(torch.float32)


def test_old_names_of_dtypes():
    """`x.type()` is a text, and `x.type(text)` a cast."""
    assert agrees(Cast(), X)


class Summed(nn.Module):
    """Rows are added to zeros in their dtype, and ones have a dtype before the cast."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        rows = torch.zeros(2, 4).to(h).index_add(0, torch.tensor([0, 1, 0]), h)
        return rows * torch.ones(4, dtype=torch.int32).to(h)


def test_zeros_are_made_in_the_dtype_that_they_are_cast_to():
    """An array with a dtype of its own keeps its cast."""
    written = source(Summed(), X)
    assert "jnp.zeros((2, 4), dtype=h.dtype)" in written
    assert written.count(".astype(") == 1
    assert agrees(Summed(), X)
