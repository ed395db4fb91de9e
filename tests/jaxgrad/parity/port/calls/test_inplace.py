"""Writes through views, and into memory that is given, keep torch's gradients."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)


class NamedView(Layers):
    def forward(self, x):
        h = self.first(x).clone()
        left = h[:, :2]
        left.mul_(3)
        left += 1
        return self.second(h)


def test_a_write_to_a_named_view_changes_its_base():
    write_back = "h = h.at[:, :2].set(left)"
    assert source(NamedView(), X).count(write_back) == 2
    assert agrees(NamedView(), X)
    assert not agrees(NamedView(), X, without=write_back, instead="pass")


class FlatView(Layers):
    def forward(self, x):
        h = self.first(x).clone()
        h.view(-1)[0] = 1.0
        h.transpose(0, 1)[1] = 0.5
        return self.second(h)


def test_a_write_to_a_reshaped_view_changes_its_base():
    assert agrees(FlatView(), X)
    assert not agrees(FlatView(), X, without="set(1.0)", instead="add(0.0)")


class Diagonal(Layers):
    """Only the diagonal of a matrix changes, and the whole matrix is read after it."""

    def forward(self, x):
        h = self.first(x)
        c = h.T @ h
        on = torch.diagonal(c).add_(-1).pow_(2).sum()
        return on + self.second(c)


class ShiftedDiagonal(Layers):
    def forward(self, x):
        h = self.first(x)
        c = h.T @ h
        c.diagonal(1).mul_(2)
        return self.second(c)


def test_a_write_to_the_diagonal_changes_the_matrix():
    assert agrees(Diagonal(), X)
    assert not agrees(Diagonal(), X, without="F.diagonal(c) - 1", instead="F.diagonal(c)")


def test_a_write_to_another_diagonal_is_refused():
    with pytest.raises(PortError, match="'c' shares memory with a tensor that line"):
        source(ShiftedDiagonal(), X)


class Narrowed(Layers):
    def forward(self, x):
        h = self.first(x).clone()
        left = h.narrow(-1, 0, 2)
        left.mul_(3)
        h.narrow(0, 1, 1).add_(1)
        return self.second(h)


def test_a_write_to_a_narrowed_view_changes_its_base():
    assert agrees(Narrowed(), X)
    assert not agrees(
        Narrowed(), X, without="(h, left, 0, axis=-1)", instead="(h, left, 2, axis=-1)"
    )


class OfACopy(Layers):
    def forward(self, x):
        h = self.first(x)
        h[[0, 1]].mul_(3)
        return self.second(h)


def test_a_write_to_a_copy_changes_nothing():
    """An index of a list makes a copy in torch."""
    assert "at[" not in source(OfACopy(), X)
    assert agrees(OfACopy(), X)


class Copied(Layers):
    def forward(self, x):
        out = torch.empty(3, 8)
        out[:, :4].copy_(self.first(x))
        out[:, 4:].copy_(self.second(x)[0])
        return torch.tanh(out)


def test_copy_writes_values_in_the_target_s_shape():
    assert "jnp.broadcast_to(" in source(Copied(), X)
    assert agrees(Copied(), X)
    assert not agrees(Copied(), X, without="at[:, :4]", instead="at[:, 1:5]")


class Out(Layers):
    def forward(self, x):
        h = self.first(x).detach()
        torch.mul(h, 2, out=h)
        return self.second(h) + self.first(x)


def test_out_is_a_write_in_place():
    assert "h = h * 2" in source(Out(), X)
    assert agrees(Out(), X)


class TwoOut(Layers):
    def forward(self, x):
        h, places = torch.empty(3), torch.empty(3, dtype=torch.long)
        torch.max(self.first(x).detach(), 1, out=(h, places))
        return self.second(x) * h[:, None]


def test_out_of_several_tensors_is_refused():
    with pytest.raises(PortError, match="`out=` of several tensors"):
        port(TwoOut(), (X,), prove=False)


class PartOfItself(Layers):
    def forward(self, x):
        h = self.first(x).clone()
        h = h[:, :2]
        h.mul_(3)
        h += 1
        return h * 2


class PartOfItsBase(PartOfItself):
    def forward(self, x):
        whole = self.first(x).clone()
        h = whole
        h = h[:, :2]
        h.mul_(3)
        return whole * 2


def test_a_variable_that_becomes_a_part_of_itself_is_changed_alone():
    assert agrees(PartOfItself(), X)
    with pytest.raises(PortError, match="'whole' shares memory with a tensor that line"):
        source(PartOfItsBase(), X)


class Chosen(Layers):
    """The rows that a tensor chooses are a copy, which Python puts back after `+=`."""

    def forward(self, x):
        h, rows = self.first(x).clone(), torch.tensor([0, 2])
        h[rows] *= 3
        h[rows, rows] += 1
        h[h > 0.5] -= 2
        h[:, 1] += 4
        return self.second(h)


def test_an_augmented_assignment_puts_chosen_elements_back():
    torch.manual_seed(0)
    module = Chosen()
    assert agrees(module, X)
    assert not agrees(module, X, without="* 3", instead="* 2")
    assert not agrees(module, X, without="h - 2", instead="h - 3")


class ChosenByMask(Layers):
    def forward(self, x):
        h = self.first(x).clone()
        h[h > 0] += torch.ones(int((x > -100).sum()))[: h[h > 0].numel()]
        return h


def test_a_value_for_each_element_of_a_mask_is_refused():
    with pytest.raises(PortError):
        source(ChosenByMask(), X)


def moved(old, new):
    old.data.lerp_(new, 0.2)


class Averages(nn.Module):
    """A function changes a buffer that is its argument, as moving averages of codes do."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mean", torch.ones(4))

    def forward(self, x):
        h = self.fc(x)
        moved(self.mean, h.detach().mean(0))
        return h * 2


def test_a_buffer_that_a_function_changes_is_returned():
    ported = port(Averages(), (X,))
    assert ported.report is not None and ported.report.verdict == "pass"
    assert ported.has_state


class Renamed(Averages):
    """A local variable is the buffer, and changes in place."""

    mean: torch.Tensor

    def forward(self, x):
        h = self.fc(x)
        mean = self.mean
        with torch.no_grad():
            for _ in range(2):
                mean = nn.functional.normalize(h.mean(0) + mean, dim=0, out=mean)
            mean = mean.clone()
        return h * mean


@pytest.mark.slow
def test_a_buffer_that_changes_under_another_name_is_returned():
    assert 'p["mean"] = mean' in source(Renamed(), X)
    assert proves(Renamed(), X)


class Masked(nn.Linear):
    def forward(self, input):
        self.weight.data *= 0.5
        return super().forward(input)


class Zeroed(nn.Linear):
    def forward(self, input):
        self.weight.data[:, -1].zero_()
        return super().forward(input)


class Clamped(nn.Linear):
    def forward(self, input):
        with torch.no_grad():
            self.weight.clamp_(min=0.1)
        return super().forward(input)


class Replaced(nn.Linear):
    def forward(self, input):
        self.weight.data = nn.functional.normalize(self.weight.data, dim=1)
        return super().forward(input)


@pytest.mark.parametrize("kind", [Masked, Zeroed, Clamped, Replaced])
def test_a_parameter_that_the_module_changes_is_refused(kind: type[nn.Linear]) -> None:
    """Each next call would start from another value, which a function of the params has not."""
    with pytest.raises(PortError, match="the parameter 'weight' is changed while the module runs"):
        source(kind(4, 4), X)


class OnePerPlace(Layers):
    """The mask chooses rows, and each of them gets the same row."""

    def forward(self, x):
        h = self.first(x).clone()
        h[x[:, 0] > 0] += self.second.weight[:1]
        h[x[:, 1] > 0] = self.second.bias
        return h * 2


def test_a_row_for_each_row_of_a_mask():
    assert agrees(OnePerPlace(), X)
    assert not agrees(OnePerPlace(), X, without='p["second"]["bias"], h)', instead="h, h)")


class Rows(nn.Module):
    """Values with leading axes of size 1 are put where torch leaves these axes out."""

    def forward(self, x):
        out = torch.zeros_like(x)
        out[0] = x.sum(0, keepdim=True)
        out[1, 1:] = x[:1, None, 1:] * 2
        return out * x


def test_leading_axes_of_an_assigned_value_are_left_out():
    """JAX's `set` broadcasts a value, and does not drop axes as torch does."""
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    written = source(Rows(), x)
    assert "out.at[0].set(x.sum(axis=0, keepdims=True)[0])" in written
    assert proves(Rows(), x)
