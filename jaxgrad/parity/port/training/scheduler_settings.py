"""Record with which arguments torch's schedulers are made, because they do not keep all of them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

import torch
from torch.optim import lr_scheduler, swa_utils

from jaxgrad.parity.port.source.refusals import PortError


SOURCES = (lr_scheduler.__name__, swa_utils.__name__)
METHODS = ("step", "get_lr", "_get_closed_form_lr", "_update_lr")


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a scheduler was made.

    Attributes:
        scheduler: torch's scheduler.
        kind: torch's class.
        arguments: The arguments of its constructor by name, without the optimizer.
    """

    scheduler: Any
    kind: type
    arguments: Mapping[str, Any]


def scheduler_of(
    factory: Callable[[Any], Any], optimizer: torch.optim.Optimizer
) -> tuple[Any, Callable[[Any], Settings]]:
    """Return the scheduler that a factory makes, and a function that returns its settings.

    The function also takes the schedulers that this one is made of.
    """
    made: dict[int, Settings] = {}
    with _recording(made):
        scheduler = factory(optimizer)

    def settings_of(part: Any) -> Settings:
        """Return the settings of a scheduler.

        Raises:
            PortError: The scheduler is not torch's, or changes what torch's does.
        """
        own = [c for c in type(part).__mro__ if c.__module__ not in SOURCES]
        if id(part) not in made or any(name in vars(c) for c in own for name in METHODS):
            raise PortError(
                f"the scheduler {type(part).__name__} has no counterpart in jaxgrad.optim; "
                "write it as a LambdaLR"
            )
        return made[id(part)]

    return scheduler, settings_of


@contextlib.contextmanager
def _recording(made: dict[int, Settings]) -> Iterator[None]:
    """Record the outermost of torch's constructors that makes a scheduler."""
    with contextlib.ExitStack() as stack:
        for kind in (*vars(lr_scheduler).values(), swa_utils.SWALR):
            if inspect.isclass(kind) and kind.__module__ in SOURCES:
                if "__init__" in vars(kind):
                    patch = mock.patch.object(kind, "__init__", _recorded(kind, made))
                    stack.enter_context(patch)
        yield


def _recorded(kind: type, made: dict[int, Settings]) -> Callable[..., None]:
    init: Any = vars(kind)["__init__"]
    signature = inspect.signature(init)

    @functools.wraps(init)
    def wrapper(self: Any, *args: Any, **keywords: Any) -> None:
        with contextlib.suppress(TypeError):  # torch raises it in its own words
            arguments = signature.bind(self, *args, **keywords).arguments
            own = {k: x for k, x in arguments.items() if k not in ("self", "optimizer")}
            made.setdefault(id(self), Settings(self, kind, own))
        init(self, *args, **keywords)

    return wrapper
