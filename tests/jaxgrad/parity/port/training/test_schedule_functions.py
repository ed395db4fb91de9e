"""A Python function of the epoch becomes a function that JAX traces, with the same values."""

import ast
import functools
import math

import numpy as np
import pytest

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.training.schedule_functions import write_function


HALF = 0.5
RNG = np.random.default_rng(0)
TABLE = [1.0, 0.5, 0.25]


def warm_up(step, *, warm, total, floor=0.0):
    if step < warm:
        return float(step) / float(max(1, warm))
    progress = float(step - warm) / float(max(1, total - warm))
    return max(floor, 0.5 * (1.0 + math.cos(math.pi * progress)))


def milestones(epoch):
    factor, last = 1.0, 0
    for milestone, gamma in zip([2, 4], [0.5, 0.1], strict=True):
        if epoch >= milestone:
            factor *= gamma
            last = factor
    return factor + last


def in_sequence(epoch):
    a = epoch + 1.0
    b = a
    if epoch > 3 and not epoch >= 7:
        a, b = 1.0, 2.0
        a = b + 1
    elif a < 0:
        raise ValueError(epoch)
    else:
        a = b / 2
        b = a * 3
    return a * 10 + b


class Noam:
    def __init__(self, width, warm):
        self.width, self.warm = width, warm

    def __call__(self, step):
        step = max(step, 1)
        return self.width**-0.5 * self.scale(step)

    def scale(self, step):
        return min(step**-0.5, step * self.warm**-1.5)


FUNCTIONS = {
    "a branch that returns": functools.partial(warm_up, warm=3, total=30),
    "a loop over milestones": milestones,
    "variables that both branches change": in_sequence,
    "an object with a method": Noam(16, 3),
    "a method": Noam(16, 3).scale,
    "a power of an integer": lambda epoch: 2**-epoch,
    "a conditional expression": lambda epoch: HALF ** (epoch // 2) if epoch % 3 else abs(-1),
    "a table": lambda epoch: TABLE[epoch],
    "numpy": lambda epoch: np.exp(-epoch / 10.0),
    "a chained comparison": lambda epoch: 0.1 if 2 < epoch <= 5 or epoch == 9 else int(epoch / 3),
    "a constant": lambda epoch: HALF,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_code_has_the_values_of_the_function(name):
    """`write_function` compares both at 46 epochs, or until the function raises."""
    node = write_function(FUNCTIONS[name], "schedule")

    assert "HALF" not in syntax.text(node) and "self" not in syntax.text(node)
    is_lambda = "<lambda>" in repr(FUNCTIONS[name])
    assert isinstance(node, ast.Lambda if is_lambda else ast.FunctionDef)


def test_the_code_of_a_warm_up_is_readable():
    """Settings are folded, and a branch that returns becomes one `where`."""
    node = write_function(FUNCTIONS["a branch that returns"], "warm_up")

    assert syntax.text(node) == (
        "def warm_up(step):\n"
        "    return jnp.where(step < 3, step / 3.0, "
        "jnp.maximum(0.0, 0.5 * (1.0 + jnp.cos(jnp.pi * ((step - 3) / 27.0)))))"
    )


def endless(epoch):
    while epoch > 1:
        epoch = epoch / 2
    return epoch


def missing(epoch):
    if epoch > 3:
        factor = 1.0
    return factor  # pyright: ignore[reportPossiblyUnboundVariable]


def by_attribute(epoch):
    FUNCTIONS[epoch] = epoch
    return 1.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda epoch: RNG.random() * epoch,
            r"written\(1\) is .* in torch, and .* as it would",
        ),
        (lambda epoch: len(str(epoch)), "a call of str, which is not ported in a function of the"),
        (lambda: 1.0, "written takes no argument; it needs one, the epoch"),
        (endless, "test_schedule_functions.py:.*a statement `while epoch > 1:"),
        (missing, "`factor` raises NameError"),
        (by_attribute, "an assignment to `FUNCTIONS.epoch.`"),
        (functools.partial(math.pow, 0.5), "has no Python source; write it as a Python function"),
        (lambda epoch: sum(1 for _ in range(epoch)), "which is not ported in a function of the"),
    ],
)
def test_a_function_that_cannot_be_translated_is_refused(function, words):
    """The error names the line and says what to write."""
    with pytest.raises(PortError, match=words):
        write_function(function, "written")
