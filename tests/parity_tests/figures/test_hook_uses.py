"""The figure of hooks shows what a hook sees once, and for each use."""

import re

import torch

from parity_tests.figures import hook_uses
from tests.parity_tests.figures.reading import words


def test_the_numbers_are_those_of_a_plain_run():
    """Hooked once, torch's hook sees 8; JAX sees the same, and the figure shows it."""
    x = torch.tensor(1.0, requires_grad=True)
    h, seen = 2 * x, []
    h.register_hook(lambda grad: seen.append(grad.item()) or grad.clamp(max=1))
    (3 * h + 5 * h).backward()
    record = hook_uses.record()

    assert record.torch == record.jax
    assert record.torch[0].seen == tuple(seen) == (sum(record.uses),)
    assert x.grad is not None and record.torch[0].grad == x.grad.item()
    assert f"x.grad {x.grad.item():g}" in words(hook_uses.draw(record))


def test_the_hook_runs_between_the_sum_and_the_operation_that_makes_h():
    """From x to the loss: x.grad, `h = 2x`, what the hook returned, the hook, the sum, the uses."""
    record = hook_uses.record()
    once, per_use = _rows(hook_uses.draw(record))

    assert once == ["x", "2", "h = 2x", "1", "hook", "8", "+", "3", "5", "3h", "5h", "loss"]
    assert per_use == [
        *("x", "4", "h = 2x", "2", "+", "1", "1", "hook", "hook", "3", "5", "3h", "5h", "loss")
    ]
    for side in (*record.torch, *record.jax):
        assert side.grad == record.slope * sum(side.returned)


def _rows(svg):
    """Return the words of both passes from left to right, without titles and captions."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="middle(?: big)?">([^<]+)<', svg)
    ordered = sorted((float(y) > 186, float(x), float(y), word) for x, y, word in found)
    return [[word for low, *_, word in ordered if low is below] for below in (False, True)]


def test_hooks_on_the_uses_give_another_gradient():
    """Clamping each use alone is what the figure contrasts with; its gradient differs."""
    once, per_use = hook_uses.record().jax

    assert per_use.seen == hook_uses.record().uses
    assert once.grad != per_use.grad
