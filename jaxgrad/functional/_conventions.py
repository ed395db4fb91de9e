"""Docstrings that carry what was measured: where the natural JAX form has another gradient.

`_conventions.json` has the lines of each operator. The suite writes them, and compares them with
its own run: `python -m parity_tests --conventions --markdown docs/operators.md`.
"""

import functools
import inspect
import json
import pathlib
from collections.abc import Mapping
from typing import Any


MEASURED = pathlib.Path(__file__).with_suffix(".json")


def into_docstrings(names: Mapping[str, Any]) -> None:
    """Append each operator's lines to its docstring; `linalg.norm` is in a namespace."""
    for operator, lines in json.loads(MEASURED.read_text(encoding="utf-8")).items():
        first, *rest = operator.split(".")
        fun = functools.reduce(lambda place, name: getattr(place, name, None), rest, names[first])
        if fun is not None and fun.__doc__:  # without docstrings under -OO
            fun.__doc__ = f"{inspect.cleandoc(fun.__doc__)}\n\n{lines}\n"
