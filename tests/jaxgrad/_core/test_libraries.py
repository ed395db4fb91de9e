"""An object is recognised by its class, whether or not the library is imported."""

import sys

import numpy as np

from jaxgrad._core.libraries import is_a


def test_only_imported_libraries_have_instances(monkeypatch):
    """Without the library there can be no object of its classes."""
    x = np.ones(2)
    assert is_a(x, "numpy", "ndarray") and not is_a(2.0, "numpy", "ndarray")
    monkeypatch.delitem(sys.modules, "numpy")
    assert not is_a(x, "numpy", "ndarray")
