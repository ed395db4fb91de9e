"""Mistakes in masks: which are tried, and what each computes."""

import pytest
import torch

from jaxgrad.parity.prove.causes.mistakes import masks
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import check, draw, texts, tried


INF = float("inf")
X, Y, SQUARE = draw(3, 4), draw(3, 4), draw(4, 4)


def test_the_fill_and_the_mask_of_masked_elements_are_changed():
    """The port's numbers are fills; a square mask is also inverted, transposed and shifted."""
    mask = torch.eye(4, dtype=torch.bool)
    mask[3, 0] = True
    left, right = mask.clone(), mask.clone()
    left[:, :3] = mask[:, 1:]
    right[:, 1:] = mask[:, :3]
    fills = {"-1": -1.0, "-1e+09": -1e9, "0": 0.0}
    numbers = (-1.0, -1e9)

    check(
        tried(masks.filled, torch.masked_fill, SQUARE, mask, -INF, numbers=numbers),
        {
            **{
                f"masked elements are {k}, torch uses -inf": SQUARE.masked_fill(mask, v)
                for k, v in fills.items()
            },
            "the mask is inverted": SQUARE.masked_fill(~mask, -INF),
            "the mask is transposed": SQUARE.masked_fill(mask.T, -INF),
            "the mask is shifted by one key to the left": SQUARE.masked_fill(left, -INF),
            "the mask is shifted by one key to the right": SQUARE.masked_fill(right, -INF),
        },
    )


@pytest.mark.parametrize("shape", [(4,), (3, 4), (4, 3, 4)])
def test_only_square_masks_are_transposed(shape):
    """A mask that is a vector or not square is only inverted, and a mask may hold integers."""
    x = draw(*shape)
    mask = (x > 0).long().bool()

    calls = tried(masks.filled, torch.masked_fill, x, mask, 0.0)
    assert texts(calls)[-1] == "the mask is inverted"
    assert not any(text.startswith("masked elements are 0") for text in texts(calls))
    assert "masked elements are -inf, torch uses 0" in texts(calls)


@pytest.mark.parametrize("form", ["masked_fill", "where", "add", "mul"])
def test_a_mask_of_keys_is_tried_as_a_mask_of_queries(form):
    """A mask with one row for all queries, as `pad[:, None, None, :]`, is transposed too."""
    x, pad = draw(2, 3, 4, 4), torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]).bool()[:, None, None, :]
    numbers = {"add": pad * -1e9, "mul": (~pad).to(x.dtype)}
    calls = {
        "masked_fill": (masks.filled, torch.masked_fill, (x, pad, -INF)),
        "where": (masks.chosen, torch.where, (pad, torch.tensor(-INF), x)),
        "add": (masks.operand, torch.add, (x, numbers["add"])),
        "mul": (masks.operand, torch.mul, (x, numbers["mul"])),
    }
    mistakes, func, given = calls[form]
    (call,) = [
        call
        for call in tried(mistakes, func, *given)
        if call.difference.of_jax == "the mask is transposed"
    ]
    expected = {
        "masked_fill": x.masked_fill(pad.mT, -INF),
        "where": x.masked_fill(pad.mT, -INF),
        "add": x + numbers["add"].mT,
        "mul": x * numbers["mul"].mT,
    }
    assert torch.equal(call.result, expected[form])


def test_a_mask_that_is_added_or_multiplied_is_inverted():
    """Only an operand with two numbers is a mask."""
    mask = torch.tensor([0.0, 0.0, -1e9, 0.0])
    kept = torch.tensor([-1e9, -1e9, 0.0, -1e9])
    check(
        tried(masks.operand, torch.add, SQUARE, mask),
        {"the mask is inverted": SQUARE + kept},
    )
    assert not tried(masks.operand, torch.add, SQUARE, SQUARE)
    assert not tried(masks.operand, torch.mul, SQUARE, 2.0)


def test_the_blocks_of_a_mask_take_turns():
    """A mask that repeats each element is also tried as a mask that is tiled."""
    mask = torch.tensor([[True, False]]).repeat_interleave(2, 1)
    x = draw(3, 4)
    named = {
        call.difference.of_jax: call
        for call in tried(masks.filled, torch.masked_fill, x, mask, 0.0)
    }
    call = named["the mask is tiled along axis 1, torch repeats each element"]
    check([call], {call.difference.of_jax: x.masked_fill(mask[:, [0, 2, 1, 3]], 0.0)})


def test_the_mask_of_masked_elements_is_a_tensor():
    """A mask that is not a tensor is left as it is."""
    assert not tried(masks.filled, torch.masked_fill, X, True, 0.0)


def test_the_branches_of_where_are_swapped():
    """`where` with one argument returns indices and has no branches."""
    swapped = torch.where(X > 0, Y, X)

    check(
        tried(masks.chosen, torch.where, X > 0, X, Y),
        {"the branches of where are swapped": swapped},
    )
    assert not tried(masks.chosen, torch.where, X > 0)


@pytest.mark.parametrize("form", ["masked_fill", "where", "where_not", "add", "mul"])
def test_a_causal_mask_is_tried_with_one_key_more_and_one_fewer(form):
    """`tril(1)` for `tril()` is the usual mistake in a causal mask, in each form of the mask."""
    kept = torch.ones(4, 4, dtype=torch.bool).tril()
    fill = torch.tensor(-INF)
    forms = {
        "masked_fill": (masks.filled, torch.masked_fill, lambda k: (SQUARE, ~k, -INF)),
        "where": (masks.chosen, torch.where, lambda k: (k, SQUARE, fill)),
        "where_not": (masks.chosen, torch.where, lambda k: (~k, fill, SQUARE)),
        "add": (masks.operand, torch.add, lambda k: (SQUARE, torch.where(k, 0.0, -1e9))),
        "mul": (masks.operand, torch.mul, lambda k: (SQUARE, k.double())),
    }
    mistakes, func, args = forms[form]
    calls = {c.difference.of_jax: c for c in tried(mistakes, func, *args(kept))}
    padded = kept & torch.tensor([True, True, False, True])
    hidden = [other for _, other in masks.shifted(~padded)]
    assert torch.equal(~hidden[0], padded.tril(-1))
    assert torch.equal(~hidden[1], torch.ones(4, 4).tril(1).bool() & padded[3])

    more = calls["the mask lets each query see one key more"]
    assert torch.equal(more.result, func(*args(torch.ones(4, 4).tril(1).bool())))
    less = calls["the mask lets each query see one key fewer"]
    assert torch.equal(less.result, func(*args(kept.tril(-1))))


@pytest.mark.parametrize("left", [True, False])
def test_a_square_mask_is_transposed(left):
    """A matrix of zeros and ones may be the lower triangle in one program and the upper one."""
    x, mask = draw(2, 3, 3), torch.ones(3, 3).tril().double()
    text = "the mask is transposed"
    calls = [
        wrong
        for wrong in tried(masks.operand, torch.mul, *((mask, x) if left else (x, mask)))
        if wrong.mistake == text
    ]
    check(calls, {text: x * mask.mT})
    for other in (mask[:2], 2 * mask, torch.ones(3, 3)):
        given = tried(masks.operand, torch.mul, draw(*other.shape), other)
        assert text not in texts(given)
