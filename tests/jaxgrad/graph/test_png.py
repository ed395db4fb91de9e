"""PNG rendering needs an optional package."""

import sys

import pytest

from jaxgrad.graph import png


def test_png_names_the_extra_to_install(monkeypatch):
    """Without `resvg_py`, `png` raises an error that names the extra to install."""
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'jaxgrad\[png\]'"):
        png("<svg/>")
