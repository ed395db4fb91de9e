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

    for answer, kind in (
        ("total = [6.0, 42.0]", "a list"),
        ("total = w.grad", "a Tensor"),
        ("total = 6", "an int"),
    ):
        assert verdict(name, answer) == (
            f"Not yet: `total` is {kind} and not a JAX array: compute it with `jax.grad`."
        )
    assert verdict(name, "total = jax.grad(lambda w: 6 * w[0] + 42 * w[1])(jnp.ones(2))") == (
        "Right: `total` is a JAX array, the accumulated gradient is [6, 42]."
    )
    assert verdict(name, "total = jnp.array([6.0, 41.0])") == (
        "Not yet: the accumulated gradient is [6, 41]; it should be [6, 42]."
    )


@pytest.mark.parametrize(
    ("name", "answer", "text"),
    [
        (
            "hooks/once_or_per_use",
            "once, per_use = -1, 0",
            "`once` = -1 is not torch's gradient of x. Add the gradients of both uses of `h` "
            "first, clamp the sum, and multiply by dh/dx.",
        ),
        (
            "hooks/once_or_per_use",
            "once, per_use = -2, -2",
            "`per_use` = -2 is not torch's gradient of x. Clamp the gradient of each use of `h` "
            "first, add them, and multiply by dh/dx.",
        ),
        (
            "hooks/once_or_per_use",
            'once, per_use = "minus two", 0',
            "`once` is 'minus two'; give a number, such as 1 or -0.5.",
        ),
        (
            "none_or_zero/one_of_each",
            'def loss(p): return p["a"] ** 2 + 0 * p["b"] + jax.lax.stop_gradient(p["c"])',
            "`loss` is called with tensors of torch and with arrays of JAX; use operators that "
            "both have, such as `+`, `*` and `**`, and no function or method of one framework.",
        ),
        (
            "none_or_zero/one_of_each",
            'def loss(p): return torch.square(p["a"]) + 0 * p["b"]',
            "`loss` is called with tensors of torch and with arrays of JAX; use operators that "
            "both have, such as `+`, `*` and `**`, and no function or method of one framework.",
        ),
        *(
            (
                "none_or_zero/one_of_each",
                f'def loss(p): return p["a"] ** 2 + 0 * p["b"] + {third}',
                "`loss` is called with tensors of torch and with arrays of JAX; use operators that "
                "both have",
            )
            for third in ('p["c"].detach()', 'jnp.floor(p["c"])')
        ),
        (
            "none_or_zero/one_of_each",
            "def loss(p): return p",
            "`loss` returns a dict; return one number computed from a.",
        ),
        (
            "none_or_zero/transposed",
            "forward, backward = [5, 3, 0], [8, 2]\n"
            "def pull_back(f, x, g): return jax.linearize(f, x)[1](g)",
            "`pull_back` calls the linear function with the gradient of f(x). That function takes "
            "a tangent of x, with one number for each input; its transpose takes a gradient of "
            "f(x), with one number for each output. Call the transpose, "
            "`jax.linear_transpose(linear, x)`.",
        ),
        *(
            (
                "none_or_zero/transposed",
                "forward, backward = [5, 3, 0], [8, 2]\n"
                "def pull_back(f, x, g):\n"
                "    y, linear = jax.linearize(f, x)\n"
                f"    return jax.linear_transpose(linear, {example})(g)[0]",
                "the second argument of `jax.linear_transpose` needs the shape and the dtype of x, "
                "not those of g.",
            )
            for example in ("g", "y", "jnp.zeros(3)", "jnp.array([1, 0])")
        ),
        *(
            (
                "none_or_zero/transposed",
                "forward, backward = [5, 3, 0], [8, 2]\n"
                "def pull_back(f, x, g):\n"
                "    linear = jax.linearize(f, x)[1]\n"
                f"    return {result}",
                "`pull_back` is right for an x of two numbers and raises for an x of three, "
                "because it gives the linear function a tangent of fixed length.",
            )
            for result in (
                "jax.linear_transpose(linear, jnp.zeros(2))(g)[0]",
                "jax.linear_transpose(linear, jnp.array([1.0, 0.0]))(g)[0]",
                "jnp.stack([linear(jnp.array(one)) @ g for one in ([1.0, 0.0], [0.0, 1.0])])",
            )
        ),
        (
            "none_or_zero/decay_that_skips_none",
            "def step(p, g): return p - 0.1 * (g + 0.5 * p)",
            "for a gradient of None your code raises TypeError: unsupported operand type(s) for +: "
            "'NoneType' and",
        ),
        *(
            (
                "grad_modes/one_term_of_a_sum",
                "def in_torch(x): return x.detach() ** 2 + x**3\n"
                f"def in_jax(x): return {square} + x**3",
                "`in_jax` is called with arrays of JAX; use functions of JAX, such as "
                "`lax.stop_gradient`, and no function or method of torch, such as `detach`.",
            )
            for square in ("x.detach() ** 2", "torch.square(x)")
        ),
        (
            "grad_modes/one_term_of_a_sum",
            "def in_torch(x): return lax.stop_gradient(x) ** 2 + x**3\n"
            "def in_jax(x): return lax.stop_gradient(x) ** 2 + x**3",
            "`in_torch` is called with tensors of torch; use functions or methods of torch, such "
            "as `detach`, and no function of JAX.",
        ),
        (
            "grad_modes/one_term_of_a_sum",
            "def in_torch(x): return x.detach() ** 2 + x**3\n"
            "def in_jax(x): return jax.stop_gradient(x) ** 2 + x**3",
            "your code raises AttributeError: module 'jax' has no attribute 'stop_gradient'",
        ),
        (
            "grad_modes/one_term_of_a_sum",
            "def in_torch(x): return (x**2 + x**3).detach()\n"
            "def in_jax(x): return lax.stop_gradient(x) ** 2 + x**3",
            "your torch function stops both terms, so its result does not require grad",
        ),
        (
            "grad_modes/one_term_of_a_sum",
            "def in_torch(x): return x.item() ** 2 + x.item() ** 3\n"
            "def in_jax(x): return lax.stop_gradient(x) ** 2 + x**3",
            "your torch function stops both terms, so its result does not require grad",
        ),
        *(
            (
                "grad_modes/one_term_of_a_sum",
                "def in_torch(x):\n    y = (x**2).detach() + x**3\n"
                f"    y.backward({keep})\n    return y\n"
                "def in_jax(x): return lax.stop_gradient(x) ** 2 + x**3",
                "`in_torch` calls `backward()`. Return the sum only; this check calls `backward()` "
                "on it.",
            )
            for keep in ("", "retain_graph=True")
        ),
        (
            "grad_modes/one_term_of_a_sum",
            "def in_torch(x): (x**2).detach() + x**3\n"
            "def in_jax(x): return lax.stop_gradient(x) ** 2 + x**3",
            "`in_torch` returns None; end it with `return` and the value.",
        ),
        (
            "grad_modes/one_term_of_a_sum",
            "def in_torch(x): return (x**2).detach() + x**3\n"
            "def in_jax(x): lax.stop_gradient(x) ** 2 + x**3",
            "`in_jax` returns None; end it with `return` and the value.",
        ),
        (
            "grad_modes/stopped_too_early",
            "def stopped(x): f(lax.stop_gradient(x))",
            "`stopped` returns None; end it with `return` and the value.",
        ),
        (
            "grad_modes/same_value_other_gradient",
            "def loss(a, b): a * lax.stop_gradient(b) + lax.stop_gradient(a)",
            "`loss` returns None; end it with `return` and the value.",
        ),
        (
            "grad_modes/stopped_too_early",
            "def stopped(x): return f(x.detach())",
            "`stopped` is called with arrays of JAX;",
        ),
        (
            "grad_modes/same_value_other_gradient",
            "def loss(a, b): return a * b.detach() + a.detach()",
            "`loss` is called with arrays of JAX;",
        ),
        (
            "none_or_zero/transposed",
            "",
            "replace each `...` in the cell above, run it, and run this cell again.",
        ),
        (
            "none_or_zero/transposed",
            "forward, backward = [5, 3, 0], [5, 3, 0]",
            "`backward` has length 3; give one number for each input of f. The linear part maps "
            "tangents of the inputs to tangents of the outputs, its transpose gradients of the "
            "outputs to gradients of the inputs.",
        ),
        (
            "none_or_zero/transposed",
            "forward, backward = [5, 3, 0], [5, 2]",
            "`backward` = [5, 2] is not right. Add what the outputs with the gradient 1 "
            "contribute, over all uses of x0 and x1.",
        ),
        (
            "none_or_zero/transposed",
            "forward, backward = [5, 3, 0], [8, 2]\n"
            "def pull_back(f, x, g): return jax.vjp(f, x)[1](g)[0]",
            "use `jax.linearize` and `jax.linear_transpose` in place of `jax.vjp`.",
        ),
        (
            "none_or_zero/transposed",
            "forward, backward = [5, 3, 0], [8, 2]\n"
            "def pull_back(f, x, g): return jax.linear_transpose(jax.linearize(f, x)[1], x)(g)",
            "the gradient of x for f at [2.0, 5.0] and g = [1.0, 1.0, 0.0] is [[8, 2]]; it should "
            "be [8, 2]. `jax.linear_transpose` returns a tuple, with one entry for each argument",
        ),
        (
            "hooks/unit_gradient",
            "def loss(w): return jnp.sum(jaxgrad.hook(w, lambda g: g / jnp.linalg.norm(g))**2) * 4",
            "the gradient at [3.0, 4.0] is [0.6, 0.8]; it should be [1.2, 1.6]. Hook `h`: its "
            "gradient gets length 1, and that of `w` twice the length.",
        ),
        (
            "hooks/unit_gradient",
            "def loss(w):\n    h = 2 * w\n    jaxgrad.hook(h, lambda g: g / jnp.linalg.norm(g))\n"
            "    return jnp.sum(h**2)",
            "the gradient at [3.0, 4.0] is [24, 32]; it should be [1.2, 1.6]. Use the value that "
            "`jaxgrad.hook` returns: `h = jaxgrad.hook(h, fn)`.",
        ),
        (
            "custom/clipped_straight_through",
            "def quantize(x): return jaxgrad.straight_through(jnp.round)(jnp.clip(x, -1, 1))",
            "the gradient at the bounds, [1, -1], is [0.5, 0.5].",
        ),
        (
            "prove_your_port/default_of_gelu",
            "",
            "the output or a gradient of `port` differs from torch. Call `print(prove(layers, "
            "port, weights, points))`, read which layer the report names, and correct that part "
            "of `port`.",
        ),
        (
            "prove_your_port/default_of_gelu",
            "def port(params, x): return x + 1",
            "output 0: torch returns shape (2, 3), JAX returns (2, 2)",
        ),
        (
            "graph/bytes_that_are_kept",
            "by_exp, by_sum = 400, 400",
            "torch does not keep 400 bytes for x + 1. Ask whether the derivative needs x, the "
            "result or neither; both have 100 numbers of 4 bytes.",
        ),
    ],
)
def test_a_wrong_answer_gets_a_hint(name, answer, text):
    """The verdict says what to do next, and does not state the answer of a prediction."""
    assert verdict(name, answer).startswith(f"Not yet: {text}")


def test_a_read_out_number_stops_the_gradient():
    """The answers get arrays, so that `x.item()` does what the notebook says under `jax.grad`."""
    says = verdict(
        "grad_modes/one_term_of_a_sum",
        """
        def in_torch(x): return x.item() ** 2 + x**3
        def in_jax(x): return x.item() ** 2 + x**3
        """,
    )

    assert says.startswith("Right")


ONE_TERM = "def in_torch(x): return x.detach() ** 2 + x**3\ndef in_jax(x): return {} + x**3"
TO_NUMPY = (
    "your code gives NumPy a traced array, which has no numbers yet; use `jnp` in place of `np`."
)
TO_PYTHON = (
    "your code converts a traced array, which has no value yet, to a Python number, as `float(x)` "
    "does; compute with the array itself."
)


@pytest.mark.parametrize(
    ("name", "answer", "text"),
    [
        *(
            ("grad_modes/one_term_of_a_sum", ONE_TERM.format(square), TO_NUMPY)
            for square in ("np.square(x)", "np.asarray(x) ** 2", "lax.stop_gradient(np.square(x))")
        ),
        *(
            ("grad_modes/one_term_of_a_sum", ONE_TERM.format(square), TO_PYTHON)
            for square in ("float(x) ** 2", "x.tolist() ** 2")
        ),
        (
            "grad_modes/one_term_of_a_sum",
            ONE_TERM.format("torch.tensor(float(x)) ** 2"),
            "`in_jax` is called with arrays of JAX; use functions of JAX, such as "
            "`lax.stop_gradient`, and no function or method of torch, such as `detach`.",
        ),
        ("grad_modes/stopped_too_early", "def stopped(x): return np.sum(np.square(x))", TO_NUMPY),
        ("grad_modes/stopped_too_early", "def stopped(x): return float(sum(x**2))", TO_PYTHON),
        (
            "control_flow/branch_on_a_value",
            "def f(x): return x**2 if x > 0 else -x",
            "your code uses a traced array, which has no value yet, as the condition of `if` or "
            "`while`; use `jnp.where`, `lax.cond` or `lax.while_loop`.",
        ),
        (
            "control_flow/branch_on_a_value",
            "def f(x): return (-x, x**2)[(x > 0).astype(int)]",
            "your code uses a traced array, which has no value yet, where Python needs an integer, "
            "as in `range(x)`; use `lax.fori_loop`, or `jnp.take` for an index.",
        ),
        (
            "custom/slower_gradient",
            "def slower(x): x",
            "the value at 3 is None; it should be 3. A function without `return` gives None.",
        ),
        (
            "optim/momentum_by_hand",
            "def step(*inputs): inputs",
            "your code raises TypeError: cannot unpack non-iterable NoneType object. A function "
            "without `return` gives None.",
        ),
        *(
            ("grad_modes/stopped_too_early", f"def stopped(x): return {result}", text)
            for result, text in (
                ("x", "`stopped` returns an array of shape (2,); return one number."),
                ("(x[0], x[1])", "`stopped` returns a tuple; return one number."),
                ("jax.grad(f)", "`stopped` returns a function; call it, and return its result."),
            )
        ),
        (
            "grad_modes/same_value_other_gradient",
            "def loss(a, b): return lax.stop_gradient(a * b + a)",
            "the gradient of a at (2.0, 5.0) is None; it should be 5.",
        ),
        *(
            (
                "none_or_zero/transposed",
                "forward, backward = [5, 3, 0], [8, 2]\n"
                "def pull_back(f, x, g):\n"
                "    pair = y, linear = jax.linearize(f, x)\n"
                f"    {line}",
                text,
            )
            for line, text in (
                (
                    "return jax.linear_transpose(f, x)(g)[0]",
                    "`jax.linear_transpose` gets a function that is not linear. Transpose the "
                    "linear function, the second result of `jax.linearize(f, x)`.",
                ),
                (
                    "return jax.linear_transpose(pair, x)(g)[0]",
                    "`jax.linearize` returns a pair, f(x) and the linear function; transpose the "
                    "second one.",
                ),
                (
                    "return jax.linear_transpose(linear, x)(x)[0]",
                    "the transpose is called with something other than g. It takes a gradient of "
                    "f(x), with one number for each output.",
                ),
                (
                    "return jax.linear_transpose(linear, x)",
                    "`pull_back` returns a function; call it, and return its result.",
                ),
                (
                    "jax.linear_transpose(linear, x)(g)[0]",
                    "`pull_back` returns None; end it with `return` and the value.",
                ),
            )
        ),
        (
            "none_or_zero/transposed",
            "forward, backward = [5, 3, 0], [8, 2]\n"
            "def pull_back(f, x, g):\n"
            "    linear = jax.linearize(f, x)[1]\n"
            "    return jnp.stack([linear(one) @ g for one in jnp.eye(len(x))])",
            "`pull_back` gives the right numbers without `jax.linear_transpose`. Transpose the "
            "linear function, `jax.linear_transpose(linear, x)`, and call the result with g.",
        ),
    ],
)
def test_an_error_of_jax_or_a_missing_return_gets_one_sentence(name, answer, text):
    """The reply says what to write, and a reader needs no traceback of JAX."""
    assert verdict(name, answer) == f"Not yet: {text}"


def test_the_transpose_may_be_called_in_a_helper():
    """The check sees a call in another function, by the name of the module or by another one."""
    for helper in (
        "def transposed(linear, x, g): return jax.linear_transpose(linear, x)(g)[0]",
        "from jax import linear_transpose\n"
        "def transposed(linear, x, g): return linear_transpose(linear, x)(g)[0]",
        "turned = jax.linear_transpose\n"
        "def transposed(linear, x, g): return turned(linear, x)(g)[0]",
    ):
        answer = (
            f"{helper}\nforward, backward = [5, 3, 0], [8, 2]\n"
            "def pull_back(f, x, g): return transposed(jax.linearize(f, x)[1], x, g)"
        )
        reply = verdict("none_or_zero/transposed", answer)
        assert reply.startswith("Right: ") and "`pull_back` transposes the linear part" in reply
