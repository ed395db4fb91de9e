"""Intermediate values have the names of the variables that are computed from them."""

import ast

from jaxgrad.parity.port.finish.names import with_few_names
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.writer import function_text
from jaxgrad.parity.port.source.written import Written


def rewritten(*body: str) -> list[str]:
    lines = "\n    ".join(("def f(p, x, mask):", *body))
    (new,) = with_few_names([Written.helper(lines, "", ast)])
    return [line.strip() for line in function_text(new).splitlines()[2:]]


def test_a_value_has_the_name_of_its_use():
    """`y_2` becomes `q`, unless `q` is read in between."""
    body = ("y_2 = g(x)", "q = y_2.reshape(y_2.size)", "return q + x")
    assert rewritten(*body)[:2] == ["q = g(x)", "q = q.reshape(q.size)"]
    kept = ("q = x", "y_2 = g(x)", "y = h(q)", "q = y_2 + q", "return q + y")
    assert "q = y_2 + q" in rewritten(*kept)


def test_an_alias_that_is_overwritten_at_once_is_left_out():
    """`bias = mask` and `bias = bias + x` are one statement."""
    assert rewritten("bias = mask", "bias = bias + x", "return bias") == [
        "bias = mask + x",
        "return bias",
    ]


def test_a_number_is_left_out_where_the_other_value_is_not_needed():
    """`windows_2` is `windows` once `windows` is read no more, and `x_2` of a lambda is `x`."""
    body = ("w = g(x)", "x = h(x, w)", "w_2 = g(x)", "x = h(x, w_2)", "return x")
    assert "w = g(x)" in rewritten(*body)[2] and not any("w_2" in line for line in rewritten(*body))
    kept = ("w = g(x)", "x = h(x)", "w_2 = g(x)", "x = h(w, w_2)", "return x + w_2")
    assert any("w_2" in line for line in rewritten(*kept))
    pair = ("a, b_2 = g(b, x)", "return a + b_2")
    assert rewritten("b = x", *pair)[1:] == ["a, b = g(b, x)", "return a + b"]
    assert rewritten("return k(lambda x_2: f(x_2), x)") == ["return k(lambda x: f(x), x)"]
    assert rewritten("return k(lambda x_2: f(x_2, x))") == ["return k(lambda x_2: f(x_2, x))"]


def test_values_of_one_list_keep_their_numbers():
    """Each element keeps its own name, not that of the variable to which the list is assigned."""
    body = ("head_0 = f(x)", "head_1 = g(x)", "x = cat([head_0, head_1])", "return x")
    assert rewritten(*body)[:3] == [*body[:3]]
    assert rewritten("y_2 = f(x)", "x = cat([y_2, mask])", "return x")[0] == "x = f(x)"


def test_a_result_with_several_elements_does_not_get_the_name_of_one():
    """`parts` stays beside `a = parts[0]`, and becomes `a` where it is read as a whole."""

    def names(*body):
        written = Written.helper("\n    ".join(("def f(p, x):", *body)), "", ast)
        on_statement(written.node.body[0]).temporary = True
        on_statement(written.node.body[0]).elements = 2
        return function_text(with_few_names([written])[0])

    assert "parts = g(x)" in names("parts = g(x)", "a = parts[0] * parts[1]", "return a")
    assert "a = g(x)" in names("parts = g(x)", "a = h(parts) * parts[1]", "return a")


def test_a_name_of_the_author_stays_when_names_are_chosen_again():
    """`dist` is not replaced by an argument that is not read any more."""
    body = ("y_2 = f(x)", "dist = g(y_2, y_2)", "return h(dist, dist)")
    written = Written.helper("\n    ".join(("def f(p, x):", *body)), "", ast)
    on_statement(written.node.body[0]).temporary = True
    (written,) = with_few_names(with_few_names([written]))
    assert "    dist = f(x)\n    dist = g(dist, dist)\n" in function_text(written)
