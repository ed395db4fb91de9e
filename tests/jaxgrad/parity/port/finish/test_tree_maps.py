"""A loop over the parameters of modules is written as one `jax.tree.map`."""

import copy
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


class Averaged(nn.Module):
    """A network whose target is the moving average of another one."""

    momentum = 0.9

    def __init__(self, norm: Any = nn.ReLU):
        super().__init__()
        torch.manual_seed(0)
        self.online = nn.Sequential(nn.Linear(4, 5), norm(), nn.Linear(5, 3))
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def update(self):
        for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
            k.mul_(self.momentum).add_(q, alpha=1 - self.momentum)

    def forward(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2


def norm():
    return nn.BatchNorm1d(5)


def test_a_moving_average_of_parameters_is_one_map():
    text = source(Averaged(), X)
    assert "lambda target, online: F.add(target * momentum, online, alpha=1 - momentum)" in text
    assert text.count("F.add") == 1
    assert proves(Averaged(), X)


def test_no_gradient_goes_through_an_average_of_a_function_under_no_grad():
    """The target is called outside of `no_grad`, and its weights are constants in torch."""
    assert 'p["target"] = lax.stop_gradient(target)' in source(Averaged(), X)


def test_buffers_that_the_loop_leaves_alone_are_split_off():
    text = source(Averaged(norm), X)
    assert 'target, rest = jaxgrad.partition(p["target"], is_parameter)' in text
    assert 'name.split("/")[-1] in ("weight", "bias")' in text
    assert proves(Averaged(norm), X)


class Assigned(Averaged):
    """The target is changed through `.data`, with a value that is read twice."""

    @torch.no_grad()
    def update(self):
        for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
            step = q.data - k.data
            k.data.copy_(k.data + 0.1 * step * step.abs())


def test_a_value_that_is_read_twice_makes_a_function():
    text = source(Assigned(), X)
    assert "def updated(target, online):\n        step = online - target\n" in text
    assert "jax.tree.map(updated, " in text
    assert proves(Assigned(), X)


class Copied(Averaged):
    """The parameters and the buffers of the target are those of the other network."""

    @torch.no_grad()
    def update(self):
        for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
            k.copy_(q)
        for q, k in zip(self.online.buffers(), self.target.buffers(), strict=True):
            k.copy_(q)


def test_a_copy_of_parameters_is_the_other_tree():
    assert 'p["target"] = lax.stop_gradient(p["online"])' in source(Copied(), X)
    assert proves(Copied(), X)


def test_a_copy_of_parameters_and_buffers_is_the_other_tree():
    assert 'p["target"] = lax.stop_gradient(p["online"])' in source(Copied(norm), X)
    assert proves(Copied(norm), X)


class Both(Averaged):
    """The parameters follow, and the buffers are those of the other network."""

    def __init__(self):
        super().__init__()
        blocks = [nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4), nn.BatchNorm1d(4)]
        self.online = nn.Sequential(*blocks)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def update(self):
        super().update()
        with torch.no_grad():
            for q, k in zip(self.online.buffers(), self.target.buffers(), strict=True):
                k.copy_(q)


def test_parameters_that_follow_and_buffers_that_are_copied_are_split_each():
    text = source(Both(), X)
    assert "is_parameter)" in text
    assert "is_buffer)" in text
    assert proves(Both(), X)


class Clipped(Averaged):
    """The parameters of one network stay within bounds."""

    @torch.no_grad()
    def update(self):
        for k in self.target.parameters():
            k.clamp_(-0.2, 0.2)


def test_a_loop_over_one_network_is_a_map_over_its_tree():
    text = source(Clipped(), X)
    assert 'jax.tree.map(lambda target: F.clamp(target, min=-0.2, max=0.2), p["target"])' in text
    assert proves(Clipped(), X)


class Weights(Averaged):
    """The biases are left alone."""

    def __init__(self):
        super().__init__()
        more = [nn.Linear(3, 3) for _ in range(2)]
        self.online = nn.Sequential(*self.online, *more)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def update(self):
        online = dict(self.online.named_parameters())
        for name, k in self.target.named_parameters():
            if name.endswith("weight"):
                k.lerp_(online[name], 0.1)


def test_leaves_are_chosen_where_the_loop_tests_their_names():
    text = source(Weights(), X)
    assert "def is_changed(name, _):" in text
    assert 'return name.split("/")[-1] == "weight"' in text
    assert proves(Weights(), X)


class Unlike(Averaged):
    """The trees differ: the target is not called, and holds nothing but its parameters."""

    def forward(self, x):
        self.update()
        return self.online(x) + sum(k.sum() for k in self.target.parameters())


def test_trees_of_different_structure_stay_apart():
    """The buffers of the target are not read, so that they are not in the params."""
    assert "tree.map(lambda target" not in source(Unlike(norm), X)
    assert proves(Unlike(norm), X)


def test_comments_of_the_loop_are_above_the_map():
    class Commented(Averaged):
        @torch.no_grad()
        def update(self):
            # the target follows slowly
            for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
                k.lerp_(q, 0.1)  # by a tenth

    text = source(Commented(), X)
    assert "# the target follows slowly" in text
    assert "# by a tenth" in text


class State(Averaged):
    """The floating tensors of a state_dict are averaged, and the counter is copied."""

    @torch.no_grad()
    def update(self):
        pairs = zip(
            self.target.state_dict().values(), self.online.state_dict().values(), strict=True
        )
        for k, q in pairs:
            if k.is_floating_point():
                k.copy_(self.momentum * k + (1 - self.momentum) * q)
            else:
                k.copy_(q)


def test_iterations_of_two_kinds_are_ordered_so_that_one_kind_is_a_map():
    """The counter is in the middle of the state_dict."""
    text = source(State(norm), X)
    assert "lambda target, online: momentum * target + (1 - momentum) * online" in text
    assert 'return name != "1/num_batches_tracked"' in text
    assert 'p["target"][1]["num_batches_tracked"] = ' in text
    assert proves(State(norm), X)


class Chained(State):
    """The bias of each layer becomes the mean of the weight before it."""

    @torch.no_grad()
    def update(self):
        weight: Any = self.target[0].weight
        for name, k in self.target.named_parameters():
            if name.endswith("weight"):
                k.mul_(self.momentum)
                weight = k
            else:
                k.copy_(weight.mean().expand(k.shape))


def test_iterations_that_read_what_another_one_changes_keep_their_order():
    text = source(Chained(), X)
    assert "jax.tree.map" not in text.replace("jax.tree.map(lambda x: x, p)", "")
    assert proves(Chained(), X)


class Left(State):
    """The variable of the loop is read after it."""

    @torch.no_grad()
    def update(self):
        total = 0
        for k, q in zip(self.target.parameters(), self.online.parameters(), strict=True):
            if k.ndim > 1:
                new = k * self.momentum + q
            else:
                new = q * 0.5
            k.copy_(new)
            total = new.sum()
        first: Any = self.target[0].weight
        first.add_(total)


def test_a_loop_whose_last_value_is_read_after_it_keeps_its_order():
    assert proves(Left(), X)
