"""Say in the docstring of a port what its functions have in common: params, keys, `F`, sizes."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Sequence

import torch

from jaxgrad._core.torch_versions import convention
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


PARAMS = "`p` is the tree of parameters, with the names of torch's state_dict."
PARAMS_AND_BUFFERS = (
    "`p` is the tree of parameters and buffers, with the names of torch's state_dict.\n"
    "Buffers in `p`, which have no gradient in torch: {}.\n"
    "Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again."
)
STATE = "A function that changes buffers returns (output, updated p)."
KEY = "`rng` is a key of jax.random; train mode draws from it, eval mode needs none."
KEY_ALWAYS = "`rng` is a key of jax.random."
OPERATORS = (
    "`F` has torch's operators, with the gradients of torch {}; those of jax.numpy differ at kinks."
)
CONJUGATE = (
    "jax.grad gives the conjugate of torch's .grad for complex parameters ({});\n"
    "pass jax.tree.map(jnp.conj, grads) to an optimizer."
)
SIZES = (
    "In the docstrings, letters stand for sizes that may change; numbers are the configuration's."
)
EXAMPLE = "The docstrings have the sizes of the example inputs."


def conventions(
    functions: Sequence[Written],
    *,
    stateful: bool,
    draws_in_eval: bool,
    paths: Sequence[str] = (),
    buffers: Sequence[str] = (),
    complex_parameters: Sequence[str] = (),
) -> str:
    """Return the sentences that apply to a port, one a line.

    Args:
        functions: The functions of the port.
        stateful: Whether the entry returns its params too.
        draws_in_eval: Whether the entry needs a key in eval mode.
        paths: The paths of all leaves of the params.
        buffers: The paths of what is in the params but is no parameter of torch's.
        complex_parameters: The paths of the complex parameters.
    """
    names = {name for w in functions for name in syntax.names_in(w.node)}
    nodes = [w.node for w in functions if isinstance(w.node, ast.FunctionDef)]
    parameters = {a.arg for x in nodes for a in (*x.args.args, *x.args.kwonlyargs)}
    params = PARAMS_AND_BUFFERS.format(_listed(buffers, paths)) if buffers else PARAMS
    lines = [params] if param_paths.PARAMS in parameters else []
    if stateful:
        lines.append(STATE)
    if draws.RNG in parameters:
        lines.append(KEY_ALWAYS if draws_in_eval else KEY)
    if "F" in names:
        lines.append(OPERATORS.format(convention(torch.__version__)))
    if complex_parameters:
        lines.append(conjugates(complex_parameters, paths))
    return "\n".join(lines)


def conjugates(names: Sequence[str], paths: Sequence[str]) -> str:
    """Return what the file says about the gradients of complex parameters.

    Args:
        names: The paths of the complex parameters.
        paths: The paths of all leaves of the params.
    """
    return CONJUGATE.format(_listed(names, paths))


def _listed(names: Sequence[str], paths: Sequence[str]) -> str:
    """Return patterns that match these paths and no other ones, as in `*/running_mean, scale`."""
    others = [_path(path) for path in paths if path not in names]
    own = [_path(name) for name in names]
    return ", ".join(dict.fromkeys(_pattern(path, own, others) for path in own))


def _pattern(path: str, own: Sequence[str], others: Sequence[str]) -> str:
    """Return the shortest pattern that several paths have and no other one, or the path itself."""
    parts = path.split("/")
    numbered = "/".join("*" if part.isdigit() else part for part in parts)
    for pattern in (f"*/{parts[-1]}", numbered):
        several = len(fnmatch.filter(own, pattern)) > 1 and fnmatch.fnmatch(path, pattern)
        if several and not fnmatch.filter(others, pattern):
            return pattern
    return path


def _path(name: str) -> str:
    """Return the path in the params of a torch name."""
    return name.replace(".", "/")
