"""Helpers for the expressions of the port."""

import ast
import copy

import pytest

from jaxgrad import functional
from jaxgrad.parity.port.ir import Helper, UpdateBuffer
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement


def test_nodes_are_visited_as_they_are_written():
    """The value of a conditional expression is written before its test."""
    code = ast.parse("f(a, b=c) + d[e] if g else [h for i in j]").body[0]

    names = [n.id for n in syntax.in_order(code) if isinstance(n, ast.Name)]

    assert names == ["f", "a", "c", "d", "e", "g", "h", "i", "j"]


def test_a_part_of_a_tree_is_replaced_where_it_is():
    """Another part with the same text stays."""
    code = ast.parse("x + x", mode="eval").body
    assert isinstance(code, ast.BinOp)

    assert syntax.text(syntax.replace(code, [(code.right, syntax.name("y"))])) == "x + y"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('y, p["norm"]["mean"] = f(p)', {"y", "p"}),
        ("y, layer = f(layer)", {"y", "layer"}),
        ('p["mean"] = m', {"p"}),
    ],
)
def test_an_update_assigns_the_variable_of_the_params(text, names):
    """Setting an element assigns its variable only if the statement has the fact `UpdateBuffer`."""
    (statement,) = ast.parse(text).body
    before = syntax.assigned(statement)
    on_statement(statement).update = UpdateBuffer()

    assert syntax.assigned(statement) == names
    assert syntax.updated(statement) == names - {"y"}
    assert before == {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)
                      and isinstance(n.ctx, ast.Store)}  # fmt: skip


def test_an_update_of_a_loops_module_gets_its_place_where_the_loop_is_unrolled():
    """The place is the target of the assignment, and the argument of the call."""
    (statement,) = ast.parse("y, layer = f(layer, y)").body
    place = ast.parse('p["layers"][0]', mode="eval").body

    new = syntax.substitute(statement, {"layer": place})

    assert syntax.text(new) == "y, p['layers'][0] = f(p['layers'][0], y)"
    assert isinstance(new.targets[0].elts[1].ctx, ast.Store)


@pytest.mark.parametrize(
    ("test", "negated"),
    [
        ("a == b", "a != b"),
        ("a != b", "a == b"),
        ("a in b", "a not in b"),
        ("a not in b", "a in b"),
        ("a is None", "a is not None"),
        ("a is not None", "a is None"),
        ("not a", "a"),
        ("a < b", "not a < b"),
        ("a == b == c", "not a == b == c"),
        ("a or b", "not (a or b)"),
    ],
)
def test_a_negated_comparison_has_the_other_operator(test, negated):
    """The negation of an ordering keeps its `not`, because both orderings are false for NaN."""
    code = ast.parse(test, mode="eval").body

    assert syntax.text(syntax.negated(code)) == negated


def test_a_stop_is_known_by_what_it_means():
    """A call of `lax.stop_gradient` that the porter has not written as a stop is not one."""
    value = syntax.name("x")
    stop = syntax.stopped(value)

    assert syntax.inside_stop(stop) is value and syntax.text(stop) == "lax.stop_gradient(x)"
    assert syntax.inside_stop(syntax.call("lax.stop_gradient", value)) is None
    assert syntax.inside_stop(value) is None and syntax.inside_stop(None) is None


def test_a_call_says_what_it_calls_whatever_its_text():
    """A pass recognises a helper by its annotation, not by the name in its text."""
    code = syntax.call_helper(Helper.GRAD, syntax.name("f"))

    assert syntax.text(code) == "jax.grad(f)"
    assert syntax.calls(code, Helper.GRAD) and not syntax.calls(code, Helper.PARTIAL)
    assert syntax.calls(copy.deepcopy(code), Helper.PARTIAL, Helper.GRAD)
    assert not syntax.calls(syntax.call("jax.grad", syntax.name("f")), Helper.GRAD)


def test_a_functional_call_has_the_parameters_of_its_function():
    """The parameters of a call of JAX are unknown, even if it computes the same operator."""
    code = syntax.call_functional("linalg.norm", syntax.name("x"))
    other = syntax.computing("linalg.norm", syntax.call("jnp.linalg.norm", syntax.name("x")))

    assert syntax.text(code) == "F.linalg.norm(x)"
    assert syntax.functional_of(code) is functional.linalg.norm
    assert "ord" in syntax.parameters_of(code)
    assert syntax.is_op(code, ("linalg.norm",)) and syntax.is_op(other, ("linalg.norm",))
    assert not syntax.parameters_of(other) and not syntax.is_op(code, ("norm",))


def test_a_template_has_the_annotations_of_code_that_rules_write():
    """The statements of a template are parsed from text, and passes treat them as any others."""
    first, last = syntax.template(["size = x.shape", "return F.relu(x)"])

    assert isinstance(first, ast.Assign) and syntax.is_shape(first.value)
    assert isinstance(last, ast.Return) and syntax.is_op(last.value, ("relu",))
    assert syntax.functional_of(last.value) is functional.relu
