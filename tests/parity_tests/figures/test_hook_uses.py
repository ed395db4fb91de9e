"""The figure of hooks shows what a hook sees once, and for each use."""

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
    assert {"hook: 8 → 1", "hook: 3 → 1", "hook: 5 → 1"} <= set(words(hook_uses.draw(record)))


def test_hooks_on_the_uses_give_another_gradient():
    """Clamping each use alone is what the figure contrasts with; its gradient differs."""
    once, per_use = hook_uses.record().jax

    assert per_use.seen == hook_uses.record().uses
    assert once.grad != per_use.grad
