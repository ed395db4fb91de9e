"""torch's training loop: gradients, clipping, the optimizer, the scheduler and the average."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import swa_utils

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.record.torch_side.side import State
from jaxgrad.parity.prove.training import Training, check_factory
from jaxgrad.parity.prove.users import ProofError, described, running


_WITHOUT_SCHEDULER = 30  # steps


class Loop:
    """A module with its optimizer, scheduler and average, which `step` advances together."""

    def __init__(self, training: Training, module: nn.Module) -> None:
        self.training, self.module = training, module
        dtypes = [p.dtype for p in module.parameters() if p.is_floating_point()]
        self._dtype = torch.float64 if torch.float64 in dtypes else torch.get_default_dtype()
        with _default_dtype(self._dtype):
            self.optimizer = build_optimizer(training.torch, module)
        self.scheduler = getattr(self.optimizer, "scheduler", None)
        if training.scheduler is not None:
            self.scheduler = _called("scheduler=", training.scheduler, self.optimizer)
            if not hasattr(self.scheduler, "step"):
                raise ProofError(
                    f"Training(scheduler=) returned {type(self.scheduler).__name__}, which is not "
                    "a scheduler of torch.optim.lr_scheduler"
                )
        self.average = _average(training.ema, module) if training.ema is not None else None

    def step(self, backward: Callable[[int], Any]) -> list[float]:
        """Make one step and return its learning rates, one for each parameter group.

        Args:
            backward: Function that adds the gradient of a micro-batch, whose number it is given,
                to the gradients of the parameters. It returns the loss.
        """
        self.optimizer.zero_grad()
        losses = [backward(number) for number in range(self.training.accumulate)]
        if self.training.accumulate > 1:
            for p in self.module.parameters():
                if p.grad is not None:
                    p.grad /= self.training.accumulate
        self._clip()
        rates = [float(group.get("lr", 0.0)) for group in self.optimizer.param_groups]
        name = type(self.optimizer).__name__
        with _default_dtype(self._dtype):  # in which some optimizers keep numbers of their state
            _called(f"optimizer=: the step of torch's {name}", self.optimizer.step)
        if self.scheduler is not None:
            needs_loss = isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
            _called("scheduler=", self.scheduler.step, *([losses[-1]] if needs_loss else []))
        if self.training.after is not None:
            with torch.no_grad():
                _called("after=", self.training.after[0], self.module)
        if self.average is not None:
            _called("ema=", self.average.update_parameters, self.module)
        return rates

    def _clip(self) -> None:
        clip, parameters = self.training.clip, list(self.module.parameters())
        if callable(clip):
            _called("clip=", clip, parameters)
        elif clip is not None:
            nn.utils.clip_grad_norm_(parameters, clip)

    def parameters(self) -> dict[str, Any]:
        """Return copies of the parameters."""
        return {name: to_numpy(p) for name, p in self.module.named_parameters()}

    def buffers(self) -> dict[str, Any]:
        """Return copies of the floating buffers, which `after=` may change; none without it."""
        if self.training.after is None:
            return {}
        named = self.module.named_buffers()
        return {name: to_numpy(x) for name, x in named if x.is_floating_point()}

    def averages(self) -> dict[str, Any]:
        """Return copies of the averaged parameters; none without `ema=`."""
        if self.average is None:
            return {}
        averaged = getattr(self.average, "module", self.average)
        return {name: to_numpy(p) for name, p in averaged.named_parameters()}

    def moments(self) -> dict[str, State]:
        """Return the tensors of the optimizer's state by parameter."""
        names = {id(p): name for name, p in self.module.named_parameters()}
        return {
            names[id(p)]: {k: to_numpy(x) for k, x in s.items() if isinstance(x, torch.Tensor)}
            for p, s in self.optimizer.state.items()
            if id(p) in names
        }


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def add_gradients(module: nn.Module, gradients: Mapping[str, np.ndarray | None]) -> None:
    """Add given gradients to those of the parameters, as a backward pass does."""
    for name, p in module.named_parameters():
        given = gradients.get(name)
        if given is not None:
            gradient = torch.as_tensor(given).to(p.dtype).reshape(p.shape)
            p.grad = gradient.clone() if p.grad is None else p.grad + gradient


def range_of(training: Training, module: nn.Module, least: int) -> tuple[int, bool]:
    """Return the number of steps in which a schedule is compared, and whether they cover it.

    An optimizer without a scheduler keeps its learning rate, so that any number of steps is right.
    """
    if training.total is not None:
        return training.total, True
    loop = Loop(dataclasses.replace(training, ema=None), module)
    scheduler = loop.scheduler or _hidden_scheduler(loop.optimizer)
    if scheduler is None:
        hidden = hasattr(loop.optimizer.step, "_wrapped_by_lr_sched")
        return (least, False) if hidden else (max(least, _WITHOUT_SCHEDULER), True)
    steps = length(scheduler)
    return (least, False) if steps is None else (max(least, steps), True)


def has_scheduler(training: Training, module: nn.Module) -> bool:
    """Return whether a scheduler changes the learning rates; the optimizer may step it itself."""
    optimizer = Loop(dataclasses.replace(training, ema=None), module).optimizer
    attached = getattr(optimizer, "scheduler", None) or _hidden_scheduler(optimizer)
    wrapped = hasattr(optimizer.step, "_wrapped_by_lr_sched")
    return training.scheduler is not None or attached is not None or wrapped


def _hidden_scheduler(optimizer: Any) -> Any:
    """Return a scheduler that a hook or method of the user's optimizer steps, or None."""
    kind = torch.optim.lr_scheduler.LRScheduler
    objects = (x for x in gc.get_objects() if issubclass(type(x), kind))  # a proxy may raise
    return next((x for x in objects if getattr(x, "optimizer", None) is optimizer), None)


def learning_rates(training: Training, module: nn.Module, steps: int) -> list[list[float]]:
    """Return the learning rates of each parameter group in each step, without training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that the optimizer makes no step
        loop = Loop(training, module)
        rates = []
        for step in range(steps):
            rates.append([float(group.get("lr", 0.0)) for group in loop.optimizer.param_groups])
            if step + 1 < steps and loop.scheduler is not None:
                _called("scheduler=", loop.scheduler.step)
    return rates


def settings(training: Training, module: nn.Module) -> dict[str, dict[str, Any]]:
    """Return the settings of each parameter in the optimizer."""
    built = build_optimizer(training.torch, module).param_groups
    return {name: built[number] for name, number in _numbers(built, module).items()}


def groups(training: Training, module: nn.Module) -> dict[str, int]:
    """Return the index of each parameter's group in the optimizer, keyed by name."""
    return _numbers(build_optimizer(training.torch, module).param_groups, module)


def _numbers(built: Sequence[Mapping[str, Any]], module: nn.Module) -> dict[str, int]:
    names = {id(p): name for name, p in module.named_parameters()}
    pairs = [(p, number) for number, group in enumerate(built) for p in group["params"]]
    return {names[id(p)]: number for p, number in pairs if id(p) in names}


def length(scheduler: Any) -> int | None:
    """Return the number of steps that a scheduler takes to finish, or None if it is not known.

    Beyond them a correct port may differ: torch's cosine, for example, rises again.
    """

    def largest(names: Sequence[str]) -> int | None:
        values = [getattr(scheduler, name, None) for name in names]
        return max((int(x) for x in values if isinstance(x, int | float)), default=None)

    parts = getattr(scheduler, "_schedulers", None)
    if parts:
        lengths = [length(part) for part in parts]
        if getattr(scheduler, "_milestones", None):  # one after the other
            return None if lengths[-1] is None else scheduler._milestones[-1] + lengths[-1]
        return max((n for n in lengths if n is not None), default=None)
    if getattr(scheduler, "milestones", None):
        return int(max(scheduler.milestones)) + 2
    if (period := largest(["T_0", "total_size", "step_size"])) is not None:
        return period + 2  # nobody knows how many periods the user trains
    if (after := largest(["total_iters"])) is not None:
        return after + 2
    if isinstance(scheduler, torch.optim.lr_scheduler.ExponentialLR):
        return _WITHOUT_SCHEDULER
    return largest(["total_steps", "T_max"])


def build_optimizer(factory: Any, module: nn.Module) -> Any:
    """Build the user's optimizer over the parameters of a module.

    Raises:
        ProofError: The factory is not a function, raises, or returns something else.
    """
    check_factory(factory)
    try:
        optimizer = factory(list(module.parameters()))
    except Exception as error:
        try:
            optimizer = factory(module)
        except Exception:
            raise ProofError(
                f"optimizer=: the torch factory raised {described(error)}. It is called with the "
                "list of parameters, e.g. lambda p: torch.optim.SGD(p, lr=0.1)"
            ) from error
    if not hasattr(optimizer, "step") or not hasattr(optimizer, "zero_grad"):
        raise ProofError(
            f"optimizer=: the torch factory returned {type(optimizer).__name__}, which is not a "
            "torch optimizer"
        )
    _check_parameters(optimizer, module)
    return optimizer


def _check_parameters(optimizer: Any, module: nn.Module) -> None:
    """Raise if an optimizer trains the tensors of another module, such as a copy of this one.

    Further parameters, such as those of a loss, are allowed.
    """
    named = dict(module.named_parameters())
    built: Any = getattr(optimizer, "param_groups", ())
    pairs = [(p, number) for number, group in enumerate(built) for p in group["params"]]
    held, own = {id(p) for p, _ in pairs}, {id(p) for p in named.values()}
    left_out = {
        tuple(p.shape): n for n, p in named.items() if p.requires_grad and id(p) not in held
    }
    for p, number in pairs:
        if id(p) not in own and (name := left_out.get(tuple(p.shape))) is not None:
            raise ProofError(
                f"optimizer=: group {number} of torch's {type(optimizer).__name__} has a parameter "
                f"of shape {tuple(p.shape)} that is not in the module, and lacks the module's "
                f"{name!r} of that shape, so it trains another module. Take the parameters from "
                "the factory's argument: lambda params: torch.optim.SGD(params, lr=0.1), or for "
                "groups lambda model: torch.optim.SGD([{'params': "
                "model.head.parameters()}, {'params': model.body.parameters(), 'lr': 0.01}], 0.1)"
            )


def _average(ema: tuple[Any, Any], module: nn.Module) -> Any:
    """Return torch's average of a module, before its first update."""
    decay = ema[0]
    if not callable(decay):
        average = swa_utils.get_ema_multi_avg_fn(decay)
        return swa_utils.AveragedModel(module, multi_avg_fn=average)
    model = _called("ema=", decay, module)
    if not hasattr(model, "update_parameters"):
        raise ProofError(
            f"Training(ema=) returned {type(model).__name__}, which has no update_parameters: "
            "return a torch.optim.swa_utils.AveragedModel"
        )
    return model


def _called(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the user's function; report an error that it raises in one sentence."""
    with running(f"Training({what})" if what.endswith("=") else what):
        return function(*arguments)
