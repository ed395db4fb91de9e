"""The figure of a value with two uses shows one gradient for each use, and their sums."""

import torch

from parity_tests.figures import fork_sum
from tests.parity_tests.figures.reading import words


def test_the_sums_are_what_torch_keeps():
    """The uses of h and of i add up to the gradients that a plain run of torch keeps."""
    c, d, f = (torch.tensor(v) for v in (4.0, 2.0, 2.0))
    h = torch.tensor(2.0, requires_grad=True)
    i = f * (d * c) / h
    i.retain_grad()
    ((i + h) * i).backward()
    assert h.grad is not None and i.grad is not None
    record = fork_sum.record()

    assert record.torch == record.jax
    for name, grad in (("h", h.grad.item()), ("i", i.grad.item())):
        assert record.torch.kept[name] == grad
        assert sum(v for use, v in record.torch.uses.items() if use[0] == name) == grad
    drawn = words(fork_sum.draw(record))
    assert {"−64", "= −72 + 8", "18", "= 8 + 10", "None"} <= set(drawn)


def test_a_gradient_that_is_not_kept_is_drawn_as_none():
    """Without `retain_grad`, the box of i would be an empty frame."""
    record = fork_sum.record()
    sides = (side._replace(kept=side.kept | {"i": None}) for side in record)
    drawn = fork_sum.draw(fork_sum.Record(*sides))

    assert words(drawn).count("None") == 2
    assert drawn.count('class="box faint dashed"') == 2
