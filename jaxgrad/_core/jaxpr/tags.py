"""Find intermediate values that a program has tagged by name to request their gradients."""

from __future__ import annotations

from typing import Any

from jaxgrad._core import compat, source
from jaxgrad._core.jaxpr.taps import slot_shape
from jaxgrad._core.jaxpr.tracing import Place, walk


retained_p = compat.identity_primitive("retain_grad")


def tags(jaxpr: Any) -> dict[str, list[Place]]:
    """Map each tag name to its positions: one, or one in each branch of a single `cond`."""
    places: dict[str, list[Place]] = {}
    branching: set[Any] = set()
    for place in walk(jaxpr):
        if place.eqn.primitive.name == "cond":
            branching.add(place.path)
        if place.eqn.primitive is not retained_p:
            continue
        name, line = place.eqn.params["name"], source.source_line(place.eqn)
        if place.closed:
            raise ValueError(
                f"retain_grad({name!r}) at {line} is inside {place.closed}, "
                "where no value has a gradient of its own: tag it outside"
            )
        for other in places.setdefault(name, []):
            if not _exclusive(other, place, branching):
                raise ValueError(
                    f"retain_grad({name!r}) is used twice, at {source.source_line(other.eqn)} "
                    f"and at {line}: give each tag a name of its own"
                )
        places[name].append(place)
    return places


def _exclusive(a: Place, b: Place, branching: set[Any]) -> bool:
    """Return whether two tags are in different branches of a `cond`, on values of the same type."""
    n = next(i for i, (x, y) in enumerate(zip(a.path, b.path, strict=False)) if x != y)
    return a.path[:n] in branching and slot_shape(a) == slot_shape(b)
