"""Checks of the exercises in the notebook mutation."""

import jax
import jax.numpy as jnp
import torch

from parity_tests.notebook.check import holds, names_in
from parity_tests.notebook.live_torch import leaf


def which_one_raises(sin_raises, exp_raises, square_raises):
    answers = {"sin": sin_raises, "exp": exp_raises, "square": square_raises}
    for name, answer in answers.items():
        y = getattr(torch, name)(leaf(0.0))
        y += 1
        try:
            y.backward()
            raised = False
        except RuntimeError:
            raised = True
        fault = (
            f"`{name}_raises` = {answer} is not what torch does. Ask whether the derivative of "
            f"`{name}` is computed from its input or from its result, which `y += 1` changes"
        )
        yield f"torch does for `{name}` what you predict", holds(answer == raised, fault), True


def keep_the_activation(loss):
    w = leaf([1.0, 2.0])
    h = 2 * w
    (h**2).sum().backward()
    leak = holds("kept" not in names_in(loss), "`loss` still stores a tracer in the list `kept`")
    yield "`loss` stores nothing outside", leak, True
    result = jax.eval_shape(loss, jnp.array([1.0, 2.0]))
    fault = "return the pair of the loss and the activation, as `has_aux=True` expects"
    pair = isinstance(result, tuple) and len(result) == 2
    yield "`loss` returns a pair", holds(pair, fault), True
    grad, kept = jax.jit(jax.grad(loss, has_aux=True))(jnp.array([1.0, 2.0]))
    yield "the activation", kept, h
    yield "the gradient", grad, w.grad
