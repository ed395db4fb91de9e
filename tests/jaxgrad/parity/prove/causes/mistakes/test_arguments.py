"""Mistakes in the arguments of a call: a default, another number, the other value of a flag."""

from typing import Any

import pytest
import torch
from torch.nn import functional

from jaxgrad.parity.prove.causes.mistakes import arguments
from jaxgrad.parity.prove.causes.mistakes.call import NUMBER
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import check, draw, texts, tried


X, Y, Z = draw(3, 4), draw(3, 4, seed=1), draw(3, 4, seed=2)
LABELS = (Y > 0).double()
SOFTPLUS = functional.softplus(X)
TWO = torch.full((4,), 2.0, dtype=torch.float64)


@pytest.mark.parametrize(
    ("func", "args", "kwargs", "expected"),
    [
        (functional.softplus, (X,), {"beta": 3}, {"beta is 1, torch uses 3": SOFTPLUS}),
        (functional.softplus, (X, 3.0), {}, {"beta is 1, torch uses 3": SOFTPLUS}),
        (X.softmax, (1,), {}, {}),
        (
            functional.hardtanh,
            (X,),
            {"min_val": -0.5, "max_val": 0.5},
            {
                "min_val is -1, torch uses -0.5": X.clamp(-1, 0.5),
                "max_val is 1, torch uses 0.5": X.clamp(-0.5, 1),
                "hardtanh has min_val -1 and max_val 1, torch's has min_val -0.5 and max_val 0.5":
                    X.clamp(-1, 1),
            },
        ),
        (
            functional.triplet_margin_loss,
            (X, Y, Z),
            {"margin": 3.0},
            {"margin is 1, torch uses 3": functional.triplet_margin_loss(X, Y, Z)},
        ),
        (
            functional.huber_loss,
            (X, Y),
            {"delta": 0.5},
            {"delta is 1, torch uses 0.5": functional.huber_loss(X, Y)},
        ),
        (
            functional.binary_cross_entropy_with_logits,
            (X, LABELS),
            {"pos_weight": TWO},
            {
                "no pos_weight is used, torch's has the shape [4]":
                    functional.binary_cross_entropy_with_logits(X, LABELS)
            },
        ),
        (
            functional.cosine_similarity,
            (X, Y),
            {"dim": 0, "eps": 2.0},
            {"eps is 1e-08, torch uses 2": functional.cosine_similarity(X, Y, 0)},
        ),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)  # fmt: skip
def test_an_argument_that_torch_gives_may_be_left_out(func, args, kwargs, expected):
    """The port then has the default of torch's function, wherever torch gives the argument."""
    check(tried(arguments.defaults, func, *args, **kwargs), expected)


def test_the_argument_is_added_to_the_call_of_the_same_function():
    """The edit writes the argument into the call of a function with torch's name."""
    (call,) = tried(arguments.defaults, functional.huber_loss, X, Y, delta=0.5)

    assert (call.setting, call.fix) == ("1", ("huber_loss", "delta=0.5"))


def test_an_argument_without_an_effect_is_not_tried():
    """Both bounds are beyond all elements, and one threshold beyond the other elements."""
    assert not tried(arguments.defaults, functional.hardtanh, 0.1 * X, -9.0, 9.0)
    assert not tried(arguments.defaults, functional.softplus, X, 1, 30)


def test_two_defaults_are_tried_together_only_if_one_of_them_gives_another_result():
    """All losses are finite, so zero_infinity changes none: the blank alone explains as much."""
    logits = draw(6, 2, 4).log_softmax(-1)
    lengths = torch.tensor([6, 5]), torch.tensor([2, 1])
    given = {"blank": 3, "zero_infinity": True}
    labels = torch.tensor([[0, 1], [2, 2]])

    calls = tried(arguments.defaults, functional.ctc_loss, logits, labels, *lengths, **given)

    assert texts(calls) == ["blank is 0, torch uses 3"]


def test_a_padding_index_may_be_left_out():
    """It changes the mean of a bag, and no value of an embedding."""
    ids, table = torch.tensor([[2, 0], [1, 1]]), draw(3, 4)
    bag = functional.embedding_bag
    check(
        tried(arguments.defaults, bag, ids, table, padding_idx=0),
        {"padding_idx is None, torch uses 0": bag(ids, table)},
    )
    assert not tried(arguments.defaults, functional.embedding, ids, table, padding_idx=0)


def test_a_weight_that_has_no_effect_counts_as_none():
    """A port that multiplies by 1 has the number, so the text does not say that it is left out."""
    weighted = functional.binary_cross_entropy_with_logits
    (call,) = tried(arguments.defaults, weighted, X, LABELS, pos_weight=TWO[0])

    assert call.difference.of_jax == "no pos_weight is used, torch's is 2"
    assert call.difference.of_torch == "pos_weight is 2, JAX uses none"


def test_two_operands_of_one_shape_may_be_exchanged():
    """The names of the arguments tell which; a symmetric pair does not change the result."""
    loss = functional.triplet_margin_loss
    check(
        tried(arguments.exchanged, loss, X, Y, Z),
        {
            "anchor and positive are exchanged": loss(Y, X, Z),
            "anchor and negative are exchanged": loss(Z, Y, X),
            "positive and negative are exchanged": loss(X, Z, Y),
        },
    )
    check(
        tried(arguments.exchanged, functional.margin_ranking_loss, X, Y, LABELS, margin=0.5),
        {
            "input1 and input2 are exchanged": functional.margin_ranking_loss(
                Y, X, LABELS, margin=0.5
            ),
            "input1 and target are exchanged": functional.margin_ranking_loss(
                LABELS, Y, X, margin=0.5
            ),
            "input2 and target are exchanged": functional.margin_ranking_loss(
                X, LABELS, Y, margin=0.5
            ),
        },
    )
    assert not tried(arguments.exchanged, functional.mse_loss, X, Y)
    assert not tried(arguments.exchanged, functional.linear, X, Y[:2])


@pytest.mark.parametrize(
    ("func", "args", "kwargs", "name", "used"),
    [
        (functional.leaky_relu, (), {}, "negative_slope", 0.01),
        (functional.leaky_relu, (0.2,), {}, "negative_slope", 0.2),
        (functional.leaky_relu, (), {"negative_slope": 0.1}, "negative_slope", 0.1),
        (functional.elu, (), {}, "alpha", 1.0),
        (functional.elu, (0.3,), {}, "alpha", 0.3),
        (functional.softplus, (2,), {"threshold": 1e9}, "beta", 2.0),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_an_argument_may_be_a_number_of_the_port(func, args, kwargs, name, used):
    """The number is given by place, by name, as an integer, or left at torch's default."""
    calls = tried(arguments.numbers, func, X, *args, numbers=(0.07, used, 3.0), **kwargs)
    calls = [call for call in calls if call.mistake.startswith(name)]
    given = {k: x for k, x in kwargs.items() if k != name}
    wrong = [0.07, 3.0, 0.0]

    check(
        calls,
        {f"{name} is {a:g}, torch uses {used:g}": func(X, **{name: a}, **given) for a in wrong},
    )
    assert [call.setting for call in calls] == [f"{a:g}" for a in wrong]
    assert calls[0].fix == ("0.07", f"{used:g}")
    assert {call.general for call in calls} == {NUMBER}


def test_a_number_with_the_effect_of_the_default_is_not_tried():
    """torch smooths no label by a number below 0, and none by the default 0."""
    labels, given = torch.tensor([0, 2, 1]), dict[str, Any](label_smoothing=0.1)
    calls = tried(
        arguments.numbers, functional.cross_entropy, X, labels, numbers=(-1.0, 0.2), **given
    )
    assert texts(calls) == ["label_smoothing is 0.2, torch uses 0.1"]


def test_a_flag_may_have_its_other_value():
    """Flags that change the result are tried; `inplace` and `keepdim` do not change it."""
    check(
        tried(arguments.flags, functional.poisson_nll_loss, X, LABELS),
        {
            "log_input is False, torch uses True": functional.poisson_nll_loss(
                X, LABELS, log_input=False
            ),
        },
    )
    assert not texts(tried(arguments.flags, functional.relu, X))
