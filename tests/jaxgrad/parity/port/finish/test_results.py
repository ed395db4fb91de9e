"""A function does not return constants that no caller reads."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)

    def forward(self, x, with_weights=False):
        y = self.project(x)
        weights = y.softmax(-1)
        if not with_weights:
            weights = None
        return y, weights


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Attention(), Attention()

    def forward(self, x):
        x, _ = self.first(x)
        x, _ = self.second(x)
        return x


def test_none_beside_a_result_is_left_out():
    text = source(Two(), X)
    assert 'x = attention(p["first"], x)' in text and "None" not in text
    assert agrees(Two(), X)


def sizes_of(x):
    return None, x * 2, 0, x.shape[1]


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)

    def forward(self, x):
        _, y, _, length = sizes_of(self.project(x))
        return y / length


def test_the_other_results_stay_in_their_order():
    text = source(Several(), X)
    assert "return x * 2, x.shape[1]" in text and "y, length = sizes_of(" in text
    assert agrees(Several(), X)


class Whole(Several):
    def forward(self, x):
        found = sizes_of(self.project(x))
        return found[1] / found[3]


def test_a_result_that_is_kept_as_a_whole_stays():
    assert "return None, x * 2, 0, x.shape[1]" in source(Whole(), X)
    assert agrees(Whole(), X)


def halves(x):
    x = x * 2
    return None, x[..., :2], x[..., 2:]


def product(a, b):
    c = a * b
    return c + a


class Spread(Several):
    def forward(self, x):
        return product(*halves(self.project(x))[1:])


def test_a_call_whose_results_are_spread_is_made_once():
    assert source(Spread(), X).count("halves(") == 2  # its definition and its call
    assert agrees(Spread(), X)
