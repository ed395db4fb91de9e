"""The inputs and the results of a case, as the programs of the figures use them."""

from typing import Any

from jaxgrad.parity import interop
from parity_tests.inputs import draw
from parity_tests.runner.observe import find, observe
from parity_tests.runner.torch_side import run_torch


def tensors(id: str) -> Any:
    """Return a case's inputs as torch tensors."""
    return interop.to_torch(_inputs(id))


def arrays(id: str) -> Any:
    """Return a case's inputs as JAX arrays."""
    return interop.to_jax(_inputs(id))


def results(id: str) -> dict[str, Any]:
    """Return what a case observes in "torch", in "JAX" and, if it has a tool, "without" it."""
    return observe(id, None, None, 0).values


def in_torch(id: str) -> Any:
    """Return what a case observes in torch, without running JAX."""
    return run_torch(find(id), "float64", 0, "cpu").observed


def measured(id: str) -> dict[str, Any]:
    """Return the bytes and seconds that a case measures in "torch" and in "JAX"."""
    return observe(id, None, None, 0).measured


def _inputs(id: str) -> Any:
    case = find(id)
    return draw(case.inputs, case.seed_name)
