"""The error for a name that a namespace does not have, with the names that are spelt alike."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'clamp'?" with at most three similar names, or "" if none is near."""
    names = sorted({other for other in known if not other.startswith("_")})
    similar = [] if name.startswith("_") else difflib.get_close_matches(name, names)
    return f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a module that has no attribute `name`, with the similar names."""
    text = f"module {module!r} has no attribute {name!r}{near(name, known)}"
    return AttributeError(text, name=name)  # without `obj`, Python adds no second suggestion
