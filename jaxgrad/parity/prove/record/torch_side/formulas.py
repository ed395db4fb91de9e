"""optax's formulas of RMSprop, Adam and Adagrad, written as torch optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, optim


UpdateRule = Callable[[dict[str, Any], dict[str, Any], Tensor, Tensor], Tensor]  # to the new update


class Formula(optim.Optimizer):
    """An optimizer given by a rule from its group, the state, a weight and its gradient."""

    def __init__(self, groups: list[dict[str, Any]], rule: UpdateRule) -> None:
        super().__init__(groups, {})
        self.rule = rule

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Subtract the learning rate times the rule's update from every weight."""
        del closure
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                p.sub_(group["lr"] * self.rule(group, self.state[p], p, p.grad))


def rmsprop(alpha: float | None, *, inside: bool, initial: float) -> Callable[[Any], Any]:
    """Return an edit of torch's RMSprop: another decay, eps inside the root, an initial scale."""

    def rule(group: dict[str, Any], state: dict[str, Any], p: Tensor, g: Tensor) -> Tensor:
        a = group["alpha"] if alpha is None else alpha
        g = g + group["weight_decay"] * p
        square = state.get("square_avg", torch.full_like(p, initial)) * a + (1 - a) * g * g
        state["square_avg"] = variance = square
        if group["centered"]:
            state["grad_avg"] = state.get("grad_avg", torch.zeros_like(p)) * a + (1 - a) * g
            variance = square - state["grad_avg"] ** 2
        eps = group["eps"]
        move = g / ((variance + eps).sqrt() if inside else variance.sqrt() + eps)
        if group["momentum"]:
            move = move + group["momentum"] * state.get("momentum_buffer", torch.zeros_like(p))
            state["momentum_buffer"] = move
        return move

    return lambda optimizer: _replaced(optimizer, optim.RMSprop, rule)


def adam(
    eps_root: float = 0.0,
    eps: float | None = None,
    *,
    corrected: bool = True,
    nesterov: bool = False,
) -> Callable[[Any], Any]:
    """Return an edit of torch's Adam: other forms of it, as optax has them.

    Args:
        eps_root: The number added inside the square root.
        eps: Another number outside of it.
        corrected: Whether the bias of the moments is corrected.
        nesterov: Whether the first moment looks ahead.
    """

    def rule(group: dict[str, Any], state: dict[str, Any], p: Tensor, g: Tensor) -> Tensor:
        (b1, b2), decay = group["betas"], group["weight_decay"]
        decoupled = group.get("decoupled_weight_decay", False)
        g = g if decoupled else g + decay * p
        state["count"] = count = state.get("count", 0) + 1
        zeros = torch.zeros_like(p)
        state["exp_avg"] = state.get("exp_avg", zeros) * b1 + (1 - b1) * g
        state["exp_avg_sq"] = state.get("exp_avg_sq", zeros) * b2 + (1 - b2) * g * g
        first, second = state["exp_avg"], state["exp_avg_sq"]
        if nesterov:
            first = b1 * first / (1 - b1 ** (count + 1)) + (1 - b1) * g / (1 - b1**count)
        elif corrected:
            first = first / (1 - b1**count)
        second = second / (1 - b2**count) if corrected else second
        move = first / ((second + eps_root).sqrt() + (group["eps"] if eps is None else eps))
        return move + decay * p if decoupled else move

    return lambda optimizer: _replaced(optimizer, optim.Adam, rule)


def adagrad(initial: float, eps: float | None) -> Callable[[Any], Any]:
    """Return an edit of torch's Adagrad: optax's formula, which has eps inside the root."""

    def rule(group: dict[str, Any], state: dict[str, Any], p: Tensor, g: Tensor) -> Tensor:
        g = g + group["weight_decay"] * p
        state["sum"] = state.get("sum", torch.full_like(p, initial)) + g * g
        move = g / (state["sum"] + (group["eps"] if eps is None else eps)).sqrt()
        return torch.where(state["sum"] > 0, move, 0.0)

    return lambda optimizer: _replaced(optimizer, optim.Adagrad, rule)


def _replaced(optimizer: Any, kind: type, rule: UpdateRule) -> Formula:
    """Return a formula with the groups and the hooks of an optimizer of this class.

    A hook may clip the gradients, or step a scheduler that changes the groups.
    """
    if not isinstance(optimizer, kind):
        raise TypeError(f"{type(optimizer).__name__} is not {kind.__name__}")
    formula = Formula(optimizer.param_groups, rule)
    own: Any = optimizer
    for hook in own._optimizer_step_pre_hooks.values():
        formula.register_step_pre_hook(hook)
    for hook in own._optimizer_step_post_hooks.values():
        formula.register_step_post_hook(hook)
    return formula
