"""Show the helpers of the references and the cases without the underscore of a private name.

The underscore says that a function is private to its file, which means nothing in a script.
"""

import ast
import re

from parity_tests.notebook.source_edits import bound_names, free_names


class NameClash(Exception):
    """A helper would have the name of something else; the message says which to rename."""


def plain_names(core: str, helpers: str) -> tuple[str, str]:
    """Return a script with `total` for each helper `_total`.

    Args:
        core: The lines that are shown, which read the helpers.
        helpers: The lines above them, which define the helpers; may be empty.

    Raises:
        NameClash: The script has both names.
    """
    whole = f"{helpers}\n{core}"
    names = [
        name for name in {*bound_names(whole), *free_names(whole)} if re.match("_[A-Za-z]", name)
    ]
    used = {name for node in ast.walk(ast.parse(whole)) for name in _names(node)}
    for name in sorted(names):
        if name[1:] in used:
            raise NameClash(f"{name[1:]!r} exists beside the helper {name!r}; rename one of them")
        word = re.compile(rf"(?<![\w.]){name}\b")
        core, helpers = word.sub(name[1:], core), word.sub(name[1:], helpers)
    return core, helpers


def _names(node: ast.AST) -> list[str]:
    """Return the names that a node of a program binds or reads, without attributes."""
    match node:
        case ast.Name(name) | ast.arg(name):
            return [name]
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return [name]
        case ast.alias(name, asname):
            return [asname or name]
    return []
