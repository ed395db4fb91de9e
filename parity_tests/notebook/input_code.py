"""Write the inputs of a case as code that a reader can paste."""

import json
import re
import textwrap
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parity_tests.case import Case
from parity_tests.inputs import InputSpec


def input_code(case: Case, framework: str, attempt: int) -> str:
    """Return statements that create the inputs of a case with the numbers of seed 0.

    Arrays are drawn from a numpy generator as the suite draws them, or written out.

    Args:
        case: The case.
        framework: "torch" or "jax".
        attempt: Number of times that the runner redrew the inputs.
    """
    dtype, seed = case.dtypes[0], [zlib.crc32(case.seed_name.encode()), 0, attempt]
    rng = np.random.default_rng(seed)
    drawn, aligned = False, True

    def leaf(spec: Any) -> str:
        nonlocal drawn, aligned
        if not isinstance(spec, InputSpec):
            array = isinstance(spec, np.ndarray)
            return _literal(spec, framework, dtype) if array else _constant(spec)
        before = rng.bit_generator.state
        value = np.asarray(spec.sample(rng))
        advanced = rng.bit_generator.state != before
        if spec.document is None and spec.code and aligned:
            drawn = True
            return _array(spec.code, value.dtype, framework, dtype)
        aligned &= not advanced  # a number that is not drawn changes all that follow
        if spec.document is not None:
            value = spec.document.astype(value.dtype)
        return _literal(value, framework, dtype)

    lines = [f"{name} = {_tree(spec, leaf)}" for name, spec in case.inputs.items()]
    start = [f"rng = np.random.default_rng({seed})"] if drawn else []
    return "\n".join(["# the inputs", *start, *lines])


def _tree(spec: Any, leaf: Callable[[Any], str]) -> str:
    if isinstance(spec, Mapping):
        lines = [f"{_constant(key)}: {_tree(value, leaf)}," for key, value in spec.items()]
        return "\n".join(["{", *(textwrap.indent(line, "    ") for line in lines), "}"])
    if isinstance(spec, list | tuple):
        items = ", ".join(_tree(value, leaf) for value in spec)
        if isinstance(spec, list):
            return f"[{items}]"
        return f"({items},)" if len(spec) == 1 else f"({items})"
    return leaf(spec)


def _literal(value: np.ndarray, framework: str, dtype: str) -> str:
    usual = value.dtype in (np.float64, np.int64, np.bool_) and value.size
    kind = "" if usual else f", np.{value.dtype}"
    code = f"np.array({_constant(value.tolist())}{kind})"
    return _array(code, value.dtype, framework, dtype)


def _constant(value: Any) -> str:
    """Return Python code for a constant, with double quotes and with numpy's names of inf, nan."""
    text = json.dumps(value) if isinstance(value, str) else repr(value)
    return text if isinstance(value, str) else re.sub(r"\b(inf|nan)\b", r"np.\1", text)


def _array(code: str, kind: np.dtype, framework: str, dtype: str) -> str:
    space, call = {"torch": ("torch", "tensor"), "jax": ("jnp", "asarray")}[framework]
    changed = f", dtype={space}.{dtype}" if kind.kind == "f" and dtype != "float64" else ""
    return f"{space}.{call}({code}{changed})"
