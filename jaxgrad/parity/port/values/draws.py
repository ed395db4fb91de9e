"""Random draws: each reads a key of its own, and the keys are split where a function is printed.

Until then, the keys of all draws are written `rng`, each with its `Key`: two draws are two keys,
however their code is moved, copied or merged.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from typing import TypeGuard

from jaxgrad.parity.port.ir import Key
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import move_comments, on_expression
from jaxgrad.parity.port.source.written import Written


RNG = "rng"
KEY = "KEY"  # the key of a draw in a function that is written as text
SPLIT = "split_rng"
SPLIT_DOC = "Split a random key; in eval mode there is none."
SPLIT_SOURCE = f"""
def {SPLIT}(rng, num=2):
    return [None] * num if rng is None else jax.random.split(rng, num)
"""


def key(label: str) -> ast.Name:
    """Return the key of one draw."""
    code = syntax.name(RNG)
    on_expression(code).draw = Key(label)
    return code


def is_key(node: ast.AST) -> TypeGuard[ast.Name]:
    """Return whether a node is the key of a draw."""
    return isinstance(node, ast.Name) and on_expression(node).draw is not None


def keys(*nodes: ast.AST) -> list[ast.Name]:
    """Return the keys that some code reads."""
    found = [n for node in nodes for n in ast.walk(node) if is_key(n)]
    return [n for n in found if isinstance(n.ctx, ast.Load)]


def key_of(code: ast.Name) -> Key:
    """Return the `Key` that a name stands for."""
    known = on_expression(code).draw
    assert known is not None
    return known


def filled(body: Sequence[ast.stmt], label: str) -> list[ast.stmt]:
    """Return statements that were written as text, with a key for each `KEY`."""
    return [syntax.substitute(statement, {KEY: key(label)}) for statement in body]


def own_keys(statement: ast.stmt) -> list[ast.Name]:
    """Return the keys that are split before a statement: those in its blocks are split there.

    A nested function reads its keys from outside, unless it splits them itself.
    """
    match statement:
        case ast.For(iter=code) | ast.If(test=code):
            return keys(code)
        case _:
            split = syntax.assigned(statement)
            return [code for code in keys(statement) if code.id not in split]


def blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of a loop or a branch."""
    return [statement.body, statement.orelse] if isinstance(statement, ast.For | ast.If) else []


def name_keys(body: Sequence[ast.stmt], taken: Collection[str]) -> None:
    """Name the keys after what they are for; the keys of one statement get different names.

    Args:
        body: The statements of a function.
        taken: The names of its variables.
    """
    for statement in body:
        names: list[str] = []
        for code in own_keys(statement):
            names.append(syntax.unique(f"{key_of(code).label}_{RNG}", {*names, *taken}))
            code.id = names[-1]
        for block in blocks(statement):
            name_keys(block, taken)


def with_splits(
    body: Sequence[ast.stmt], split: Callable[[list[ast.Name]], ast.stmt]
) -> list[ast.stmt]:
    """Return statements whose keys have names, each after a statement that splits its keys off.

    Args:
        body: The statements.
        split: Returns the statement that assigns keys.
    """
    found: list[ast.stmt] = []
    for statement in body:
        for block in blocks(statement):
            block[:] = with_splits(block, split)
        if own := own_keys(statement):
            found.append(split([*{code.id: code for code in own}.values()]))
            move_comments(statement, found[-1])
        found.append(statement)
    return found


def split_each(body: Sequence[ast.stmt], around: ast.AST, function: str) -> list[ast.stmt]:
    """Return statements that each split their keys off `rng`.

    Args:
        body: The statements.
        around: The function that they are in.
        function: The name of the function that splits keys.
    """
    name_keys(body, syntax.all_names(around))
    return with_splits(body, lambda own: split_off(own, function))


def split_off(codes: Sequence[ast.Name], function: str) -> ast.Assign:
    """Return `rng, a, b = jax.random.split(rng, 3)`."""
    return split([syntax.name(RNG), *codes], function)


def split(codes: Sequence[ast.Name], function: str) -> ast.Assign:
    """Return `a, b = jax.random.split(rng)`.

    Args:
        codes: The keys.
        function: `jax.random.split`, or the helper that takes None.
    """
    count = [syntax.constant(len(codes))] if len(codes) > 2 else []
    call = syntax.call(function, syntax.name(RNG), *count)
    return ast.Assign([ast.Tuple([target(code) for code in codes], ast.Store())], call)


def target(code: ast.Name) -> ast.Name:
    """Return the variable to which a key is assigned."""
    new = ast.Name(code.id, ast.Store())
    on_expression(new).draw = on_expression(code).draw
    return new


def split_function(functions: Sequence[Written]) -> str:
    """Return the function that splits keys: the helper, if eval mode has no key to split."""
    return SPLIT if any(w.name == SPLIT for w in functions) else "jax.random.split"
