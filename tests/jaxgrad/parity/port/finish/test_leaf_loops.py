"""A loop over tensors is found if its iterations are alike and each reads its own tensors."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source
from tests.jaxgrad.parity.port.finish.test_tree_maps import Averaged, X, norm


class Named(Averaged):
    """The parameters of the other network are looked up by their names."""

    @torch.no_grad()
    def update(self):
        online = dict(self.online.named_parameters())
        for name, k in self.target.named_parameters():
            k.copy_(0.5 * k + 0.5 * online[name])


def test_parameters_that_are_looked_up_by_name_are_those_of_the_other_tree():
    text = source(Named(), X)
    assert "lambda target, online: 0.5 * target + 0.5 * online" in text
    assert '"0.weight"' not in text
    assert proves(Named(), X)


class Decayed(Averaged):
    """Each parameter has its own momentum."""

    @torch.no_grad()
    def update(self):
        online, target = self.online.parameters(), self.target.parameters()
        for n, (q, k) in enumerate(zip(online, target, strict=True)):
            k.lerp_(q, 0.1 * (n + 1))


class Chained(Averaged):
    """Each parameter is scaled by the sum of the ones before it."""

    @torch.no_grad()
    def update(self):
        total = torch.zeros(())
        for k in self.target.parameters():
            total = total + k.sum()
            k.mul_(total)


class Shuffled(Averaged):
    """A parameter takes the value of another one of the same tree."""

    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def update(self):
        layers: Any = self.target
        for n in range(3):
            layers[n].weight.copy_(layers[n + 1].weight)


class Last(Averaged):
    """The last parameter is read after the loop."""

    def forward(self, x):
        last = x
        with torch.no_grad():
            for k in self.target.parameters():
                last = k.mul_(0.9)
        return self.online(x) + self.target(x) + last.sum()


@pytest.mark.parametrize("kind", [Decayed, Chained, Shuffled, Last])
def test_iterations_that_depend_on_their_number_or_on_each_other_stay_apart(kind):
    assert "tree.map(lambda target" not in source(kind(), X)
    assert proves(kind(), X)


class Listed(Averaged):
    """The parameters are in lists that have names."""

    @torch.no_grad()
    def update(self):
        online, target = list(self.online.parameters()), list(self.target.parameters())
        pairs = zip(online, target, strict=True)
        for q, k in pairs:
            k.lerp_(q, 0.1)


class Each(Averaged):
    """The parameters are changed by operators on lists of them."""

    @torch.no_grad()
    def update(self):
        target: Any = list(self.target.parameters())
        torch._foreach_mul_(target, self.momentum)  # pyright: ignore[reportPrivateImportUsage]
        online: Any = list(self.online.parameters())
        torch._foreach_add_(target, online, alpha=1 - self.momentum)  # pyright: ignore[reportPrivateImportUsage]


class Set(Averaged):
    """The parameters are set through `.data`."""

    @torch.no_grad()
    def update(self):
        for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
            k.data = k.data * 0.9 + q.data * 0.1


class Loaded(Averaged):
    @torch.no_grad()
    def update(self):
        self.target.load_state_dict(self.online.state_dict())


class State(Averaged):
    """All tensors of a state_dict follow."""

    @torch.no_grad()
    def update(self):
        online = self.online.state_dict()
        for name, k in self.target.state_dict().items():
            k.copy_(0.5 * (k + online[name]))


@pytest.mark.parametrize("kind", [Listed, Each, Set, Loaded, State])
def test_other_ways_to_change_all_parameters_are_maps_too(kind):
    text = source(kind(), X)
    body = text.partition("def update(p")[2].partition("def ")[0]
    assert 'p["target"] = lax.stop_gradient(' in body
    assert "weight" not in body
    assert proves(kind(), X)


def test_a_tree_with_counters_is_copied_as_a_whole():
    """A counter can have no gradient, so that nothing stops it."""
    text = source(Loaded(norm), X)
    assert 'p["target"] = lax.stop_gradient(p["online"])' in text
    assert proves(Loaded(norm), X)


def test_an_iteration_of_another_kind_is_beside_the_map():
    """The counter is cast to integers, which makes its iteration differ."""
    text = source(State(norm), X)
    assert "lambda target, online: 0.5 * (target + online)" in text
    assert '.astype(k.dtype)\n    p["target"][1]["num_batches_tracked"] = k\n' in text
    assert "online = {" not in text
    assert proves(State(norm), X)


class Alias(Averaged):
    @torch.no_grad()
    def update(self):
        for q, k in zip(self.online.parameters(), self.target.parameters(), strict=True):
            k.data = q.data


def test_data_that_is_the_memory_of_another_parameter_is_refused():
    with pytest.raises(PortError, match="`data` of a tensor is set"):
        port(Alias(), (X,), prove=False)
