"""PNG rendering needs an optional package."""

import sys

import pytest

from jaxgrad.graph import png


def test_png_names_the_package_to_install(monkeypatch):
    """Without `resvg_py`, `png` raises an error that names the package to install."""
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match="pip install resvg_py"):
        png("<svg/>")
