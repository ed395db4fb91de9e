"""The lines that a lesson shows are cut from the program of the suite."""

import pytest
from jax import lax

from parity_tests.case import identity
from parity_tests.notebook.core import CoreError, core_of


def halve(x):
    return x / 2


def program(x, *, stop_gradient=lax.stop_gradient):
    """The claim."""
    used = stop_gradient(x)

    def inner(stop_gradient: int) -> int:
        return stop_gradient + 1

    flag = halve(x)
    # What the loss is.
    loss: int = inner(used)
    return {"loss": loss, "flag": flag, "grads": {"x": loss}}


def test_the_core_is_the_body_with_prints_for_its_results():
    """The core has neither docstring, annotations, `return` nor the keyword argument."""
    assert core_of(program, "grads").text.splitlines() == [
        "used = lax.stop_gradient(x)",
        "",
        "def inner(stop_gradient):",
        "    return stop_gradient + 1",
        "",
        "# What the loss is.",
        "loss = inner(used)",
        'print({"x": loss})',
    ]


def remarked(h):
    version = h._version  # pyright: ignore[reportAttributeAccessIssue]
    return {"version": version}


def test_remarks_for_the_linter_are_left_out():
    """A comment that silences the linter is not shown."""
    core = core_of(remarked)

    assert core.text.splitlines() == ["version = h._version", "print(version)"]


def test_the_lines_of_the_tool_are_marked():
    """The line that differs from the negative control is marked, and no other line."""
    assert core_of(program).marked == {0}


def test_every_result_but_the_loss_is_printed():
    """By default every result except the loss is printed, with what it needs."""
    core = core_of(program)

    assert core.printed == ("flag", "grads")
    assert core.text.endswith('print(flag, {"x": loss})')
    assert "flag = halve(x)" in core.text


def test_a_name_that_matches_no_result_is_an_error():
    """A glob that matches no result raises an error that names the program and the glob."""
    with pytest.raises(CoreError, match="program has no result that matches 'gradient'"):
        core_of(program, "gradient")


def early(x):
    if x:
        return {}
    return {"x": x}


def test_an_early_return_is_an_error():
    """A program that returns twice cannot become a script, and the error says so."""
    with pytest.raises(CoreError, match="early must return once, in its last line"):
        core_of(early)


def late(w):
    def scale(x):
        return factor * x

    factor = 2 * w
    w.step()
    value = scale(w)
    return {"value": value}


def test_what_a_function_reads_later_is_kept():
    """A name that a kept function reads when it is called is kept, although it is bound below."""
    assert "factor = 2 * w" in core_of(late).text


def once(x):
    return [x]


def replaced(x, *, uses=once, pick=lambda x: x[0]):
    out = pick(uses(x))
    return {
        "a long name of a result": [out, out, out, out, out, out, out],
        "another long name of a result": [out, out, out, out, out],
    }


def test_a_default_that_is_a_lambda_is_written_out_where_it_is_called():
    """The core shows what the lambda returns, so that no name of the test harness is left."""
    lines = core_of(replaced).text.splitlines()

    assert lines[0] == "out = once(x)[0]"
    assert len(lines) == 2


def handed_on(x, *, pick=lambda x: x[0], times=2 + 1):
    return list(map(pick, x * times))


def test_a_default_that_is_an_expression_gets_a_line():
    """A lambda that is not called stays: it is assigned to the keyword's name."""
    lines = core_of(handed_on).text.splitlines()

    assert lines == ["pick = lambda x: x[0]", "times = 2 + 1", "print(list(map(pick, x * times)))"]


def penalized(x, *, create_graph=identity):
    slope = create_graph(once(x))
    return {"loss": slope}


def test_an_identity_of_the_control_is_not_shown():
    """The control replaces an identity; the core shows its argument and marks that line."""
    core = core_of(penalized)

    assert core.text.splitlines() == ["slope = once(x)", "print(slope)"]
    assert core.marked == {0}


def test_code_names_the_line_without_a_tool():
    """Without keyword arguments, the first function that the idiom calls marks the line."""
    assert core_of(late, tools="missing(x); w.step()").marked == {4}


def test_a_value_of_the_same_name_is_not_a_function():
    """A name that the core reads with an index is not the function that the idiom calls."""
    assert core_of(program, tools="loss(x)").marked == {0}  # the keyword argument comes first
    assert core_of(indexed, tools="rows(x); total(x)").marked == {1}


def indexed(rows, total):
    first = rows[0]
    return total(first)


def test_a_call_is_marked_rather_than_an_argument_of_the_same_name():
    """The line that calls a method is marked, not the one that reads an argument named like it."""
    assert core_of(agent, tools="critic(s)").marked == {1}
    assert core_of(agent, tools="make(critic)").marked == {0}


def agent(make, critic, s):
    nets = make(critic)
    return nets.critic(s)
