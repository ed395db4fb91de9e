"""Build torch's schedulers again with one argument of a constructor changed.

An attribute that is changed after construction would come too late: a constructor sets the first
learning rate, and many schedulers compute each rate from the one before.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


Make = Callable[[Any], Any]  # from an optimizer to its scheduler
_Construct = Callable[[Any, dict[str, Any]], None]


class Part(NamedTuple):
    """A scheduler that a factory constructs, alone or inside a sequence or a chain."""

    kind: type
    number: int  # among the constructed schedulers of its kind
    arguments: Mapping[str, Any]  # of the constructor, by name


def parts(make: Make, optimizer: Any) -> list[Part]:
    """Return the schedulers of which the result of a factory consists."""
    kinds = {type(x) for x in _members(make(optimizer))}
    kinds = {kind for kind in kinds if inspect.isfunction(inspect.unwrap(kind.__init__))}
    built: list[tuple[Any, dict[str, Any]]] = []
    with _watching(kinds, lambda x, arguments: built.append((x, dict(arguments)))):
        members = _members(make(optimizer))
    result = []
    for member in members:
        same = [pair for pair in built if type(pair[0]) is type(member)]
        index = next((k for k, (x, _) in enumerate(same) if x is member), None)
        if index is not None:
            result.append(Part(type(member), index, same[index][1]))
    return result


def changed(make: Make, part: Part, name: str, value: Any) -> Make:
    """Return a factory that constructs one part with another argument."""

    def build(optimizer: Any) -> Any:
        built: list[Any] = []

        def change(x: Any, arguments: dict[str, Any]) -> None:
            if len(built) == part.number:
                arguments[name] = value
            built.append(x)

        with _watching({part.kind}, change):
            return make(optimizer)

    return build


def _members(scheduler: Any) -> Sequence[Any]:
    return getattr(scheduler, "_schedulers", [scheduler])


@contextlib.contextmanager
def _watching(kinds: set[type], construct: _Construct) -> Iterator[None]:
    """Call a function with each new object of some classes and the arguments, which it may change.

    The function is called before the constructor is.
    """
    before = {kind: vars(kind).get("__init__") for kind in kinds}
    try:
        for kind in kinds:
            kind.__init__ = _watched(kind, construct)
        yield
    finally:
        for kind, own in before.items():
            if own is None:
                del kind.__init__
            else:
                kind.__init__ = own


def _watched(kind: type, construct: _Construct) -> Any:
    """Return the constructor of a class that reports the objects of this class itself."""
    init: Any = kind.__init__
    signature = inspect.signature(init)

    def watched(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is not kind:
            init(self, *args, **kwargs)
            return
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        construct(self, bound.arguments)
        init(*bound.args, **bound.kwargs)

    return watched
