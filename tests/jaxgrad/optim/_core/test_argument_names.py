"""Factories name torch's argument when they are given another one."""

import pickle

import pytest

from jaxgrad import optim
from jaxgrad.optim._core.argument_names import check
from parity_tests.audits.optimizers import OPTIMIZERS


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_factory_names_torchs_learning_rate(name):
    """optax's `learning_rate=` raises an error with torch's name."""
    text = rf"{name}\(\) has no argument learning_rate; torch's name is lr"
    with pytest.raises(TypeError, match=text):
        getattr(optim, name)(learning_rate=0.1)


PROBLEMS = {
    "b1": (optim.adam, "b1", "torch's name is betas=(b1, b2)"),
    "decay": (optim.rmsprop, "decay", "torch's name is alpha"),
    "typo": (optim.sgd, "momentun", "did you mean momentum?"),
    "params": (optim.adamw, "params", "the parameters are arguments of init, update and step"),
    "unlike": (optim.sgd, "qqq", "it has lr, momentum, dampening"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_error_says_what_to_write(name):
    """An unknown argument raises torch's name, the nearest name or the list of all names."""
    factory, argument, text = PROBLEMS[name]
    with pytest.raises(TypeError) as error:
        factory(**{argument: 0.5})
    assert str(error.value).startswith(f"{factory.__name__}() has no argument {argument}")
    assert text in str(error.value)


def test_a_factory_with_any_arguments_is_not_checked():
    """A user-defined factory that takes `**options` accepts every name."""
    check(lambda **options: options, ["anything"])
    with pytest.raises(TypeError, match="has no argument anything"):
        check(lambda lr: lr, ["anything"])


def test_a_checked_factory_keeps_its_identity():
    """Factories keep their name, docstring and signature, and can be pickled."""
    assert optim.adamw.__name__ == "adamw" and "Torch:" in (optim.adamw.__doc__ or "")
    assert pickle.loads(pickle.dumps(optim.adamw)) is optim.adamw
