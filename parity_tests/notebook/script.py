"""Complete the core of a program to a script that runs in a session with torch or JAX alone.

The script has the imports, the functions and constants that the core reads, each taken from the
file that defines it, the inputs, drawn by numpy with the seed of the case, and the core.
"""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from parity_tests.case import Case
from parity_tests.notebook.core import Core, CoreError, core_of
from parity_tests.notebook.definitions import Definitions
from parity_tests.notebook.input_code import input_code
from parity_tests.notebook.plain_names import plain_names
from parity_tests.notebook.source_edits import bound_names, free_names


X64 = (
    "# Compute in float64, as torch does here; JAX's default is float32.\n"
    'jax.config.update("jax_enable_x64", True)'
)
DTYPE = "torch.set_default_dtype(torch.{})  # as in the JAX program"
DEVICES = 'jax.config.update("jax_num_cpu_devices", 8)  # eight devices on one CPU'


@dataclasses.dataclass(frozen=True)
class Script:
    """Half of a lesson: the lines that are shown, and the lines that they need above them.

    Attributes:
        core: The lines that are shown.
        helpers: Imports, functions and inputs; empty if the program needs several processes.
    """

    core: Core
    helpers: str

    @property
    def text(self) -> str:
        """The whole script, or nothing if there are no helpers."""
        return self.helpers and f"{self.helpers}\n\n\n# the lesson\n{self.core.text}\n"


def scripts(case: Case, prints: str = "", attempt: int = 0) -> tuple[Script, Script]:
    """Return torch's script and JAX's script of a case, for the inputs of seed 0.

    Args:
        case: The case.
        prints: Globs over the results that the scripts print; see `core_of`.
        attempt: Number of times that the runner redrew the inputs.
    """
    return (
        _script(case, case.reference, prints, "torch", attempt),
        _script(case, case.fun, prints, "jax", attempt),
    )


def _script(
    case: Case, program: Callable[..., Any], prints: str, framework: str, attempt: int
) -> Script:
    core = core_of(program, prints, case.idiom[framework == "jax"])
    if _on_several_processes(program):
        return _named(core, "")
    definitions = Definitions()
    for name in free_names(core.text):
        if name not in case.inputs:
            definitions.need(program.__module__, name)
    clash = set(definitions.names) & (set(case.inputs) | bound_names(core.text))
    if clash:
        raise CoreError(f"{case.id}: {', '.join(clash)} is both a variable and a helper's name")
    usual = {
        "torch": {"import numpy as np", "import torch"},
        "jax": {"import jax", "import jax.numpy as jnp", "import numpy as np"},
    }[framework]
    setup = {
        "torch": [DTYPE.format(case.dtypes[0]), "torch.manual_seed(0)"],
        "jax": [X64, *([DEVICES] if case.theme == "distributed" else [])],
    }[framework]
    head = "\n".join([*sorted(usual | set(definitions.imports)), "", *setup])
    inputs = input_code(case, framework, attempt)
    return _named(core, "\n\n\n".join([head, *definitions.pieces, inputs]))


def _named(core: Core, helpers: str) -> Script:
    """Return the script with the names of private helpers as a reader would write them."""
    text, helpers = plain_names(core.text, helpers)
    return Script(dataclasses.replace(core, text=text), helpers)


def _on_several_processes(program: Callable[..., Any]) -> bool:
    """Whether the program is decorated by `ranks` and so runs on several processes."""
    first = inspect.getsource(inspect.unwrap(program)).lstrip()
    return first.startswith("@ranks")
