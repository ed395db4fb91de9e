"""Statements fit on a line where that is possible."""

import ast

import pytest

from jaxgrad.parity.port.finish.lines import with_short_lines
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.writer import function_text
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


LONG = "F.linear(x, weight_of_the_first_layer, bias_of_the_first_layer)"
CALL = "F.dropout({}, p=0.1, training=training, key=rng_of_the_second_layer_of_it)"


def rewritten(*body: str) -> list[str]:
    """Return the lines of a function of `p`, `x` and `skip` after the rewriting.

    Each `KEY` in it is the key of a dropout.
    """
    lines = "\n    ".join(("def f(p, x, skip):", *body))
    written = Written.helper(lines, "", ast)
    written.node.body = draws.filled(written.node.body, "dropout")
    draws.name_keys(written.node.body, ())
    (new,) = with_short_lines([written])
    return [line.strip() for line in function_text(new).splitlines()[2:]]


def test_a_result_that_is_returned_at_once_has_no_name():
    """The name stays if the line were too long, or if it is read twice."""
    assert rewritten("y = g(x)", "return y") == ["return g(x)"]
    assert rewritten("y = g(x)", "return y, p") == ["return g(x), p"]
    assert rewritten("y = g(x)", "return y, y") == ["y = g(x)", "return y, y"]
    just = f"y = {LONG} + g(x, weight_of_it)"
    assert rewritten(just, "return y") == [f"return {just[4:]}"]
    assert rewritten(f"y = [{LONG}, {LONG}]", "return y")[-1] == "return y"


def test_a_long_argument_gets_a_statement():
    """It takes the variable of the statement, or the main one if nothing reads that later."""
    call = CALL.format(LONG)
    assert rewritten(f"x = {call}", "return x + skip")[:2] == [
        f"x = {LONG}",
        f"x = {CALL.format('x')}",
    ]
    assert rewritten(f"return {call}") == [f"x = {LONG}", f"return {CALL.format('x')}"]


def test_a_variable_that_is_still_read_is_not_overwritten():
    """The argument gets another name if its call reads `x` too."""
    call = CALL.format(LONG)
    assert rewritten(f"x = x + {call}", "return x")[:2] == [
        f"y = {LONG}",
        f"return x + {CALL.format('y')}",
    ]


def test_draws_keep_their_order():
    """The second draw is not computed before the first one, because torch draws in this order."""
    draw = f"F.dropout({LONG}, key=KEY)"
    text = " ".join(rewritten(f"return {draw} + {draw}"))
    assert text.index("key=dropout_rng)") < text.index("key=dropout_rng_2)")


@pytest.mark.parametrize("values, count", [("h(x)", 1), (LONG, 2)])
def test_a_long_tuple_is_one_statement_for_each_part(values, count):
    """A short one stays on its line, without parentheses."""
    lines = rewritten(f"a, b = ({values}, {values})", "return a @ b")
    assert len(lines) == count + 1 and not lines[0].endswith("(")


def test_a_tuple_whose_parts_read_each_other_stays_one_statement():
    """`a, b = b, a` would change its meaning."""
    lines = rewritten(f"a, b = (g(b), {LONG} + {LONG} + a)", "return a @ b")
    assert lines[-2].startswith("a, b = ")


def test_a_long_result_has_a_line_before_the_params_that_are_returned_too():
    """A short result stays in the return statement, as does one that is not returned with `p`."""
    assert rewritten(f"return {LONG}, p") == [f"x = {LONG}", "return x, p"]
    assert rewritten(f"x = {LONG}", "return x, p") == [f"x = {LONG}", "return x, p"]
    assert rewritten("return g(x), p") == ["return g(x), p"]
    assert rewritten(f"return {LONG}, skip") == [f"return {LONG}, skip"]


def test_a_long_tuple_with_a_comment_is_divided_once():
    """Each part gets a statement, and the comment stays above the first one."""
    body = f"    a, b = {LONG}, {LONG}\n    return a + b"
    written = Written.helper(f"def f(p, x):\n{body}", "", ast)
    on_statement(written.node.body[0]).comments = ("# two layers",)

    (new,) = with_short_lines([written])

    lines = [line.strip() for line in function_text(new).splitlines()[2:]]
    assert lines == ["# two layers", f"a = {LONG}", f"b = {LONG}", "return a + b"]
