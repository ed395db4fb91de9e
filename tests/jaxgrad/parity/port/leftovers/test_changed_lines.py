"""The line after which something has changed is the line that changes it."""

import functools

import torch
from torch import nn

from jaxgrad.parity.port.leftovers.changed_lines import line_of


def _doubled(x):
    return x * 2


class Adds(nn.Module):
    total: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    @torch.no_grad()
    def forward(self, x):
        x = x + 1
        self.total.add_(_doubled(x))
        return x


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.adds = Adds()

    def forward(self, x):
        return self.adds(x) + _doubled(x)


def test_the_line_of_a_method_that_torch_calls():
    """It is not the line of the helper that the same statement has called before."""
    module = Calls()
    place = line_of(lambda: module(torch.ones(2)), lambda: bool(module.adds.total.any()))

    assert place is not None
    assert place.text.strip() == "self.total.add_(_doubled(x))"


def test_a_change_that_the_users_program_does_not_make_has_no_line():
    norm = nn.BatchNorm1d(2)
    run = functools.partial(norm, torch.ones(3, 2))
    place = line_of(run, lambda: bool(norm.num_batches_tracked))

    assert place is None


def test_nothing_changes():
    module = Calls()

    assert line_of(lambda: module(torch.ones(2)), lambda: False) is None
