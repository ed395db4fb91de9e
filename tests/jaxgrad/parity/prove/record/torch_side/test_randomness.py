"""The random numbers that torch draws are recorded, also inside fused functions, and replayed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity.prove.record.torch_side.randomness import Randomness, replaying


X = torch.ones(3, 4)
Q = torch.ones(1, 2, 3, 4)
GRU = nn.GRU(4, 2, 2, dropout=0.3)


@pytest.mark.parametrize(
    ("call", "kind", "shape"),
    [
        (lambda: functional.dropout(X, 0.3), "bernoulli", (3, 4)),
        (lambda: functional.dropout2d(Q, 0.3), "bernoulli", (1, 2, 1, 1)),
        (lambda: functional.alpha_dropout(X, 0.3, training=True), "bernoulli", (3, 4)),
        (lambda: functional.feature_alpha_dropout(Q, 0.3, training=True), "bernoulli",
         (1, 2, 1, 1)),
        (lambda: functional.scaled_dot_product_attention(Q, Q, Q, dropout_p=0.3), "bernoulli",
         (1, 2, 3, 3)),
        (lambda: GRU(X)[0], "bernoulli", (3, 1, 2)),
        (lambda: torch.empty(3, 4).bernoulli_(0.7), "bernoulli", (3, 4)),
        (lambda: torch.bernoulli(0.7 * X), "bernoulli", (3, 4)),
        (lambda: torch.rand(3), "uniform", (3,)),
        (lambda: torch.empty(3).uniform_(-1, 3), "uniform", (3,)),
        (lambda: torch.randn_like(X), "normal", (3, 4)),
        (lambda: torch.normal(2 * X, 3 * X), "normal", (3, 4)),
        (lambda: torch.empty(5).normal_(2, 3), "normal", (5,)),
        (lambda: functional.gumbel_softmax(X), "exponential", (3, 4)),
        (lambda: torch.randperm(4), "randperm", (4,)),
    ],
)  # fmt: skip
def test_random_numbers_are_recorded_and_replayed(call: Callable[[], Any], kind, shape):
    """A call's numbers are recorded with their kind, and a replay gives the same result."""
    torch.manual_seed(0)
    with Randomness() as record:
        first = call()
    (noise,) = record.noise
    assert noise.kind == kind and noise.drawn.shape == shape
    if kind == "bernoulli":
        np.testing.assert_allclose(noise.rate, 0.7, rtol=1e-6)
    if kind == "uniform":
        assert ((noise.standard >= 0) & (noise.standard <= 1)).all()
    torch.testing.assert_close(replaying(call, record.noise)(), first)
    assert kind == "bernoulli" or not torch.equal(call(), first)


def test_normal_numbers_are_standardised():
    """The mean and the deviation of normal numbers are taken out."""
    with Randomness() as record:
        torch.empty(5).normal_(2, 3)
        torch.normal(2 * X, 3 * X)
    for noise in record.noise:
        np.testing.assert_allclose(2 + 3 * noise.standard, noise.drawn, rtol=1e-5)


def test_attention_without_dropout_draws_nothing():
    """Deterministic calls are not recorded."""
    with Randomness() as record:
        functional.scaled_dot_product_attention(Q, Q, Q)
        functional.dropout(X, 0.5, training=False)
    assert not record.noise


def test_normal_numbers_without_a_deviation_have_finite_standard_numbers():
    """Normal numbers with the deviation 0 have the standard number 0."""
    with Randomness() as record:
        torch.normal(torch.full((3,), 2.0), torch.tensor([0.0, 1.0, 2.0]))
    (noise,) = record.noise
    np.testing.assert_allclose(noise.standard * [0, 1, 2], noise.drawn - 2)
    assert noise.standard[0] == 0


@pytest.mark.parametrize(
    ("draw", "kind", "low", "size"),
    [
        (lambda: torch.rand(5), "uniform", 0, 1),
        (lambda: torch.empty(5).uniform_(), "uniform", 0, 1),
        (lambda: torch.empty(5).uniform_(-1, 3), "uniform", -1, 4),
        (lambda: torch.empty(5).uniform_(to=3), "uniform", 0, 3),
        (lambda: torch.randn(5), "normal", 0, 1),
        (lambda: torch.empty(5).normal_(), "normal", 0, 1),
        (lambda: torch.empty(5).normal_(std=3), "normal", 0, 3),
        (lambda: torch.empty(5).exponential_(), "exponential", 0, 1),
        (lambda: torch.empty(5).exponential_(4.0), "exponential", 0, 0.25),
        (lambda: torch.empty(5).cauchy_(2.0), "cauchy", 0, 1),
    ],
    ids=range(10),
)
def test_each_distribution_has_standard_numbers(draw, kind, low, size):
    """Location and scale are taken out, also where they are torch's defaults."""
    with Randomness() as record:
        numbers = draw()
    (noise,) = record.noise
    assert (noise.kind, noise.call) == (kind, -1)
    np.testing.assert_allclose(low + size * noise.standard, numbers, rtol=1e-5, atol=1e-6)


def test_a_bernoulli_has_the_rate_that_torch_draws_with():
    """The probability of a one is an argument, torch's default, or the tensor of probabilities."""
    rates = torch.tensor([0.25, 0.75])
    with Randomness() as record:
        torch.empty(2).bernoulli_()
        torch.empty(2).bernoulli_(rates)
        torch.bernoulli(rates)
        torch.bernoulli(rates, 0.125)
    assert [np.asarray(noise.rate).tolist() for noise in record.noise] == [
        0.5, [0.25, 0.75], [0.25, 0.75], 0.125
    ]  # fmt: skip


def test_only_numbers_of_the_same_shape_are_replayed():
    """A call that draws more numbers, or others, draws its own."""
    torch.manual_seed(0)
    with Randomness() as record:
        first, second = torch.rand(3), torch.rand(4)
    torch.manual_seed(1)
    with Randomness(record.noise):
        assert torch.equal(torch.rand(3), first)
        assert not torch.equal(torch.rand(3), second[:3])
        assert not torch.equal(torch.rand(3), first)


def test_a_changed_call_draws_the_numbers_of_that_call_alone():
    """A changed call draws its recorded numbers, and nothing else that it draws is recorded."""
    torch.manual_seed(0)
    with Randomness() as record:
        for number in (3, 4):
            record.call = number
            torch.rand(2)
    again = Randomness(record.noise)
    again.call = 4
    with again:
        changed = again.changed(lambda: torch.rand(2), lambda func: 2 * func() + 0 * torch.rand(2))
    np.testing.assert_allclose(changed, 2 * record.noise[1].drawn)
    assert again.noise == [record.noise[1]] and again.on
