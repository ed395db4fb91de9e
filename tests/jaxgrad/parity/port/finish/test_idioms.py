"""Ports have JAX's idioms."""

import ast

import pytest

from jaxgrad.parity.port.finish.idioms import with_features_read, with_idioms
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.writer import function_text
from jaxgrad.parity.port.source.written import Written


def rewritten(statement: str) -> str:
    written = Written.helper(f"def f(x, y):\n    {statement}\n    return a", "", ast)
    for node in ast.walk(written.node):
        if isinstance(node, ast.Call) and syntax.called(node) == "jnp.split":
            syntax.computing("split", node)  # as the rule of torch's operator does
    (new,) = with_features_read(with_idioms([written]))
    return function_text(new).splitlines()[2].strip()


def test_a_gradient_of_one_argument_is_not_a_tuple():
    """Both `(a,) = ...` and `...[0]` become the gradient itself; two arguments stay a tuple."""
    assert rewritten("(a,) = jax.grad(g, (0,))(x)") == "a = jax.grad(g)(x)"
    assert rewritten("a = jax.grad(g, (0,))(x)[0] * 2") == "a = jax.grad(g)(x) * 2"
    assert rewritten("a, b = jax.grad(g, (0, 1))(x, y)") == "a, b = jax.grad(g, (0, 1))(x, y)"
    assert rewritten("a = jax.grad(g, (0, 1))(x, y)[0]") == "a = jax.grad(g, (0, 1))(x, y)[0]"


def test_one_result_of_a_written_call_is_that_result():
    assert rewritten("a = (f(x), g(y))[0] + (x, y)[1]") == "a = f(x) + y"
    assert rewritten("a = (f(x), *y)[1]") == "a = (f(x), *y)[1]"


def test_a_tensor_of_which_three_parts_are_unpacked_is_split_at_two_places():
    split = "jnp.split(x, list(range(8, x.shape[1], 8)), axis=1)"
    text = rewritten(f"q, k, v = [t + 1 for t in {split}]")
    assert "q, k, v = [t + 1 for t in jnp.split(x, [8, 16], axis=1)]" in text
    assert "range" in rewritten(f"y = [t + 1 for t in {split}]")


@pytest.mark.parametrize(
    ("norm", "wanted"),
    [
        ("F.layer_norm(x, (4,), **p)", "F.layer_norm(x, x.shape[-1:], **p)"),
        ("F.rms_norm(x, (4,), eps=1e-6)", "F.rms_norm(x, x.shape[-1:], eps=1e-6)"),
        ("F.layer_norm(x * y, (4,), **p)", "F.layer_norm(x * y, (4,), **p)"),
        ("F.layer_norm(x, (4, 4), **p)", "F.layer_norm(x, (4, 4), **p)"),
    ],
)
def test_a_norm_reads_its_features_from_an_array_that_has_a_name(norm, wanted):
    assert rewritten(f"a = {norm}") == f"a = {wanted}"
