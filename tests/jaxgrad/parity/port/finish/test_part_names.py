"""A part of a long statement has a name that says what it is."""

import ast

from jaxgrad.parity.port.finish.part_names import PartNames
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement


def name_of(taken: set[str], called: str = "def attend(p, x, memory, *, scale): ...") -> str | None:
    key = ast.parse('p["encoder"]', mode="eval").body
    place = syntax.call_written("encode", key, syntax.name("x"))
    call = syntax.call_written("attend", syntax.name("p"), syntax.name("x"), place)
    names = PartNames({"p", "x"}, taken, {"attend": ast.parse(called).body[0]})
    return names.of(ast.Return(call), place, {"x"})


def test_a_part_is_named_after_its_parameter_or_its_module():
    """A name that means something else is not used, and then the name is one of no meaning."""
    assert name_of(set()) == "memory"
    assert name_of({"memory"}) == "encoder"
    assert name_of({"memory", "encoder"}) == "y"
    assert name_of(set(), "def attend(p, x, rng): ...") == "encoder"


def test_a_part_of_a_part_does_not_have_its_name():
    """The input of `cross_attn` is not called `cross_attn`; an unnamed value keeps its variable."""
    place = syntax.call_written("norm", syntax.name("q"))
    for target, wanted in (("cross_attn", "y"), ("h", "h")):
        call = syntax.call_written("attend", syntax.name("p"), place)
        statement = ast.Assign([ast.Name(target, ast.Store())], call)
        on_statement(statement).part = True
        assert PartNames({"p"}, set(), {}).of(statement, place, set()) == wanted


def test_a_part_of_a_list_does_not_overwrite_what_the_others_read():
    """`x = cat([head_0, head_1])`, not `x = head_1` before `x = cat([head_0, x])`."""
    key = ast.parse('p["head_1"]', mode="eval").body
    place = syntax.call_written("head", key, syntax.name("x"))
    elements = ast.List([syntax.name("head_0"), place], ast.Load())
    statement = ast.Assign([ast.Name("x", ast.Store())], syntax.call("cat", elements))
    names = PartNames({"p", "x"}, {"head", "head_0"}, {})
    assert names.of(statement, place, {"head_0"}) == "head_1"
    elements.elts.pop(0)
    assert names.of(statement, place, set()) == "x"
