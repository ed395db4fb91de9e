"""The suggestion of names that are spelt alike."""

import operator

import jax
import pytest

import jaxgrad
from jaxgrad._core import suggestions


def test_near_names_are_suggested_and_private_names_are_not():
    """At most three public names follow, and a name that resembles none gets no suggestion."""
    known = ["clamp", "_clmap", "log"]
    assert suggestions.near("clmap", known) == "; did you mean 'clamp'?"
    assert suggestions.near("xyz", known) == ""
    assert suggestions.near("_clamp", known) == ""


@pytest.mark.parametrize(("name", "counterpart"), suggestions.IN_JAX.items())
def test_a_counterpart_exists_and_jaxgrad_has_no_name_of_torch(name, counterpart):
    """jaxgrad has no attribute with this name of torch, and the counterpart can be called."""
    package, _, path = counterpart.partition(".")
    found = operator.attrgetter(path)({"jax": jax, "jaxgrad": jaxgrad}[package])

    assert callable(found) and name not in dir(jaxgrad)
