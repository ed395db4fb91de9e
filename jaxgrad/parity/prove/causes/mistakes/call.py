"""A torch call, and the same call with a porting mistake in it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.signatures import is_python, signature
from jaxgrad.parity.prove.edits import InTorch
from jaxgrad.parity.prove.wording import NO_DIFFERENCE, TORCH, Difference


# Mistakes that more particular ones explain, the most general one last.
NUMBER, INDEX, MULTIPLE = 1, 2, 3


class TorchCall(NamedTuple):
    """A call that torch made, possibly changed by a mistake."""

    func: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    op: str
    difference: Difference = NO_DIFFERENCE  # the mistake, empty for torch's own call
    setting: str = "this change"  # the change with which torch is rerun
    partial: bool = False  # whether a correct port may compute the result as an intermediate value
    fix: tuple[str, str] = ("", "")  # what the JAX code contains, and what it should contain
    write: InTorch = InTorch()  # what torch's code needs in order to do the same
    numbers: tuple[float, ...] = ()  # in the JAX program, first those that torch does not have
    general: int = 0  # or `NUMBER`, `INDEX`, `MULTIPLE`: more particular mistakes are told first
    shapes: tuple[tuple[int, ...], ...] = ()  # of the operands and the result in JAX
    reorders: bool = False  # whether the result has the same elements in another order
    occurs: bool = False  # whether JAX must have the result, which is told as what JAX computes

    @property
    def mistake(self) -> str:
        """What the port does wrong if torch is the reference."""
        return self.difference.says(TORCH)

    @property
    def bound(self) -> dict[str, Any]:
        """The arguments by name, empty if the function has no signature."""
        return {} if self._arguments is None else dict(self._arguments.arguments)

    @property
    def signature(self) -> inspect.Signature | None:
        """The signature of the function, None if it has none."""
        return signature(self.func, self.args, self.kwargs)

    @property
    def _arguments(self) -> inspect.BoundArguments | None:
        if (known := self.signature) is None:
            return None
        try:
            return known.bind(*self.args, **self.kwargs)
        except TypeError:
            return None

    def named(self, name: str) -> Any:
        """The argument with a name or its default; None if the function has no signature."""
        bound = self._arguments
        if bound is None:
            return None
        bound.apply_defaults()
        return bound.arguments.get(name)

    @property
    def complete(self) -> tuple[Any, ...]:
        """The arguments with the defaults: equal for equal calls, as long as the calls exist."""
        given = [*enumerate(self.args), *self.kwargs.items()]
        if (bound := self._arguments) is not None:
            bound.apply_defaults()
            given = [*bound.arguments.items()]
        return tuple((name, _identity(x)) for name, x in given)

    @property
    def settings(self) -> list[float]:
        """The finite numbers among the arguments, defaults included."""
        given = [*self.args, *self.kwargs.values()]
        if (bound := self._arguments) is not None:
            bound.apply_defaults()
            given = [*bound.arguments.values()]
        numbers = (x for x in given if isinstance(x, int | float) and not isinstance(x, bool))
        return [float(x) for x in numbers if math.isfinite(x)]

    def called(self, mistake: Difference, /, *args: Any, **kwargs: Any) -> TorchCall:
        """Return a call of the same function with different arguments."""
        return self._replace(difference=mistake, args=args, kwargs=kwargs)

    def replaced(
        self, mistake: Difference, setting: str = "this change", /, **new: Any
    ) -> TorchCall:
        """Return the call with some arguments replaced by name."""
        given = {**self.bound, **new}
        if is_python(self.func) or (known := self.signature) is None:
            call = self.called(mistake, **given)
        else:  # a method does not take its first operand by name
            bound = inspect.BoundArguments(
                known, {n: given[n] for n in known.parameters if n in given}
            )
            call = self.called(mistake, *bound.args, **bound.kwargs)
        call = call._replace(setting=setting)
        if len(new) == 1:
            ((name, value),) = new.items()
            call = call.writing(name, value)
        return call

    def writing(self, name: str, value: Any) -> TorchCall:
        """Return the call with the argument to add to torch's code, if it has a short form."""
        short = value is None or isinstance(value, bool | int | float | str)
        return self._replace(write=InTorch(f"{name}={value!r}")) if short else self

    def by(self, mistake: Difference, func: Callable[..., Any], /, *args: Any) -> TorchCall:
        """Return a call of another function; without `args` its arguments are the same."""
        if args:
            return self._replace(difference=mistake, func=func, args=args, kwargs={})
        return self._replace(difference=mistake, func=func)

    def then(self, mistake: Difference, change: Callable[[Any], Any]) -> TorchCall:
        """Return the call followed by a change of its result."""
        func = self.func
        return self._replace(difference=mistake, func=lambda *a, **k: change(func(*a, **k)))

    def fixed(self, wrong: object, right: object) -> TorchCall:
        """Return the call with the edit that corrects the mistake in JAX code."""
        return self._replace(fix=(str(wrong), str(right)))

    @property
    def result(self) -> Any:
        """What the call returns for copies of its operands, some of which it may change."""
        return self.func(*_copied(self.args, []), **_copied(self.kwargs, []))

    def made(self) -> Any:
        """Return the result of the call; what it changes of a module's buffers stays changed.

        Other operands are copied: autograd may need them unchanged.
        """
        pairs: list[tuple[Tensor, Tensor]] = []
        out = self.func(*_copied(self.args, pairs), **_copied(self.kwargs, pairs))
        for x, copy in pairs:
            if not x.requires_grad and not torch.equal(x, copy):
                x.copy_(copy)
        return out


Mistakes = Iterator[TorchCall]


def _identity(x: Any) -> Any:
    """Return what tells an argument apart: a tensor from its copies, a number by its value."""
    if isinstance(x, list | tuple):
        return tuple(map(_identity, x))
    return id(x) if isinstance(x, Tensor) else repr(x)


def _copied(tree: Any, pairs: list[tuple[Tensor, Tensor]]) -> Any:
    """Return a tree with copies of its tensors, and append each tensor with its copy."""
    if isinstance(tree, dict):
        return {key: _copied(x, pairs) for key, x in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_copied(x, pairs) for x in tree)
    if not isinstance(tree, Tensor):
        return tree
    pairs.append((tree, tree.clone()))
    return pairs[-1][1]


def tensors(tree: Any) -> list[Tensor]:
    """Return the floating and complex tensors among the arguments of a call."""
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if isinstance(tree, list | tuple):
        return [x for branch in tree for x in tensors(branch)]
    inexact = isinstance(tree, Tensor) and (tree.is_floating_point() or tree.is_complex())
    return [tree] if inexact else []
