"""Find out which version of jaxgrad is installed."""

from __future__ import annotations

import importlib.metadata


def version() -> str:
    """Return the installed version; "0.0" for a copy without installation."""
    try:
        return importlib.metadata.version("jaxgrad")
    except importlib.metadata.PackageNotFoundError:
        return "0.0"
