"""The version that reports print is that of the installed package."""

import importlib.metadata

import jaxgrad
from jaxgrad._core.version import version


def test_the_version_is_that_of_the_package(monkeypatch):
    """`jaxgrad.__version__` is the installed version, and 0.0 in a copy without installation."""
    assert jaxgrad.__version__ == importlib.metadata.version("jaxgrad")

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert version() == "0.0"
