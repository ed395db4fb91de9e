"""The checks accept right answers that are written differently, and reject plausible wrong ones."""

import contextlib
import io
import linecache
import textwrap

import pytest

from parity_tests.notebook.practice import exercises
from tests.parity_tests.notebook._lessons import cells
from tests.parity_tests.notebook.answers import (
    derivatives,
    first_steps,
    optimizers,
    scale,
    training,
)


HEAD = """
import functools
import jax, jax.numpy as jnp, numpy as np, optax, torch
import jaxgrad
from jax import lax
from jaxgrad import optim
from torch import nn
from parity_tests.notebook.check import check
"""
ANSWERS = {
    name: answers
    for module in (first_steps, training, optimizers, derivatives, scale)
    for name, answers in module.ANSWERS.items()
}


def verdict(name: str, answer: str) -> str:
    """Run the cell of the notebook, an answer below it, and the cell that checks it."""
    for texts in cells().values():
        if f'exercise("{name}")' in texts:
            at = texts.index(f'exercise("{name}")')
            out, names = io.StringIO(), {"__name__": "notebook"}
            with contextlib.redirect_stdout(out):
                for number, code in enumerate((HEAD, texts[at + 1], textwrap.dedent(answer))):
                    file = f"<{name} {number}>"  # `port` reads the source
                    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
                    exec(compile(code, file, "exec"), names)
                start = out.tell()
                exec(texts[at + 2], names)
            return out.getvalue()[start:].strip()
    raise AssertionError(f"no notebook has the exercise {name}")


def test_every_exercise_has_answers():
    """Each exercise has at least one right answer besides the solution, and two wrong ones."""
    assert sorted(ANSWERS) == sorted(exercises())
    assert all(right and len(wrong) >= 2 for right, wrong in ANSWERS.values())


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", ANSWERS)
def test_a_check_accepts_right_answers_and_rejects_wrong_ones(name):
    """The verdict does not depend on how an answer is written, and says what is wrong."""
    right, wrong = ANSWERS[name]
    for answer in right:
        assert verdict(name, answer).startswith("Right: "), (answer, verdict(name, answer))
    for answer in wrong:
        assert verdict(name, answer).startswith("Not yet: "), answer


def test_the_sum_of_two_batches_is_an_array_of_jax():
    """The right numbers in a list or a tensor are refused, since they were not computed in JAX."""
    name = "ten_minutes/two_batches"

    for answer, kind in (("total = [6.0, 42.0]", "list"), ("total = w.grad", "Tensor")):
        assert verdict(name, answer) == (
            f"Not yet: `total` is a {kind} and not a JAX array: compute it with `jax.grad`."
        )
    assert verdict(name, "total = jax.grad(lambda w: 6 * w[0] + 42 * w[1])(jnp.ones(2))") == (
        "Right: `total` is a JAX array, the accumulated gradient is [6, 42]."
    )
    assert verdict(name, "total = jnp.array([6.0, 41.0])") == (
        "Not yet: the accumulated gradient is [6, 41]; it should be [6, 42]."
    )
