"""Sizes in docstrings have the author's names, or letters."""

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.finish import sizes
from tests.jaxgrad.parity.port._ports import source


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, 2), nn.Conv2d(4, 4, 1)

    def forward(self, images):
        batch = images.shape[0]
        x = self.unit(self.first, images)
        mean, std = self.moments(self.unit(self.second, x).reshape(batch, -1))
        return mean / std

    def unit(self, conv, x):
        return torch.tanh(conv(x))

    def moments(self, x):
        return x.mean(1), torch.exp(x.std(1))


def test_sizes_and_results_have_the_authors_names():
    """`batch` is a variable of the author; a size that the function changes has a prime."""
    text = source(Net(), np.ones((2, 3, 9, 9), np.float32))
    assert "images (batch, 3, H, W) -> (batch,)." in text
    assert "-> (batch, 4, H', W')." in text


class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, memory, mask):
        x = self.attend(x, x, mask[:, :, None] * mask[:, None, :])
        return self.attend(x, memory, memory[:, None, :, 0])

    def attend(self, x, memory, bias):
        scores = self.q(x) @ self.k(memory).mT + bias
        return torch.softmax(scores, -1) @ memory


def test_an_axis_has_one_letter_in_every_argument():
    """A size that is broadcast in one call is that of the axis to which it is broadcast."""
    inputs = np.ones((2, 5, 4)), np.ones((2, 3, 4)), np.ones((2, 5))
    text = source(Biased(), *(x.astype(np.float32) for x in inputs))
    assert "memory (N, M, 4), bias (N, 1|L, M) -> (N, L, 4)." in text.replace("K", "M")


class Skips(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 5, 1), nn.Conv2d(5, 3, 1)

    def forward(self, x):
        y = self.a(x)
        return self.join(y, x).sum() + self.join(x, y[:, 1:]).sum()

    def join(self, x, skip):
        return torch.cat([x.sin(), skip], 1)


def test_another_number_of_channels_has_a_prime():
    """L would look like a length."""
    text = source(Skips(), np.ones((2, 3, 6, 6), np.float32))
    assert "x (N, C, H, W), skip (N, C', H, W) -> (N, C'', H, W)." in text


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, stride=2)

    def forward(self, x):
        return self.flat(self.conv(x[: x.shape[0] // 2 * 2]))

    def flat(self, x):
        assert int(x.shape[2] * 1.0) > 0  # no symbol
        return torch.tanh(x).transpose(1, 2).reshape(-1, 3, x.shape[3])


def test_a_derived_size_is_no_number(monkeypatch):
    """The same text comes out with other numbers in place of the sizes."""
    x = np.ones((2, 3, 9, 9), np.float32)
    text = source(Halves(), x)
    monkeypatch.setattr(sizes, "NUMBERS", tuple(reversed(sizes.NUMBERS)))
    assert source(Halves(), x) == text
    assert "(2" not in text and "9" not in text.split("def ")[1]


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(4, 8), nn.Linear(4, 8)

    def forward(self, x):
        q, k = (layer(x).reshape(*x.shape[:2], 2, 4).transpose(1, 2) for layer in (self.q, self.k))
        return self.attended(self.scores(q, k))

    def scores(self, q, k):
        scores = q @ k.transpose(2, 3)
        return scores - scores.detach().mean(-1, keepdim=True)

    def attended(self, weights):
        weights = weights.softmax(-1)
        return weights.sum(1)


def test_the_positions_of_heads_are_no_sides_of_an_image():
    text = source(Heads(), np.ones((2, 5, 4), np.float32))
    assert "q (N, 2, L, 4), k (N, 2, L, 4) -> (N, 2, L, L)." in text
    assert "weights (N, 2, L, L) -> (N, L, L)." in text
