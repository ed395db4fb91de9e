"""The modules that docs/port.md shows with their ports."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import pathlib
import re
import tempfile
from typing import Any

import numpy as np
from torch import nn


PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "port.md").read_text()
INPUTS: dict[str, tuple[Any, ...]] = {
    "attention": (np.ones((2, 3, 8), np.float32),),
    "gradients": (np.ones((3, 4), np.float32), np.array([True, False, False])),
    "modes": (np.ones((2, 2, 4, 4), np.float32),),
}


@functools.cache
def pairs() -> dict[str, tuple[str, str]]:
    """Return the source of each module of the page, and that of its port."""
    shown = re.findall(
        r"```python\n([^`]*)```\n\nThe port, after its docstring:\n\n```python\n([^`]*)```", PAGE
    )
    return dict(zip(INPUTS, shown, strict=True))


def example(name: str, folder: pathlib.Path | None = None) -> tuple[nn.Module, tuple[Any, ...]]:
    """Return a module of the page and its inputs.

    Args:
        name: One of `INPUTS`.
        folder: The folder in which the module's file is written; None for a temporary one.
    """
    code, _ = pairs()[name]
    path = (folder or _folder()) / "models" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    classes = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, nn.Module)]
    return classes[-1](), INPUTS[name]


@functools.cache
def _folder() -> pathlib.Path:
    """Return a folder that lasts as long as the process, since `port` reads the file later."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return pathlib.Path(folder.name)
