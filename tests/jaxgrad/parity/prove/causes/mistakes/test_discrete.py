"""Mistakes in integers and booleans: which are tried, and what each computes."""

import operator

import pytest
import torch

from jaxgrad.parity.prove.causes.mistakes import discrete
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import check, draw, tried


LABELS = torch.tensor([[0, 1, 3], [2, 3, 1]])


def test_a_comparison_has_another_sign_or_a_number_of_jaxs():
    signs = {
        "<=": torch.le, ">": torch.gt, ">=": torch.ge, "==": torch.eq, "!=": torch.ne,
    }  # fmt: skip
    check(
        tried(discrete.compared, torch.lt, LABELS, 2, numbers=(2, 3)),
        {
            **{f"JAX compares by {s}, torch by <": f(LABELS, 2) for s, f in signs.items()},
            "JAX compares with 3, torch with 2": LABELS < 3,
        },
    )


def test_another_sign_needs_the_number_in_jax():
    """JAX's `x < 4` is no `x <= 3`, although both are equal for integers."""
    calls = tried(discrete.compared, torch.lt, LABELS, 3, numbers=(4,))
    check(calls, {"JAX compares with 4, torch with 3": LABELS < 4})
    assert len(tried(discrete.compared, torch.lt, LABELS, LABELS.roll(1, 0))) == 5


@pytest.mark.parametrize("given", ["long", "to"])
def test_a_conversion_rounds_in_another_way(given):
    x = 3 * draw(2, 3)
    call = (lambda y: y.long()) if given == "long" else (lambda y: y.to(torch.int64))
    text = "the conversion to integers rounds {}, torch rounds towards zero"
    check(
        tried(discrete.rounded, call, x, op=given),
        {
            text.format("to the nearest integer"): x.round().long(),
            text.format("down"): x.floor().long(),
            text.format("up"): x.ceil().long(),
            text.format("towards zero"): x.long(),
        },
    )


def test_only_a_conversion_of_floats_to_integers_rounds():
    assert not tried(discrete.rounded, lambda x: x.to(torch.float32), draw(2, 3), op="to")
    assert not tried(discrete.rounded, lambda x: x.long(), LABELS.int(), op="long")


def test_the_largest_and_the_smallest_index_are_exchanged():
    x = draw(3, 4)
    check(
        tried(discrete.largest, torch.argmax, x, 1),
        {"the function is argmin, torch uses argmax": x.argmin(1)},
    )
    check(
        tried(discrete.largest, torch.argmin, x, 1),
        {"the function is argmax, torch uses argmin": x.argmax(1)},
    )


@pytest.mark.parametrize(("func", "other"), [("and", "or"), ("or", "and")])
def test_masks_are_joined_by_the_other_operator(func, other):
    functions = {"and": operator.and_, "or": operator.or_}
    x, y = LABELS < 2, LABELS > 0
    own, sign = ("&", "|") if func == "and" else ("|", "&")
    check(
        tried(discrete.logical, functions[func], x, y, op=func),
        {f"the operator of the masks is {sign}, torch uses {own}": functions[other](x, y)},
    )


def test_a_call_is_left_out():
    """An operand of the same shape and dtype takes the place of the result."""
    check(
        tried(discrete.left_out, torch.add, LABELS, 1),
        {"torch's add is missing": LABELS},
    )
    check(
        tried(discrete.left_out, torch.mul, LABELS, LABELS.roll(1, 1)),
        {
            "torch's mul is missing, JAX has its first operand": LABELS,
            "torch's mul is missing, JAX has its second operand": LABELS.roll(1, 1),
        },
    )
    assert not tried(discrete.left_out, torch.lt, LABELS, 2)  # the operand is no mask
    assert not tried(discrete.left_out, torch.mul, LABELS, 0.5)  # the result is floating
