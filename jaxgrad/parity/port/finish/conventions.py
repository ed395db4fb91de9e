"""Say in the docstring of a port what its functions have in common: params, keys, `F`, sizes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import torch

from jaxgrad._core.torch_versions import convention
from jaxgrad.parity.port.source import syntax
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
    buffers: Sequence[str] = (),
    complex_parameters: Sequence[str] = (),
) -> str:
    """Return the sentences that apply to a port, one a line.

    Args:
        functions: The functions of the port.
        stateful: Whether the entry returns its params too.
        draws_in_eval: Whether the entry needs a key in eval mode.
        buffers: The paths of what is in the params but is no parameter of torch's.
        complex_parameters: The paths of the complex parameters.
    """
    names = {name for w in functions for name in syntax.names_in(w.node)}
    nodes = [w.node for w in functions if isinstance(w.node, ast.FunctionDef)]
    parameters = {a.arg for x in nodes for a in (*x.args.args, *x.args.kwonlyargs)}
    names_of_buffers = ", ".join(dict.fromkeys(map(_short, buffers)))
    params = PARAMS_AND_BUFFERS.format(names_of_buffers) if buffers else PARAMS
    lines = [params] if "p" in parameters else []
    if stateful:
        lines.append(STATE)
    if any(map(draws.is_key, names | parameters)):
        lines.append(KEY_ALWAYS if draws_in_eval else KEY)
    if "F" in names:
        lines.append(OPERATORS.format(convention(torch.__version__)))
    if complex_parameters:
        lines.append(conjugates(complex_parameters))
    return "\n".join(lines)


def conjugates(names: Sequence[str]) -> str:
    """Return what the file says about the gradients of complex parameters."""
    return CONJUGATE.format(", ".join(dict.fromkeys(map(_short, names))))


def _short(path: str) -> str:
    """Return `running_mean` for `norm.running_mean`, but `attn.bias` for `0.attn.bias`.

    A name that layers give their parameters is ambiguous without that of its module.
    """
    *owners, name = path.split(".")
    owners = [owner for owner in owners if not owner.isdigit()]
    return ".".join([*owners[-1:], name]) if name in ("weight", "bias") else name
