"""An exception in the user's code becomes one sentence with the line that raised it."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove import users
from jaxgrad.parity.prove.waivers import fits


def divide() -> float:
    return 1 / 0


def test_the_users_line_is_named():
    """The sentence names the code, the exception, its line and the hint."""
    words = r"outputs=: pick raised ZeroDivisionError at .*test_users.py:\d+: division by zero. Try"
    with pytest.raises(ProofError, match=words), users.running("outputs=: pick", "Try another"):
        divide()


def test_a_returned_value_is_described():
    """An array has its shape even while JAX traces it; other values have the name of their type."""
    described: list[str] = []

    def fn(x: jax.Array) -> jax.Array:
        described.append(users.returned(x))
        return x

    jax.make_jaxpr(fn)(jnp.ones((4, 5)))
    assert described == [users.returned(np.ones((4, 5)))] == ["an array of shape (4, 5)"]
    assert users.returned(jnp.ones(())) == "a scalar array"
    assert users.returned((1, 2, 3)) == "a tuple of length 3"
    assert users.returned({}) == "a dict" and users.returned(None) == "None"


def test_errors_that_are_explained_pass_through():
    """A `ProofError`, and an exception of a type in `keep`, are not wrapped."""
    with pytest.raises(ProofError, match="^known$"), users.running("code"):
        raise ProofError("known")
    with pytest.raises(ZeroDivisionError), users.running("code", keep=(ArithmeticError,)):
        divide()


def test_only_the_first_line_of_a_message_is_reported():
    """A message of several lines is cut after the first line, a long one after a word."""
    assert users.described(KeyError("a")) == "KeyError: 'a'"
    assert users.first_line(ValueError("one\ntwo")) == "one"
    assert users.first_line(ValueError("word " * 300)) == " ".join(["word"] * 200) + " ..."


def test_exhausted_memory_is_not_a_bug():
    """A `MemoryError` is reported as too large a model, and other exceptions as a bug."""
    assert users.bug(MemoryError("2 GB")) == "the memory does not suffice to prove this model: 2 GB"


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("value", "text"),
    [("x" * 58, repr("x" * 58)), ("x" * 59, "'" + "x" * 56 + "..."), ({1: 2}, "{1: 2}"),
     ([1,   2], "[1, 2]"), (Unprintable(), "an object of type Unprintable")],
    ids=["60", "61", "dict", "list", "raises"],
)  # fmt: skip
def test_a_long_value_is_cut(value, text):
    """A value is shown in at most 60 characters, on one line."""
    assert users.shown(value) == text and len(text) <= 60


def test_a_bug_is_reported_with_its_line_in_jaxgrad():
    """The innermost line in jaxgrad is named, relative to the package."""
    broken: Any = None
    with pytest.raises(TypeError) as error:
        fits(broken, broken)
    assert re.match(
        r"this is a bug in jaxgrad, not in the port: TypeError at jaxgrad/parity/prove/waivers\.py"
        r":\d+: .*\. Please report it$",
        users.bug(error.value),
    )


def test_the_innermost_line_of_the_user_is_the_place():
    """Lines of jaxgrad and of libraries are left out; without a traceback there is no place."""
    with pytest.raises(ZeroDivisionError) as error, users.running("x", keep=(ArithmeticError,)):
        divide()
    line = divide.__code__.co_firstlineno + 1
    assert users.place_of(error.value) == f" at {__file__}:{line}"
    assert users.place_of(ValueError()) == ""
