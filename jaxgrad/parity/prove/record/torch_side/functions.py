"""Run a custom `torch.autograd.Function` without its own backward: autograd differentiates it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

import torch

from jaxgrad.parity.prove.users import running


def name_of(function: type) -> str:
    """Return the name of a Function with its module's, which a record and a change hold."""
    return f"{function.__module__}.{function.__qualname__}"


@contextlib.contextmanager
def differentiated(names: Collection[str]) -> Iterator[None]:
    """Let autograd differentiate the `forward` of some Functions, in place of their `backward`.

    Args:
        names: The names of the Functions, by `name_of`.
    """
    if not names:
        yield
        return
    base: Any = torch.autograd.Function
    own = vars(base)["apply"]

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if name_of(cls) not in names:
            return own.__get__(None, cls)(*args, **kwargs)
        with running(f"{cls.__name__}.forward"):
            if cls.setup_context is not base.setup_context:  # `forward` then takes no context
                return cls.forward(*args, **kwargs)
            return cls.forward(_Context(args), *args, **kwargs)

    base.apply = classmethod(apply)
    try:
        yield
    finally:
        base.apply = own


class _Context:
    """What `forward` may ask of its context; nothing reads what it saves."""

    def __init__(self, args: tuple[Any, ...]):
        with torch._C.DisableTorchFunction():  # this reading is no call of the user's
            self.needs_input_grad = tuple(
                isinstance(x, torch.Tensor) and x.requires_grad for x in args
            )

    def _ignored(self, *_: Any) -> None:
        """Accept what a forward pass tells its backward, and drop it."""

    save_for_backward = save_for_forward = mark_dirty = _ignored
    mark_non_differentiable = set_materialize_grads = _ignored
