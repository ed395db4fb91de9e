"""A port calls a method once, however many of its results are read by index."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port


X, Y = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)


class Head(nn.Module):
    """A module whose methods update the running statistics of a BatchNorm."""

    def __init__(self):
        super().__init__()
        self.norm, self.a, self.b = nn.BatchNorm1d(3), nn.Linear(3, 2), nn.Linear(3, 2)
        self.c = nn.Linear(2, 5)

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)

    def named(self, x):
        h = self.norm(x)
        return {"a": self.a(h), "b": self.b(h)}

    def both(self, a, b):
        return a * b + a


class Zipped(Head):
    def forward(self, x, y):
        a, b = zip(*(self.level(v) for v in (x, y)), strict=True)
        return torch.cat(a), torch.cat(b)


class ListOfZip(Head):
    def forward(self, x, y):
        a, b = list(zip(*[self.level(v) for v in (x, y)][:2], strict=True))
        return torch.cat(a), torch.cat(b)


class Columns(Head):
    def forward(self, x, y):
        outs = [(self.c(v[:, :2]), v) for v in (x, y)]
        return [torch.cat(v) for v in zip(*outs)]  # noqa: B905


class ZippedMap(Head):
    def forward(self, x, y):
        a, b = map(torch.cat, zip(*map(self.level, (x, y)), strict=True))
        return a, b


class Loop(Head):
    def forward(self, x, y):
        total = 0
        for a, b in [self.level(v) for v in (x, y)]:
            total = total + a * b
        return total


class UnrolledLoop(Head):
    def forward(self, x, y):
        total = 0
        layers = self.c, self.a
        for layer, (a, b) in zip(layers, [self.level(v) for v in (x, y)], strict=True):
            total = total + (layer(a).sum() * b if layer is self.c else a * b * a)
        return total


class UnrolledCalls(Head):
    def forward(self, x, y):
        total = 0
        for layer, (a, b) in ((self.c, self.level(x)), (self.a, self.level(y))):
            total = total + (layer(a).sum() * b if layer is self.c else a * b * a)
        return total


class DictComprehension(Head):
    def forward(self, x, y):
        d = {key: a * b for key, (a, b) in zip("ab", [self.level(v) for v in (x, y)], strict=True)}
        return d["a"] * d["b"]


class Filtered(Head):
    def forward(self, x, y):
        parts = [a * b for a, b in [self.level(v) for v in (x, y)] for _ in range(2)]
        return parts[0] + parts[1] * parts[2] + parts[3]


class Joined(Head):
    def forward(self, x, y):
        others = [y.sum()]
        parts = [self.level(v)[0] for v in (x, y)] + others
        return parts[0] * parts[1] * parts[2]


class Repeated(Head):
    def forward(self, x, y):
        return torch.cat([self.level(x)[0]] * 2) + y.sum()


class Listed(Head):
    def forward(self, x, y):
        return torch.cat([*[self.level(v)[0] for v in (x, y)], self.c(x[:, :2])[:, :2]])


class Starred(Head):
    def forward(self, x, y):
        first, *others = self.level(x)
        return self.both(*[self.level(v)[0] for v in (x, y)]) * first + others[0]


class Nested(Head):
    def forward(self, x, y):
        def product(pair):
            return pair[0] * pair[1] + y.sum()

        return product(self.level(x))


class Keywords(Head):
    def forward(self, x, y):
        record = {**self.named(x), "y": y}
        return self.both(**self.named(y)) * record["a"] + record["b"]


class Summed(Head):
    def forward(self, x, y):
        return sum((self.level(v)[0] for v in (x, y)), x.sum())


class Stopped(Head):
    def forward(self, x, y):
        with torch.no_grad():
            parts = [self.level(v)[0] for v in (x, y)]
        return parts[0] * parts[1] * self.a(x)


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        (Zipped, 1), (ListOfZip, 1), (ZippedMap, 2), (Loop, 1), (UnrolledLoop, 1),
        (UnrolledCalls, 2), (DictComprehension, 1), (Filtered, 1), (Joined, 1), (Repeated, 1),
        (Listed, 1), (Starred, 2), (Nested, 1), (Keywords, 2), (Summed, 1), (Stopped, 1),
    ],
    ids=lambda x: x.__name__ if isinstance(x, type) else "",
)  # fmt: skip
def test_a_container_is_computed_once(kind, calls):
    """The source calls each method as often as it is written in torch's."""
    text = port(kind(), (X, Y), style="nnx", prove=False).source
    assert text.count("self.level(") + text.count("self.named(") == calls


def test_zip_keeps_the_names_of_its_columns():
    """A list is zipped as in torch; results of separate calls are unpacked into `a_0, b_0`."""
    text = port(Zipped(), (X, Y), style="nnx", prove=False).source
    assert "a, b = zip(*[self.level(v) for v in (x, y)], strict=True)" in text
    text = port(Zipped(), (X, Y), prove=False).source
    assert "(a_0, b_0), p = level(p, x" in text and "a = a_0, a_1" in text
    text = port(Columns(), (X, Y), prove=False).source
    assert "for v in zip(*outs)]" in text and "list(zip" not in text


@pytest.mark.parametrize("kind", [Zipped, Columns, UnrolledLoop, Filtered, Keywords, Stopped])
def test_running_statistics_agree_with_torch(kind):
    report = port(kind(), (X, Y), style="nnx").report
    assert report is not None and report.verdict == "pass"
