"""A finding quotes the line of the port that it names, with the caller of a helper."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx
from jax import lax

import jaxgrad.nnx
from jaxgrad.parity import Finding, prove
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.lines import quoted


X = np.ones((2, 2))
FINDING = Finding("forward", "fc", "somewhere", "it differs")


def helper(x: Any) -> Any:
    return lax.cos(x)


def once(p: Any, x: Any) -> Any:
    return helper(p + x)


def twice(p: Any, x: Any) -> Any:
    y = helper(p + x)
    return helper(y)


def masked(x: Any) -> Any:
    return jnp.where(x > 0, x, 0)


def masked_twice(p: Any, x: Any) -> Any:
    y = masked(p + x)
    return masked(y - 2)


def cosines(fun: Any) -> tuple[Any, list[Any]]:
    program = jax_program.program(fun, X, (X,))
    names = {path: eqn.primitive.name for path, eqn in program.equations.items()}
    return program, [(path, 0) for path, name in names.items() if name == "cos"]


def line_of(fun: Any, offset: int) -> str:
    return f"test_lines.py:{fun.__code__.co_firstlineno + offset}"


def test_a_helper_that_is_called_once_needs_no_caller():
    """The line of a helper is enough where only one line calls it."""
    program, (key,) = cosines(once)

    assert place(program, key) == f"{line_of(helper, 1)} (cos)"


def test_each_caller_of_a_helper_is_named():
    """A helper that several lines call is named with the calling line."""
    program, keys = cosines(twice)

    callers = [f"called from {line_of(twice, n)}" for n in (1, 2)]
    assert [place(program, key) for key in keys] == [
        f"{line_of(helper, 1)}, {caller} (cos)" for caller in callers
    ]


@pytest.mark.parametrize("n", [0, 1])
def test_the_caller_is_named_where_jax_compiles_the_helpers_operation(n):
    """`jnp.where` is an equation inside a `jit`, which has no line of the user's code."""
    program = jax_program.program(masked_twice, X, (X,))
    names = {path: eqn.primitive.name for path, eqn in program.equations.items()}
    key = [(path, 0) for path, name in names.items() if name == "select_n"][n]

    caller = line_of(masked_twice, 1 + n)
    assert place(program, key) == f"{line_of(masked, 1)}, called from {caller} (select_n)"


def test_the_line_is_quoted_and_a_change_suggested():
    """The source line is quoted; a change is suggested only if the wrong name occurs in it."""
    program, (key,) = cosines(once)
    finding = quoted(FINDING, program, key, ("cos", "sin"))

    assert finding.source == f"{line_of(helper, 1)}: return lax.cos(x)"
    assert finding.edit is not None
    assert finding.edit.file == __file__
    assert finding.edit.new == "    return lax.sin(x)"
    assert quoted(FINDING, program, key, ("tan", "sin")).edit is None
    assert quoted(FINDING, program, None) == FINDING


def test_a_line_of_a_library_is_named_with_its_package_and_not_edited():
    """A model that consists of flax's own modules has no line of the user's."""
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    rngs = nnx.Rngs(0)
    port = nnx.Sequential(nnx.Linear(4, 4, rngs=rngs), nnx.LayerNorm(4, rngs=rngs))
    jaxgrad.nnx.load_state_dict(port, module.state_dict())
    first = prove(module, port, None, (np.eye(4),)).first

    assert first is not None and first.tested
    assert first.jax.startswith("flax/nnx/nn/normalization.py:")
    assert (first.source, first.edit) == ("", None)
