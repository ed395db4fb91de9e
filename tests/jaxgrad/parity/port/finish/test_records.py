"""Results with named fields are unpacked."""

import ast

from jaxgrad.parity.port.finish.records import with_unpacked_records
from jaxgrad.parity.port.source.writer import function_text
from jaxgrad.parity.port.source.written import Written


def rewritten(*body: str) -> str:
    lines = "\n    ".join(("def f(p, x):", *body))
    (new,) = with_unpacked_records([Written.helper(lines, "", ast)])
    return function_text(new)


def test_the_fields_are_variables():
    """The output has the name of the argument that nothing reads any more."""
    call = "normed = F.batch_norm(x, p['m'], p['v'])"
    text = rewritten(call, "return normed.output, normed.running_mean, normed.running_var")
    assert 'x, running_mean, running_var = F.batch_norm(x, p["m"], p["v"])' in text
    assert "return x, running_mean, running_var" in text


def test_a_result_that_is_passed_on_as_a_whole_stays_one_value():
    """Only a result whose every field is read is unpacked."""
    assert "normed = " in rewritten("normed = F.batch_norm(x)", "return normed")
