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


def scores_of(x, key, scale):
    scores = x * scale
    # the weights
    weights = scores.softmax(-1)
    shift = key.mean()
    return scores, weights, shift


class Scores(Several):
    def forward(self, x):
        found = scores_of(self.project(x), x.exp(), 2.0)
        return found[1] * 2


def test_what_only_an_unread_result_needs_is_left_out():
    """The statements, the argument, and what the caller computes for it."""
    text = source(Scores(), X)
    assert "return jax.nn.softmax(scores, axis=-1)" in text and "weights = scores_of(" in text
    assert "mean" not in text and "exp" not in text and "key" not in text
    assert agrees(Scores(), X)


class EachReads(Several):
    def forward(self, x):
        first, _, shift = scores_of(self.project(x), x, 2.0)
        _, weights, _ = scores_of(first, x, 2.0)
        return weights * shift


def test_a_result_that_one_caller_reads_stays_for_all():
    text = source(EachReads(), X)
    assert "return scores, jax.nn.softmax(scores, axis=-1), key.mean()" in text
    assert "scores = x * scale" in text  # 2.0 is no root of the 4 features
    assert agrees(EachReads(), X)
