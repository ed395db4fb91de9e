"""One training step in both frameworks: optimizer, schedule, clipping, accumulation, average."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from jaxgrad._core import argument_names
from jaxgrad.parity.prove.users import ProofError, shown


@argument_names.fields_spelt
@dataclasses.dataclass(frozen=True)
class Training:
    """A training step, for `prove(..., optimizer=Training(...))`.

    torch's training loop calls several functions in each step, which an optax transformation
    combines: `optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))`. The fields
    `scheduler`, `clip`, `accumulate`, `ema` and `after` describe what torch's loop does beside
    `optimizer.step()`.

    Args:
        torch: Factory of torch's optimizer, a function of the list of parameters; or of the module,
            which parameter groups need: `lambda model: SGD([{"params": model.head.parameters()},
            ...], lr=0.1)`. An optimizer of another module, such as a copy, is an error.
        optax: The port's optax transformation.
        scheduler: Factory of torch's scheduler, a function of the optimizer. It is stepped after
            each optimizer step.
        schedule: The port's schedule, a function of the step. Its values are compared with the
            scheduler's over the whole training run. If torch's groups have different learning
            rates, it returns one value for each group. Without it, both optimizers are given the
            same gradients for as many steps as take about two seconds.
        total: Number of steps of the training run; by default what torch's scheduler says.
        clip: Maximum norm for torch's `clip_grad_norm_`; or a function of the parameters that
            clips their gradients.
        accumulate: Number of micro-batches whose mean gradient torch's optimizer gets. The port's
            transformation is called once for each (`optax.MultiSteps`).
        ema: A pair: a decay for torch's `AveragedModel`, or a function from the module to one; and
            the port's function `(average, params) -> average`, or an object with `init` and
            `update` (`jaxgrad.optim.averaged_model`, `optax.ema`). The params are those that are
            trained, and with `after` or a new state all floating ones; others are None.
        after: A pair of functions that change weights after each optimizer step, such as the
            update of a target network that is a part of the model: torch's function of the module,
            which changes it in place, and the port's function `params -> params`. The weights that
            they change are compared like all others. The port's params are the tree that was
            passed to `prove`; those of an nnx module are a nested dict of arrays.
        none_grads: Whether the port's gradient of a weight that no derivative path reaches is None,
            as that of `jaxgrad.grad`, or zeros, as that of `jax.grad`. The default is None for the
            transformations of `jaxgrad.optim`, which skip such a weight as torch does, and zeros
            for all others.

    Example:
        >>> import optax, torch
        >>> training = Training(
        ...     lambda params: torch.optim.SGD(params, lr=0.1),
        ...     optax.chain(
        ...         optax.clip_by_global_norm(1.0), optax.sgd(optax.cosine_decay_schedule(0.1, 10))
        ...     ),
        ...     scheduler=lambda opt: torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10),
        ...     clip=1.0,
        ... )

    A target network follows the trained one by Polyak averaging:

        >>> def torch_polyak(model):
        ...     for slow, fast in zip(model.target.parameters(), model.online.parameters()):
        ...         slow.lerp_(fast, 0.005)
        >>> def polyak(params):
        ...     target = optax.incremental_update(params["online"], params["target"], 0.005)
        ...     return params | {"target": target}
        >>> training = Training(
        ...     lambda model: torch.optim.Adam(model.online.parameters()),
        ...     optax.adam(1e-3),
        ...     after=(torch_polyak, polyak),
        ... )
    """

    torch: Callable[..., Any] | None
    optax: Any = None
    _: dataclasses.KW_ONLY
    scheduler: Callable[..., Any] | None = None
    schedule: Callable[..., Any] | None = None
    total: int | None = None
    clip: float | Callable[..., Any] | None = None
    accumulate: int = 1
    ema: tuple[Any, Any] | None = None
    after: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    none_grads: bool | None = None

    @property
    def gives_none(self) -> bool:
        """Whether a weight that no derivative path reaches gets None for its gradient."""
        if self.none_grads is not None:
            return self.none_grads
        return hasattr(self.optax, "step")  # which only jaxgrad's transformations have


def check_factory(factory: Any) -> None:
    """Check that the torch factory of `optimizer=` is a function.

    Raises:
        ProofError: It is missing or something else; or the pair is in the wrong order.
    """
    if factory is None:
        raise ProofError("optimizer=: the torch factory is missing: pass (torch_factory, tx)")
    if _is_transformation(factory):
        raise ProofError(
            "optimizer=: the pair is in the wrong order: pass torch's factory first, "
            "(torch_factory, optax transformation)"
        )
    if not callable(factory):
        raise ProofError(
            f"optimizer=: the torch factory is {type(factory).__name__}, which is not callable; "
            "pass a function of the parameters, e.g. lambda p: torch.optim.SGD(p, lr=0.1)"
        )


def check_transformation(tx: Any) -> None:
    """Check that the port's part of `optimizer=` is an optax transformation.

    Raises:
        ProofError: It has no `init` or no `update`.
    """
    if not _is_transformation(tx):
        remedy = f"; call it: {tx.__name__}(...)" if inspect.isfunction(tx) else ""
        raise ProofError(f"optimizer=: {type(tx).__name__} is not an optax transformation{remedy}")


def _is_transformation(tx: Any) -> bool:
    return hasattr(tx, "init") and hasattr(tx, "update")


_PAIR = (
    "optimizer= needs a pair (torch_factory, optax transformation), as in "
    "optimizer=(lambda params: torch.optim.Adam(params, 1e-3), optax.adam(1e-3)), got {}"
)


def as_training(optimizer: Any) -> Training:
    """Return the argument `optimizer=` as a `Training`, and check its fields.

    Raises:
        ProofError: `optimizer` is neither a pair nor a `Training`, or a field has a wrong value.
    """
    if not isinstance(optimizer, Training):
        if type(optimizer) not in (tuple, list) or len(optimizer) != 2:
            raise ProofError(_PAIR.format(shown(optimizer)))
        return Training(*optimizer)
    for name, what in (
        ("scheduler", "of torch's optimizer, as in lambda opt: ExponentialLR(opt, 0.9)"),
        ("schedule", "of the step"),
    ):
        value = getattr(optimizer, name)
        if value is not None and not callable(value):
            raise ProofError(f"Training({name}=) needs a function {what}, got {shown(value)}")
    if optimizer.schedule is not None and optimizer.scheduler is None:
        raise ProofError(
            "Training(schedule=) needs scheduler= to compare with: a function of torch's optimizer"
        )
    if optimizer.none_grads not in (None, True, False):
        raise ProofError(
            "Training(none_grads=) needs True for the gradients of jaxgrad.grad, or False for "
            f"those of jax.grad, got {shown(optimizer.none_grads)}"
        )
    for name in ("accumulate", "total"):
        value = getattr(optimizer, name)
        unset = name == "total" and value is None
        if not unset and not (type(value) is int and value > 0):
            raise ProofError(f"Training({name}=) needs a positive integer, got {shown(value)}")
    clip = optimizer.clip
    if clip is not None and not callable(clip) and not (_is_number(clip) and clip > 0):
        raise ProofError(
            "Training(clip=) needs a positive maximum norm or a function of the parameters, got "
            f"{shown(clip)}"
        )
    if optimizer.ema is not None:
        _check_average(optimizer.ema)
    after = optimizer.after
    if after is not None and not (
        type(after) in (tuple, list) and len(after) == 2 and all(map(callable, after))
    ):
        raise ProofError(
            "Training(after=) needs a pair of functions: torch's of the module, which changes its "
            f"weights in place, and the port's, params -> params, got {shown(after)}"
        )
    return optimizer


def _check_average(ema: Any) -> None:
    if type(ema) not in (tuple, list) or len(ema) != 2:
        raise ProofError(
            "Training(ema=) needs a pair (decay, function), as in ema=(0.999, lambda average, "
            f"params: optax.incremental_update(params, average, 0.001)), got {shown(ema)}"
        )
    decay, average = ema
    if not callable(decay) and not (_is_number(decay) and 0 <= decay <= 1):
        raise ProofError(
            "Training(ema=) needs a decay between 0 and 1 for torch, or a function from the module "
            f"to its AveragedModel, got {shown(decay)}"
        )
    if not callable(average) and not (hasattr(average, "init") and hasattr(average, "update")):
        raise ProofError(
            "Training(ema=) needs a function (average, params) -> average for the port, or an "
            f"object with init and update, got {shown(average)}"
        )


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)
