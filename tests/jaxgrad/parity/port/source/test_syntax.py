"""Helpers for the expressions of the port."""

import ast

from jaxgrad.parity.port.source import syntax


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
