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


@pytest.mark.parametrize(
    ("name", "same"),
    [("AdamW", "adamw"), ("SGD", "sgd"), ("CosineAnnealingLR", "cosine_annealing_lr")],
)
def test_the_name_of_a_class_leads_to_the_function(name, same):
    """torch writes classes of optimizers and schedules in capitals, jaxgrad functions without."""
    known = ["adam", "adamw", "nadam", "sgd", "cosine_annealing_lr", "cosine_annealing"]
    assert suggestions.near(name, known) == f"; did you mean {same!r}?"


@pytest.mark.parametrize(("name", "counterpart"), suggestions.IN_JAX.items())
def test_a_counterpart_exists_and_jaxgrad_has_no_name_of_torch(name, counterpart):
    """jaxgrad has no attribute with this name of torch, and the counterpart can be called."""
    package, _, path = counterpart.partition(".")
    found = operator.attrgetter(path)({"jax": jax, "jaxgrad": jaxgrad}[package])

    assert callable(found) and name not in dir(jaxgrad)
