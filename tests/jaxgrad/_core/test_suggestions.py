"""The suggestion of names that are spelt alike."""

from jaxgrad._core import suggestions


def test_near_names_are_suggested_and_private_names_are_not():
    """At most three public names follow, and a name that resembles none gets no suggestion."""
    known = ["clamp", "_clmap", "log"]
    assert suggestions.near("clmap", known) == "; did you mean 'clamp'?"
    assert suggestions.near("xyz", known) == ""
    assert suggestions.near("_clamp", known) == ""
