"""Each draw has a key of its own, whose name and split come when a function is printed."""

import ast

from jaxgrad.parity.port.ir import Key
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.values import draws


SPLIT = "jax.random.split"


def parsed(source):
    """Return statements with a key of a dropout for each `KEY`."""
    return draws.filled(ast.parse(source).body, "dropout")


def split(source):
    """Return the source of statements that each split their keys."""
    body = parsed(source)
    return syntax.text(ast.Module(draws.split_each(body, ast.Module(body, []), SPLIT), []))


def test_a_key_is_told_from_a_variable_of_its_name():
    """A key is written `rng` like the parameter, and only the key has a label."""
    key, parameter = draws.key("dropout"), syntax.name(draws.RNG)

    assert draws.is_key(key) and not draws.is_key(parameter)
    assert draws.key_of(key) == Key("dropout") and syntax.same(key, parameter)


def test_the_keys_of_a_statement_have_different_names():
    """The next statement uses the same names again. No key has the name of a variable."""
    text = split("x = f(x, KEY) + f(x, KEY)\ny = f(x, KEY)\ndropout_rng_2 = 1")

    assert text.splitlines() == [
        "rng, dropout_rng, dropout_rng_3 = jax.random.split(rng, 3)",
        "x = f(x, dropout_rng) + f(x, dropout_rng_3)",
        "rng, dropout_rng = jax.random.split(rng)",
        "y = f(x, dropout_rng)",
        "dropout_rng_2 = 1",
    ]


def test_blocks_split_their_own_keys_and_nested_functions_do_not():
    """A loop and a branch split keys inside; the split for a nested function comes before it."""
    text = split("for i in n:\n    x = f(x, KEY)\ndef g(x):\n    return f(x, KEY)")

    assert text.splitlines() == [
        "for i in n:",
        "    rng, dropout_rng = jax.random.split(rng)",
        "    x = f(x, dropout_rng)",
        "rng, dropout_rng = jax.random.split(rng)",
        "",
        "def g(x):",
        "    return f(x, dropout_rng)",
    ]


def test_a_function_that_splits_its_keys_reads_none_from_outside():
    """The function of a scan splits the key that it carries."""
    (function,) = parsed("def g(rng, x):\n    return f(x, KEY)")
    assert isinstance(function, ast.FunctionDef) and len(draws.own_keys(function)) == 1

    function.body = draws.split_each(function.body, function, SPLIT)

    assert draws.keys(function) and not draws.own_keys(function)


def test_comments_stay_above_the_split():
    """The comments of a statement are above the statement that splits its keys."""
    body = parsed("x = f(x, KEY)")
    on_statement(body[0]).comments = ("# drop",)

    first, second = draws.split_each(body, ast.Module(body, []), SPLIT)

    assert on_statement(first).comments == ("# drop",) and not on_statement(second).comments
