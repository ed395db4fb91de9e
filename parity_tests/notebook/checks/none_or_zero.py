"""Checks of the exercises in the notebook none_or_zero."""

import contextlib
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.notebook.check import (
    Advice,
    as_numbers,
    holds,
    names_in,
    returned,
    same,
    within_one_framework,
)
from parity_tests.notebook.live_torch import leaf


# What a prediction has one number for, and how to find it.
ONE_FOR_EACH = {"forward": "output of f", "backward": "input of f"}
HOW = {
    "forward": "Ask how fast each output changes if x0 changes at the rate 1 and x1 stays",
    "backward": "Add what the outputs with the gradient 1 contribute, over all uses of x0 and x1",
}
SHORTCUTS = {"vjp", "grad", "value_and_grad", "jacobian", "jacrev", "jacfwd", "jvp"}
TRANSPOSE = (
    "`pull_back` calls the linear function with the gradient of f(x). That function takes a "
    "tangent of x, with one number for each input; its transpose takes a gradient of f(x), with "
    "one number for each output. Call the transpose, `jax.linear_transpose(linear, x)`"
)
LIKE_X = (
    "the second argument of `jax.linear_transpose` needs the shape and the dtype of x, not those "
    "of g. It is an example of what the linear function takes, a tangent; the gradient g is the "
    "argument of the transpose, `jax.linear_transpose(linear, x)(g)`"
)
FIXED_LENGTH = (
    "`pull_back` is right for an x of two numbers and raises for an x of three, because it gives "
    "the linear function a tangent of fixed length. Make the tangent from x: pass x itself, or "
    "`jnp.zeros_like(x)`"
)
# What the message of JAX says if the transpose gets something else, and the advice.
MISUSED = {
    "Transpose rule": "`jax.linear_transpose` gets a function that is not linear. Transpose the "
    "linear function, the second result of `jax.linearize(f, x)`",
    "first argument must be callable": "`jax.linearize` returns a pair, f(x) and the linear "
    "function; transpose the second one",
    "cotangent type does not match": "the transpose is called with something other than g. It "
    "takes a gradient of f(x), with one number for each output",
}
NOT_TRANSPOSED = (
    "`pull_back` gives the right numbers without `jax.linear_transpose`. Transpose the linear "
    "function, `jax.linear_transpose(linear, x)`, and call the result with g"
)
IN_BOTH = (
    "`loss` is called with tensors of torch and with arrays of JAX; use operators that "
    "both have, such as `+`, `*` and `**`, and no function or method of one framework"
)
SKIP = "Return the parameter unchanged before you compute with the gradient"
TUPLE = "`jax.linear_transpose` returns a tuple, with one entry for each argument of f"


def transposed(forward, backward, pull_back):
    def in_jax(x):
        return jnp.stack([x[0] * x[1], 3 * x[0], x[1] ** 2])

    def in_torch(x):
        return torch.stack([x[0] * x[1], 3 * x[0], x[1] ** 2])

    def product(x):  # two outputs of three inputs
        return x[:2] * x[2]

    def gradient(function, at, g) -> Any:
        x = leaf(at)
        function(x).backward(torch.tensor(g))
        return x.grad

    point, both = [2.0, 5.0], [1.0, 1.0, 0.0]
    jacobian: Any = torch.autograd.functional.jacobian(in_torch, torch.tensor(point))
    column = jacobian[:, 0]
    for name, answer, wanted in (
        ("forward", forward, column),
        ("backward", backward, gradient(in_torch, point, both)),
    ):
        yield f"`{name}` is {answer}", _predicted(name, answer, wanted), True
    names = names_in(pull_back)
    shortcut = sorted(names & SHORTCUTS)
    fault = (
        f"use `jax.linearize` and `jax.linear_transpose` in place of `jax.{'`, `'.join(shortcut)}`"
    )
    if shortcut or _transposes(pull_back):
        yield "`pull_back` transposes the linear part", holds(not shortcut, fault), True
    for fun, function, at, g in (
        (in_jax, in_torch, point, both),
        (in_jax, in_torch, [3.0, -1.0], [0.5, 0.0, 2.0]),
        (product, product, [2.0, 3.0, 4.0], [1.0, -1.0]),
    ):
        with _says_what_to_transpose(names, first=fun is in_jax):
            result = pull_back(fun, jnp.array(at), jnp.array(g))
        found = as_numbers(returned("pull_back", result, scalar=False))
        hint = TUPLE if isinstance(found, list) and isinstance(found[0], list) else ""
        name = "[x0·x2, x1·x2]" if fun is product else "f"
        what = f"the gradient of x for {name} at {at} and g = {g}"
        yield what, found, gradient(function, at, g), hint
    if not _transposes(pull_back):
        raise Advice(NOT_TRANSPOSED)


def _transposes(function: Any) -> bool:
    """Return whether a function, or a function that it calls, names `jax.linear_transpose`."""
    seen, waiting = [], [function]
    while waiting:
        seen.append(one := waiting.pop())
        names = names_in(one)
        values = [getattr(one, "__globals__", {}).get(name) for name in names]
        if "linear_transpose" in names or jax.linear_transpose in values:
            return True
        waiting += [x for x in values if isinstance(x, FunctionType) and x not in seen]
    return False


def _predicted(name: str, answer: Any, wanted: torch.Tensor) -> bool | str:
    """Return True for the right numbers, and otherwise how to find them."""
    found, numbers = as_numbers(answer), wanted.tolist()
    if not isinstance(found, list):
        return f"`{name}` is {answer!r}; give a list of numbers, one for each {ONE_FOR_EACH[name]}"
    if len(found) != len(numbers):
        return (
            f"`{name}` has length {len(found)}; give one number for each {ONE_FOR_EACH[name]}. "
            "The linear part maps tangents of the inputs to tangents of the outputs, its transpose "
            "gradients of the outputs to gradients of the inputs"
        )
    return holds(same(found, numbers), f"`{name}` = {found} is not right. {HOW[name]}")


def decay_that_skips_none(step):
    used, zero, _ = tensors = [leaf(1.0) for _ in range(3)]
    (used + 0 * zero).backward()
    grads = [None if p.grad is None else jnp.array(p.grad.item()) for p in tensors]
    torch.optim.SGD(tensors, lr=0.1, weight_decay=0.5).step()
    for name, p, grad in zip(("1", "0", "None"), tensors, grads, strict=True):
        try:
            found = step(jnp.array(1.0), grad)
        except Exception as error:
            if grad is not None:
                raise
            reason = f"{type(error).__name__}: {error}"
            raise Advice(f"for a gradient of None your code raises {reason}. {SKIP}") from error
        yield f"the parameter after a gradient of {name}", found, p


def one_of_each(loss):
    tensors = {name: leaf(2.0) for name in "abc"}
    with within_one_framework(IN_BOTH):
        value = loss(tensors)
    if not isinstance(value, torch.Tensor):
        raise Advice(f"`loss` returns a {type(value).__name__}; return one number computed from a")
    value.backward()
    grads = {name: tensor.grad for name, tensor in tensors.items()}
    values = {name: None if grad is None else grad.item() for name, grad in grads.items()}
    for name, right, aim in (
        ("a", values["a"], "a number other than 0"),
        ("b", values["b"] == 0, "0"),
        ("c", values["c"] is None, "None"),
    ):
        fault = f"torch's gradient of `{name}` is {values[name]}; it should be {aim}"
        yield f"torch's gradient of `{name}` is {aim}", holds(right, fault), True
    with within_one_framework(IN_BOTH):
        found = jaxgrad.grad(loss)({name: jnp.array(2.0) for name in "abc"})
    yield "what `jaxgrad.grad` returns", found, grads


@contextlib.contextmanager
def _says_what_to_transpose(names: set[str], first: bool) -> Iterator[None]:
    """Say what the linear function or its transpose takes if it gets something else.

    `jax.linear_transpose` calls the function on an array like its second argument.

    Args:
        names: The names that the answer reads.
        first: Whether x has two numbers, as in the task. A gradient has another length there, so
            that only a tangent of fixed length raises for the other function alone.
    """
    try:
        yield
    except (TypeError, NotImplementedError) as error:
        advice = [words for part, words in MISUSED.items() if part in str(error)]
        if not advice or "linear_transpose" not in names:
            raise
        raise Advice(advice[0]) from error
    except ValueError as error:
        if "linearized function called on tangent values" not in str(error):
            raise
        of_gradient = LIKE_X if "linear_transpose" in names else TRANSPOSE
        raise Advice(of_gradient if first else FIXED_LENGTH) from error
