"""The error for a name that a namespace does not have, with the names that are spelt alike."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


# torch's names for the backward pass whose counterparts have another name.
IN_JAX = {
    "detach": "jax.lax.stop_gradient",
    "detach_": "jax.lax.stop_gradient",
    "stop_gradient": "jax.lax.stop_gradient",
    "register_hook": "jaxgrad.hook",
    "register_full_backward_hook": "jaxgrad.backward_hook",
    "requires_grad_": "jaxgrad.partition",
    "Function": "jaxgrad.from_function",
    "checkpoint": "jax.checkpoint",
    "inference_mode": "jaxgrad.no_grad",
    "set_grad_enabled": "jaxgrad.no_grad",
}


def near(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'clamp'?" with at most three similar names, or "" if none is near.

    A name that differs only in capitals and underscores, as `AdamW`, is the only one.
    """
    if name.startswith("_"):
        return ""
    names = sorted({other for other in known if not other.startswith("_")})
    similar = [other for other in names if _letters(other) == _letters(name)]
    similar = similar or difflib.get_close_matches(name, names)
    return f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a module that has no attribute `name`, with the similar names."""
    instead = f"; use {IN_JAX[name]}" if name in IN_JAX else near(name, known)
    text = f"module {module!r} has no attribute {name!r}{instead}"
    return AttributeError(text, name=name)  # without `obj`, Python adds no second suggestion
