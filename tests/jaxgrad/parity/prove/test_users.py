"""An exception in the user's code becomes one sentence with the line that raised it."""

import pytest

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove import users


def divide() -> float:
    return 1 / 0


def test_the_users_line_is_named():
    """The sentence names the code, the exception, its line and the hint."""
    words = r"outputs=: pick raised ZeroDivisionError at .*test_users.py:\d+: division by zero. Try"
    with pytest.raises(ProofError, match=words), users.running("outputs=: pick", "Try another"):
        divide()


def test_errors_that_are_explained_pass_through():
    """A `ProofError`, and an exception of a type in `keep`, are not wrapped."""
    with pytest.raises(ProofError, match="^known$"), users.running("code"):
        raise ProofError("known")
    with pytest.raises(ZeroDivisionError), users.running("code", keep=(ArithmeticError,)):
        divide()


def test_only_the_first_line_of_a_message_is_reported():
    """A message of several lines is cut after the first line, and after 300 characters."""
    assert users.described(KeyError("a")) == "KeyError: 'a'"
    assert users.first_line(ValueError("one\ntwo")) == "one"
    assert len(users.first_line(ValueError("x" * 400))) == 300


def test_exhausted_memory_is_not_a_bug():
    """A `MemoryError` is reported as too large a model, and other exceptions as a bug."""
    assert users.bug(MemoryError("2 GB")) == "the memory does not suffice to prove this model: 2 GB"
