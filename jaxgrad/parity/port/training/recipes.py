"""torch's training loop as the arguments of `port` describe it, and which parameters it trains."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.training import optimizers
from jaxgrad.parity.prove.record.torch_side.loop import build_optimizer
from jaxgrad.parity.prove.users import ProofError, kind_of, shown


@dataclasses.dataclass(frozen=True)
class Recipe:
    """torch's training loop.

    Attributes:
        optimizer: torch's optimizer of the module's parameters.
        loss: The loss, a function of the outputs and the targets; None if the module returns it.
        targets: Example targets.
        scheduler: Factory of torch's scheduler, a function of the optimizer.
        clip: Maximum norm for torch's `clip_grad_norm_`.
        total: Number of steps of the training run, whose schedule is compared; None for what
            torch's scheduler says.
    """

    optimizer: torch.optim.Optimizer
    loss: Callable[..., Any] | None = None
    targets: tuple[Any, ...] = ()
    scheduler: Callable[[Any], Any] | None = None
    clip: float | None = None
    total: int | None = None


def recipe_of(
    module: nn.Module, optimizer: Any, loss: Any, targets: Any, scheduler: Any, clip: Any,
    total: Any = None,
) -> Recipe | None:  # fmt: skip
    """Return the arguments of the training step, and check them.

    Raises:
        PortError: One of them has a wrong type, or needs another one.
    """
    if optimizer is None:
        given = {
            "loss": loss, "targets": targets or None, "scheduler": scheduler, "clip": clip,
            "total": total,
        }  # fmt: skip
        wrong = next((name for name, value in given.items() if value is not None), None)
        if wrong is not None:
            raise PortError(f"{wrong}= needs optimizer=, as in optimizer=torch.optim.AdamW(params)")
        return None
    if callable(optimizer) and not isinstance(optimizer, torch.optim.Optimizer):
        try:
            optimizer = build_optimizer(optimizer, module)
        except ProofError as error:
            raise PortError(str(error)) from error
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise PortError(
            f"optimizer= needs a torch optimizer or a function of the parameters that returns one, "
            f"got {type(optimizer).__name__}"
        )
    if not isinstance(targets, tuple):
        raise PortError(
            f"targets= needs a tuple of arrays, as in targets=(y,), got {kind_of(targets)}"
        )
    for name, value in (("loss", loss), ("scheduler", scheduler)):
        if value is not None and not callable(value):
            raise PortError(f"{name}= needs a function, got {type(value).__name__}")
    if clip is not None and (isinstance(clip, bool) or not isinstance(clip, int | float)):
        raise PortError(f"clip= needs a maximum norm, got {type(clip).__name__}")
    if total is not None and not (type(total) is int and total > 0):
        raise PortError(f"total= needs a positive number of steps, got {shown(total)}")
    return Recipe(optimizer, loss, targets, scheduler, clip, total)


@dataclasses.dataclass(frozen=True)
class Training:
    """The optimizer of a module and the names of its parameters.

    Attributes:
        optimizer: A new torch optimizer with the user's options.
        groups: The names of the parameters of each group.
        flags: Whether each parameter of the module requires a gradient.
    """

    optimizer: torch.optim.Optimizer
    groups: tuple[tuple[str, ...], ...]
    flags: Mapping[str, bool]

    @property
    def order(self) -> tuple[str, ...]:
        """The names of the optimizer's parameters in its own order."""
        return tuple(name for group in self.groups for name in group)

    @property
    def has_complex(self) -> bool:
        """Whether the optimizer trains a complex parameter, whose gradient JAX conjugates."""
        groups = self.optimizer.param_groups
        return any(p.is_complex() for group in groups for p in group["params"])

    def trains(self, name: str) -> bool:
        """Return whether the optimizer trains a tensor of the module."""
        return name in self.order and self.flags[name]


def training_of(
    recipe: Recipe, module: nn.Module, names: Mapping[int, str] | None = None
) -> Training:
    """Return what torch's optimizer trains.

    Args:
        recipe: torch's training loop.
        module: The torch module.
        names: The names of parameters in the port, by `id`. torch's names of a parameter are
            several if it is in several modules.

    Raises:
        PortError: The optimizer lacks a parameter, or has one that the module lacks.
    """
    names = {id(p): name for name, p in module.named_parameters()} | dict(names or {})
    fresh = optimizers.rebuilt(recipe.optimizer)
    groups = tuple(map(tuple, optimizers.group_names(fresh, names)))
    flags = {names[id(p)]: p.requires_grad for p in module.parameters()}
    training = Training(fresh, groups, flags)
    left_out = [n for n, required in flags.items() if required and n not in training.order]
    if left_out:
        raise PortError(
            f"the optimizer does not have {left_out[0]}, which requires a gradient; freeze it with "
            "requires_grad_(False), or give the optimizer every parameter"
        )
    return training
