"""Recognise the objects of libraries that need not be installed."""

from __future__ import annotations

import sys
from typing import Any


def is_a(x: Any, module: str, name: str) -> bool:
    """Whether `x` is an instance of a library's class, without importing the library.

    Example:
        >>> is_a({}, "flax.nnx", "Module")
        False
    """
    package = sys.modules.get(module)
    return package is not None and isinstance(x, getattr(package, name))
