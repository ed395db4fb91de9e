"""Annotations are kept with a node, and copied with it."""

import ast
import copy
import dataclasses

import pytest

from jaxgrad.parity.port.ir import Number
from jaxgrad.parity.port.source import annotations, syntax
from jaxgrad.parity.port.source.annotations import (
    copy_remarks,
    drop_remarks,
    has_remarks,
    move_comments,
    on_expression,
    on_statement,
    put_comments_above,
)


KINDS = (annotations.StatementAnnotations, annotations.ExpressionAnnotations)


def assigned(comments=(), trailing=""):
    statement = ast.Assign([ast.Name("x", ast.Store())], syntax.constant(1))
    known = on_statement(statement)
    known.comments, known.trailing = comments, trailing
    return statement


def remarks(statement):
    return on_statement(statement).comments, on_statement(statement).trailing


def test_reading_an_annotation_does_not_change_the_node():
    """A field that nobody has set has its default, and the node stays as it is."""
    name, statement = syntax.name("x"), ast.Pass()
    before = [dict(vars(node)) for node in (name, statement)]

    assert on_expression(name).layer == "" and on_expression(name).number is None
    assert on_statement(statement).comments == () and not on_statement(statement).part

    assert [vars(node) for node in (name, statement)] == before


def test_a_copy_of_a_node_has_annotations_of_its_own():
    """Setting a field of a shallow or a deep copy leaves the original as it is."""
    for copied in (copy.copy, copy.deepcopy):
        statement = assigned(("# one",))
        new = copied(statement)
        assert remarks(new) == (("# one",), "")

        on_statement(new).comments = ("# two",)
        on_statement(new).part = True

        assert remarks(statement) == (("# one",), "") and not on_statement(statement).part


def test_only_a_deep_copy_copies_the_expressions_in_annotations():
    """A pass may change the expression in an annotation of a deep copy."""
    unpacked = syntax.constant(2)
    code = syntax.name("x")
    on_expression(code).unpacked = unpacked

    shallow = on_expression(copy.copy(code)).unpacked
    deep = on_expression(copy.deepcopy(code)).unpacked

    assert shallow is unpacked
    assert deep is not None and deep is not unpacked and syntax.same(deep, unpacked)


def test_annotations_do_not_change_what_is_written():
    """Two expressions are the same, and are written alike, whatever their annotations."""
    plain, annotated = syntax.name("x"), syntax.name("x")
    on_expression(annotated).number = Number(8, "width")

    assert syntax.same(plain, annotated) and syntax.text(annotated) == "x"


@pytest.mark.parametrize("kind", KINDS)
def test_no_annotation_has_the_name_of_a_field_of_a_node(kind):
    """A node's own fields are in the same `__dict__`, so a shared name would change the code."""
    nodes = [x for x in vars(ast).values() if isinstance(x, type) and issubclass(x, ast.AST)]
    own = {name for node in nodes for name in (*node._fields, *node._attributes)}

    assert not {field.name for field in dataclasses.fields(kind)} & own


def test_comments_are_copied_to_the_statements_in_the_place_of_another():
    """The comments above go to the first statement, the comment behind goes to the last one."""
    source, first, last = assigned(("# a",), "# b"), assigned(), assigned(("# c",))

    copy_remarks(source, first, last)
    assert remarks(first) == (("# a",), "") and remarks(last) == (("# c",), "# b")

    copy_remarks(assigned(), last)
    assert remarks(last) == (("# c",), "# b")  # nothing replaces it

    copy_remarks(source, last)
    assert remarks(last) == (("# a",), "# b") == remarks(source)


def test_comments_are_put_above_moved_and_dropped():
    """Each function changes the comments that its name says."""
    source, target = assigned(("# a",), "# b"), assigned(("# c",))
    put_comments_above(source, ["# first"])
    assert remarks(source) == (("# first", "# a"), "# b") and has_remarks(source)

    move_comments(source, target)
    assert remarks(source) == ((), "# b") and remarks(target) == (("# first", "# a"), "")

    drop_remarks(source)
    assert not has_remarks(source) and not has_remarks(ast.Pass())
