"""The values that a module accepts in its integer inputs are found from its calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity.prove.torch_side.ranges import Ranges
from jaxgrad.parity.prove.torch_side.redraws import Range


TABLE = torch.zeros(7, 3)
SCORES = torch.zeros(4, 5)
MAP = torch.zeros(1, 5, 4, 2)  # the classes are the second dimension
LABELS = torch.tensor([1, 2, 3, 1])


class Calls(nn.Module):
    """A module that calls one function of its input."""

    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, *args: Any) -> Any:
        return self.call(*args)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda i: functional.embedding(i, TABLE), Range(0, 7)),
        (lambda i: functional.embedding(i.view(2, 2), TABLE, 0), Range(0, 7, (0,))),
        (lambda i: functional.embedding(i.long() + 2, TABLE, -1), Range(-2, 5, (4,))),
        (lambda i: functional.cross_entropy(SCORES, i), Range(0, 5, rare=(-100,))),
        (lambda i: functional.cross_entropy(SCORES, i, ignore_index=0), Range(0, 5, (0,))),
        (lambda i: functional.cross_entropy(MAP, i[None, :, None].expand(1, 4, 2)),
         Range(0, 5, rare=(-100,))),
        (lambda i: functional.nll_loss(SCORES[0], i[0]), Range(0, 5, rare=(-100,))),
        (lambda i: functional.one_hot(i, 9), Range(0, 9)),
        (lambda i: functional.one_hot(i, 9) + SCORES[0, i.clamp(max=2)].sum(), Range(0, 9)),
        (lambda i: SCORES.gather(1, i[:, None]), Range(0, 5)),
        (lambda i: torch.take_along_dim(SCORES, i[:, None], dim=1), Range(0, 5)),
        (lambda i: SCORES.index_select(1, i), Range(0, 5)),
        (lambda i: TABLE[i], Range(0, 7)),
        (lambda i: TABLE[..., None][:, i % 3] + TABLE[None, i].sum(), Range(0, 7)),
        (lambda i: torch.zeros(2, 6)[torch.tensor([True, False]), i], Range(0, 6)),
        (lambda i: (TABLE[i], functional.one_hot(i, 6)), Range(0, 6)),
        (lambda i: TABLE.scatter(0, i[:, None], SCORES), Range(0, 7, distinct=True)),
        (lambda i: i * 1.5, None),
    ],
)  # fmt: skip
def test_the_range_of_an_index_is_found(call, expected):
    """An input that is used as an index has the size of the dimension that it indexes."""
    module = Calls(call)
    with Ranges(module) as ranges:
        module(LABELS)
    assert ranges.found.get(0) == expected


def test_only_the_input_that_is_an_index_has_a_range():
    """Ranges are kept by the position among the inputs, and no hook stays on the module."""
    module = Calls(lambda x, mask, labels: functional.cross_entropy(x[mask], labels))
    with Ranges(module) as ranges:
        module(SCORES, torch.ones(4, dtype=torch.bool), LABELS)
    assert ranges.found == {2: Range(0, 5, rare=(-100,))}
    assert not module._forward_pre_hooks
    np.testing.assert_array_equal(LABELS, [1, 2, 3, 1])
