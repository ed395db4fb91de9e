"""A port is right at another length than the example's, or it raises an AssertionError."""

import functools
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.ported import Ported


RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4, 4)).astype(np.float32)
OTHERS = [RNG.standard_normal((2, n, 4)).astype(np.float32) for n in (3, 6)]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)


class LastPart(Layer):
    def forward(self, x):
        *_, last = x.split(2, 1)
        return self.linear(last)


class FirstAndRest(Layer):
    def forward(self, x):
        first, *rest = x.split(1, 1)
        return self.linear(first) * len(rest) + torch.cat(rest, 1).sum(1, keepdim=True)


class EachChunk(Layer):
    def forward(self, x):
        return torch.stack([self.linear(part).sum(1) for part in x.chunk(3, 1)])


class NumberOfParts(Layer):
    def forward(self, x):
        parts = x.split(2, 1)
        return self.linear(parts[0]) / len(parts)


class LastTwo(Layer):
    def forward(self, x):
        before, last = x.unbind(1)[-2:]
        return self.linear(before) - last


class FromTheEnd(Layer):
    def forward(self, x):
        outs = []
        for t in range(x.size(1)):
            outs.append((self.linear(x[:, t]), x[:, t]))  # noqa: PERF401  # a loop is the case
        return outs[-1][0] * outs[-2][1] / len(outs)


class SumOfAList(Layer):
    def forward(self, x):
        return self.linear(sum(list(x.unbind(1))))


class Reversed(Layer):
    def forward(self, x):
        steps = list(x.transpose(0, 1))
        steps.reverse()
        steps.insert(0, steps.pop())
        return self.linear(steps[1] - 2 * steps[-1])


class ListsInADict(Layer):
    def forward(self, x):
        lists: dict[str, list[Any]] = {"outs": [], "ins": []}
        for t in range(x.size(1)):
            lists["outs"].append(self.linear(x[:, t]))
            lists["ins"].append(x[:, t])
        return torch.stack(lists["outs"]) * len(lists["ins"])


class RangeAsAValue(Layer):
    def forward(self, x):
        places = list(range(x.size(1)))
        return sum(self.linear(x[:, n]) * n for n in places[::-1])


class ListInAList(Layer):
    def forward(self, x):
        return torch.cat([self.linear(x), *x.split(2, 1)], 1)


class PartsOfGivenSizes(Layer):
    def forward(self, x):
        half = x.size(1) // 2
        a, b = x.split([half, x.size(1) - half], 1)
        return self.linear(a).sum(1) + b.mean(1)


class TwoEqualSizes(Layer):
    def forward(self, x):
        image = self.linear(x)[:, None]
        return torch.nn.functional.avg_pool2d(image, (image.size(2), image.size(3)))


class ADefaultByChance(Layer):
    def forward(self, x):
        return torch.triu(self.linear(x), diagonal=x.size(1) - 4)


class NumberOrElse(Layer):
    def forward(self, x):
        extra = x.size(1) - 4 or 7
        return self.linear(x) * extra * (x.size(1) // 4 or 1)


class QuotientAndRest(Layer):
    def forward(self, x):
        quotient, rest = divmod(x.size(1), 2)
        return self.linear(x[:, : quotient + rest])


@functools.cache
def _ported(kind: type[nn.Module]) -> tuple[nn.Module, Ported]:
    module = kind()
    return module, port(module, (X,), prove=False)


def _matches(kind: type[nn.Module], x: np.ndarray) -> bool:
    module, ported = _ported(kind)
    expected = module(torch.tensor(x)).detach().numpy()
    actual = np.asarray(ported.fn(ported.params(module.state_dict()), x))
    return actual.shape == expected.shape and np.allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [
    LastPart, FirstAndRest, EachChunk, NumberOfParts, LastTwo, FromTheEnd, SumOfAList, Reversed,
    ListsInADict, RangeAsAValue, ListInAList, PartsOfGivenSizes, TwoEqualSizes, ADefaultByChance,
    NumberOrElse, QuotientAndRest,
])  # fmt: skip
def test_the_length_is_computed(kind: type[nn.Module]):
    """One file holds for three lengths, without an assumption."""
    assert not _ported(kind)[1].assumptions
    assert all(_matches(kind, x) for x in [X, *OTHERS])


class StarArguments(Layer):
    def forward(self, x):
        return self._first(*x.unbind(1))

    def _first(self, first, *others):
        return self.linear(first) * len(others)


class Reduced(Layer):
    def forward(self, x):
        return functools.reduce(lambda a, b: torch.tanh(a + self.linear(b)), x.unbind(1))


class Transposed(Layer):
    def forward(self, x):
        pairs = [(self.linear(step), step * 2) for step in x.unbind(1)]
        left, right = zip(*pairs, strict=True)
        return left[0] * len(right)


class FilteredBySize(Layer):
    def forward(self, x):
        return sum(self.linear(x[:, n]) for n in range(4) if n < x.size(1) - 1)


class FormattedName(nn.Module):
    def __init__(self):
        super().__init__()
        self.head_3, self.head_4, self.head_6 = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return getattr(self, f"head_{x.size(1)}")(x)


class KeyedBySize(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({str(n): nn.Linear(4, 4) for n in (3, 4, 6)})

    def forward(self, x):
        return self.heads[str(x.size(1))](x)


class ScaledBySize(Layer):
    scales = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)

    def forward(self, x):
        return self.linear(x) * self.scales[x.size(1)]


class OneOfTwoSizes(Layer):
    def forward(self, x):
        return self.linear(x) if x.size(1) in (4, 5) else self.linear(x) * 2


class EvenSizes(Layer):
    def forward(self, x):
        return self.linear(x) if all(size % 4 == 0 for size in x.shape[1:]) else x


class NoTurns(Layer):
    def forward(self, x):
        y = self.linear(x)
        for _ in range(abs(x.size(1) - 4)):
            y = y + self.linear(y)
        return y


class ReusedName(Layer):
    def forward(self, x):
        for n in range(2):
            x = x + n
        n = x.size(1)
        return self.linear(x) if n == 4 else x


class LayersOfOneLength(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4, bias=False), nn.Identity(), nn.Tanh()]
        )

    def forward(self, x):
        y = 0
        for layer, step in zip(self.layers, x.unbind(1), strict=False):
            y = y + layer(step)
        return y


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [
    StarArguments, Reduced, Transposed, FilteredBySize, FormattedName, KeyedBySize, ScaledBySize,
    NoTurns, LayersOfOneLength,
])  # fmt: skip
def test_the_length_is_asserted(kind: type[nn.Module]):
    """A number that is folded is an assumption, and another length raises."""
    assert _ported(kind)[1].assumptions
    assert _matches(kind, X)
    for x in OTHERS:
        with pytest.raises(AssertionError):
            _matches(kind, x)


@pytest.mark.parametrize("kind", [OneOfTwoSizes, EvenSizes, ReusedName])
def test_both_sides_of_a_test_on_a_length_are_written(kind: type[nn.Module]):
    """Another length takes the other side, as in torch."""
    assert not _ported(kind)[1].assumptions
    assert all(_matches(kind, x) for x in (X, *OTHERS))


class BrokenOff(Layer):
    def forward(self, x):
        y = self.linear(x[:, 0])
        for t in range(x.size(1)):
            if t == 3:
                break
            y = torch.tanh(self.linear(y))
        return y


def test_a_loop_that_is_left_may_be_longer():
    """The port asserts that the loop does not end before the iteration that leaves it."""
    assert all(_matches(BrokenOff, x) for x in (X, OTHERS[1]))
    with pytest.raises(AssertionError, match="runs 4 times"):
        _matches(BrokenOff, OTHERS[0])


class TakesTwoRanks(Layer):
    def forward(self, x):
        return self.linear(x).sum(1) if x.dim() == 3 else self.linear(x)


def test_the_rank_is_asserted():
    assert _matches(TakesTwoRanks, X)
    with pytest.raises(AssertionError, match="x.ndim == 3"):
        _matches(TakesTwoRanks, X[0])


class Printed(Layer):
    def forward(self, x):
        print(f"the length is {x.size(1)}")
        return self.linear(x)


def test_a_message_binds_no_size():
    assert not _ported(Printed)[1].assumptions
    assert all(_matches(Printed, x) for x in OTHERS)


class OnesOfARank(Layer):
    def forward(self, x):
        scale = torch.arange(x.size(0), dtype=x.dtype)
        return self.linear(x) * scale.view(-1, *[1] * (x.dim() - 1))


def test_a_number_of_sizes_is_computed():
    """`x.view(-1, *ones)` holds for each rank."""
    assert not _ported(OnesOfARank)[1].assumptions
    assert all(_matches(OnesOfARank, x) for x in (X, X[0], X[None]))
