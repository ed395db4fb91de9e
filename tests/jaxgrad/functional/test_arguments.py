"""Arguments of several shapes and dtypes are combined as in torch."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.functional._core.arguments import result_type
from jaxgrad.parity.interop import to_torch
from parity_tests.operators import call, jax_side, load, torch_side
from parity_tests.operators._harness.jax_side import run
from parity_tests.operators._harness.jobs import job
from parity_tests.operators._harness.torch_side import observe


inf = np.inf
OPERATORS = load()
NINE = np.arange(1.0, 10.0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("huber_loss", call(NINE, NINE / 2, "none", weight=np.full(9, inf))),
        ("mse_loss", call(np.full(9, inf), NINE, reduction="none", weight=NINE)),
        ("addcdiv", call(NINE, [2.0], [0.0])),
    ],
)
@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # torch's forward mode calls it
def test_slopes_are_summed_where_torch_sums_them(name, sample):
    """Gradients with infinite terms match torch's, which depend on where the terms are summed."""
    record, at = OPERATORS[name], job(name, sample, None)
    truth = observe(torch_side(record), at)
    (outputs,) = run([jax_side(record)], [at], [truth.cotangents], [truth.directions], name=None)

    for part in ("gradient", "second"):
        for argument, expected in truth.observed[part].items():
            if expected is not None:
                np.testing.assert_allclose(
                    outputs[part][argument], expected, err_msg=f"{part}/{argument}"
                )


@pytest.mark.parametrize(
    "name",
    [
        "add", "sub", "mul", "div", "maximum", "fmax", "clamp_min", "pow", "atan2", "hypot",
        "remainder", "fmod", "logaddexp", "xlogy", "complex",
        "special.zeta", "trapezoid", "linalg.vecdot", "dist",
    ],
)  # fmt: skip
def test_shapes_that_do_not_broadcast_are_a_runtime_error(name):
    """Shapes that do not broadcast raise torch's RuntimeError with both shapes in the message."""
    left, right = np.ones(2), np.ones(3)

    with pytest.raises(RuntimeError):
        torch_side(OPERATORS[name])(*to_torch([left, right]))
    with pytest.raises(RuntimeError, match=r"2.*3|3.*2"):
        jax_side(OPERATORS[name])(jnp.asarray(left), jnp.asarray(right))


@pytest.mark.parametrize(
    "args",
    [
        ("f4[2]", "f8[]"), ("f8[]", "f4[]"), ("i4[2]", "f8[]"), ("i8[2]", 2.5), ("f2[2]", 2.5),
        ("f4[2]", 1j), ("i4[2]", 3), ("u1[2]", -3), ("?[2]", 3), ("f2[]", "i8[2]"), ("f8[2]", 1j),
        ("bf[2]", "f2[2]"), ("?[]", True), ("c8[]", "f8[2]"), ("i4[]", "u1[2]"),
    ],
)  # fmt: skip
def test_the_result_type_is_that_of_torch(args):
    """As in torch, the result type ranks arrays before 0-d arrays before Python numbers."""

    def array(text):
        if not isinstance(text, str):
            return text
        code, shape = text[:-1].split("[")
        dtype = jnp.bfloat16 if code == "bf" else code
        return jnp.ones((2,) if shape else (), dtype)

    jax_args = [array(a) for a in args]
    torch_args = [to_torch(np.asarray(x)) if isinstance(x, jax.Array) else x for x in jax_args]

    assert str(torch.result_type(*torch_args)) == f"torch.{result_type(*jax_args)}"


BAD: Any = 2.0
SIZES: dict[str, tuple[Any, str]] = {
    "max_pool2d": (lambda x: functional.max_pool2d(x, BAD), "kernel_size=2.0"),
    "avg_pool2d": (lambda x: functional.avg_pool2d(x, (2, BAD)), "kernel_size=(2, 2.0)"),
    "conv2d": (lambda x: functional.conv2d(x, x, stride=BAD), "stride=2.0"),
    "unfold": (lambda x: functional.unfold(x, BAD), "kernel_size=2.0"),
    "adaptive": (lambda x: functional.adaptive_avg_pool2d(x, BAD), "output_size=2.0"),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_must_be_whole(name):
    """A float as the size of a window raises an error that names the argument and its value."""
    run_it, text = SIZES[name]
    with pytest.raises(TypeError) as error:
        run_it(jnp.ones((1, 1, 4, 4)))
    assert f"must be an int or a tuple of ints, but got {text}" in str(error.value)
