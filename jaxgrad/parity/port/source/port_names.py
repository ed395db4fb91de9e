"""The names that variables of the torch program have in the port."""

from __future__ import annotations

import ast
import re

from jaxgrad.parity.port.source import syntax


RESERVED = frozenset(
    {
        "F",
        "jax",
        "jnp",
        "lax",
        "jaxgrad",
        "math",
        "nnx",
        "p",
        "np",
        "optim",
        "partial",
        "rng",
        "training",
    }
)


MARK = re.compile(
    r"#\s*(fmt|type|pyright|pyrefly|mypy|noqa|pylint|ruff|nosec|pragma)\b"
)  # for tools


def renames(node: ast.AST) -> dict[str, str]:
    """Return other names for variables of a function: `input` is `x`, if there is no `x`."""
    return {"input": "input_"} if "x" in syntax.all_names(node) else {}


def port_name(name: str) -> str:
    """Return the port's name of a variable of torch's; `input` is a builtin, `F` a module."""
    if name == "input":
        return "x"
    return f"{name}_" if name in RESERVED else name
