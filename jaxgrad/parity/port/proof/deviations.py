"""The documented differences between torch and JAX that apply to a module.

The parity suite compares every behaviour of torch's gradients with its JAX form. In a few of them
the two differ by design; docs/behaviours.md lists those as deviations.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.source import source_of
from jaxgrad.parity.port.source.written import Written


@dataclasses.dataclass(frozen=True)
class Deviation:
    """A documented difference, and how to recognise a module that it applies to.

    Attributes:
        behaviours: Their names in docs/behaviours.md.
        text: What torch does and what the port does.
        torch: Names that occur in torch's source if it applies; ".data" is an attribute.
        port: Functions that the port calls if it applies.
    """

    behaviours: tuple[str, ...]
    text: str
    torch: frozenset[str] = frozenset()
    port: frozenset[Helper] = frozenset()


CHANGES = "a change in place"  # stands for any method such as `add_`
DEVIATIONS = (
    Deviation(
        ("mutation/inplace_saved", "mutation/inplace_after_use"),
        "torch raises if a saved value was changed in place; here the gradient uses that value.",
        torch=frozenset({CHANGES}),
    ),
    Deviation(
        ("mutation/data",),
        "A change through .data is not seen by torch's backward pass, whose gradient is then "
        "silently that of another value. Here it makes a new array.",
        torch=frozenset({".data"}),
    ),
    Deviation(
        ("grad_modes/detach_shares_storage",),
        "x.detach() shares the memory of x in torch; here it is a value of its own.",
        torch=frozenset({"detach", CHANGES}),
    ),
    Deviation(
        ("grad_modes/inference_mode",),
        "torch refuses to save a tensor of inference_mode for a backward pass. Here such a value "
        "is a constant that can be used anywhere.",
        torch=frozenset({"inference_mode"}),
    ),
    Deviation(
        ("custom/saved_tensor_modified",),
        "torch raises if a tensor in save_for_backward is changed in place before the backward "
        "pass. Here it cannot change.",
        torch=frozenset({"save_for_backward"}),
    ),
    Deviation(
        ("none_or_zero/branch_not_taken",),
        "A parameter that only the branch not taken uses has the gradient None in torch. With "
        "lax.cond it has zeros, and an optimizer then updates its moments and decays it.",
        port=frozenset({Helper.COND}),
    ),
    Deviation(
        ("checkpointing/checkpoint_forgets_the_generator",),
        "With preserve_rng_state=False, torch's recomputation draws new numbers. Here it draws the "
        "same ones again, from the same key.",
        torch=frozenset({"preserve_rng_state"}),
    ),
)


def deviations_of(functions: Sequence[Written]) -> list[str]:
    """Return what to say in the docstring of a port with these functions."""
    torch_names = {name for w in functions for name in _torch_names(w)}
    helpers = {on_expression(node).helper for w in functions for node in ast.walk(w.node)}
    return [
        d.text for d in DEVIATIONS
        if d.torch <= torch_names and d.port <= helpers
    ]  # fmt: skip


def _torch_names(written: Written) -> set[str]:
    """Return the attributes, functions and keywords in torch's source of a function."""
    function: Any = written.function
    if (function.__module__ or "").split(".")[0] in ("torch", "jaxgrad"):
        return set()  # a layer of torch, or a helper of the port
    found: set[str] = set()
    for node in ast.walk(source_of(function).node):
        if isinstance(node, ast.Attribute):
            found |= {CHANGES if _changes(node.attr) else node.attr, f".{node.attr}"}
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.keyword) and node.arg is not None:
            found.add(node.arg)
    return found


_FLAGS = ("requires_grad_", "share_memory_")  # the values stay


def _changes(name: str) -> bool:
    if name in _FLAGS:
        return False
    return name.endswith("_") and not name.endswith("__") and hasattr(torch.Tensor, name)
