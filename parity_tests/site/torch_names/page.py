"""Write docs/torch_names.md: torch's functions that `jaxgrad.functional` lacks.

    python -m parity_tests.site.torch_names.page

Every public function of `torch`, `torch.nn.functional`, `torch.linalg`, `torch.fft` and
`torch.special`, and every method of `torch.Tensor`, is offered under its name, has a JAX expression
in `instead.py`, or has a reason in `reasons.py`.
"""

import inspect
import sys
from collections.abc import Iterator

from jaxgrad import functional
from parity_tests.runner.settings import ROOT
from parity_tests.site.api import table
from parity_tests.site.torch_names.instead import FUNCTIONS, INSTEAD, METHODS
from parity_tests.site.torch_names.reasons import REASONS, Reason


PAGE = ROOT / "docs" / "torch_names.md"
NAMESPACES = ("linalg", "fft", "special")
TEXT = """\
# Functions of torch that `jaxgrad.functional` lacks

`jaxgrad.functional` has the operators of torch whose gradient follows a convention or a formula.
This page lists the others: every public function of `torch`, `torch.nn.functional`, `torch.linalg`,
`torch.fft` and `torch.special`, and every method of `torch.Tensor`. A test fails if torch {torch}
has a function that is neither offered nor listed here.

## JAX expressions with the same gradient

The test suite compares the values and gradients of both expressions, for `x` and `y` of shape
2 x 3, `z` with 3 elements, and `m` of shape 3 x 3. `F` is `torch.nn.functional`.

{functions}

Methods of `torch.Tensor` that are not also functions:

{methods}

## Functions without a counterpart

{reasons}
"""


def names() -> set[str]:
    """Return the public functions and methods of torch, as `cat` and `linalg.diagonal`."""
    import torch

    spaces = {name: getattr(torch, name) for name in NAMESPACES}
    prefixed = {f"{space}.{name}" for space, module in spaces.items() for name in _public(module)}
    return prefixed.union(*map(_public, (torch, torch.nn.functional, torch.Tensor)))


def offered() -> set[str]:
    """Return the operators of `jaxgrad.functional`, as `relu` and `linalg.inv`."""
    spaces = {name: getattr(functional, name) for name in NAMESPACES}
    prefixed = {f"{space}.{name}" for space, module in spaces.items() for name in dir(module)}
    return prefixed.union(dir(functional))


def lacking() -> dict[str, list[Reason]]:
    """Return the names that are neither offered nor expressed in JAX, with their reasons."""
    rest = sorted(names() - offered() - set(INSTEAD))
    return {name: [reason for reason in REASONS if reason.covers(name)] for name in rest}


def page() -> str:
    """Return the text of the page."""
    import torch

    tables = {
        key: table(("torch", "JAX"), [[f"`{t}`", f"`{j}`"] for t, j in pairs.values()])
        for key, pairs in (("functions", FUNCTIONS), ("methods", METHODS))
    }
    version = ".".join(torch.__version__.split(".")[:2])
    return TEXT.format(torch=version, reasons="\n\n".join(_reasons()), **tables)


def _reasons() -> Iterator[str]:
    chosen = {name: reasons[0] for name, reasons in lacking().items() if reasons}
    for reason in REASONS:
        listed = [f"`{name}`" for name, its in chosen.items() if its is reason]
        yield f"**{reason.text}**\n{' '.join(listed)}"


def _public(module: object) -> set[str]:
    """Return the functions of a module or a class, without classes and properties."""
    return {
        name
        for name in dir(module)
        if name[0] != "_"
        and callable(value := getattr(module, name))
        and not inspect.isclass(value)
    }


if __name__ == "__main__":
    sys.exit(PAGE.write_text(page(), encoding="utf-8") * 0)
