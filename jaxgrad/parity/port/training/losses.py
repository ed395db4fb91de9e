"""Write torch's loss of a batch as the function `loss_fn`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.training.recipes import Recipe
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.inputs import input_value, tensors
from jaxgrad.parity.port.values.scope import Run
from jaxgrad.parity.port.values.top_scope import top_scope
from jaxgrad.parity.port.values.value_types import Folded, Value, is_dynamic, renamed
from jaxgrad.parity.port.values.values import code_of


@dataclasses.dataclass(frozen=True)
class Loss:
    """The loss in the file.

    Attributes:
        functions: The functions that it calls.
        written: `loss_fn`.
        batch: The names of its arguments after the params, without the key.
    """

    functions: list[Written]
    written: Written
    batch: list[str]


def argument_names(written: Written) -> list[str]:
    """Return the names of all arguments of a function."""
    return [a.arg for a in (*written.node.args.args, *written.node.args.kwonlyargs)]


def write_loss(
    recipe: Recipe, run: Run, functions: Sequence[Written], *, has_state: bool,
    holder: str = "params",
) -> Loss:  # fmt: skip
    """Return the loss of a module whose functions are written.

    Args:
        recipe: torch's training loop.
        run: The run of the module in train mode.
        functions: The functions of the port; the entry is the last one.
        has_state: Whether the entry returns its params too.
        holder: The name of the argument with the parameters.

    Raises:
        PortError: The loss has no counterpart.
    """
    entry = functions[-1]
    inputs = [a.arg for a in entry.node.args.args if a.arg not in (PARAMS, draws.RNG)]
    call = syntax.call_written(entry.name, syntax.name(holder), *map(syntax.name, inputs))
    keywords = {draws.RNG: syntax.name(draws.RNG), TRAINING: syntax.constant(True)}
    call.keywords = [ast.keyword(k, v) for k, v in keywords.items() if k in argument_names(entry)]
    keys = [draws.RNG] if draws.RNG in argument_names(entry) else []
    doc = "Return the loss of a batch in train mode" + (
        ", and the new params." if has_state else "."
    )
    output = run.output
    assert output is not None
    if recipe.loss is None:
        _require_loss(output.real, "the module")
        node = syntax.function("_", [holder, *inputs, *keys], [ast.Return(call)])
        return Loss([], Written("loss_fn", write_loss, node, None, doc), inputs)  # pyright: ignore[reportArgumentType]
    own = dataclasses.replace(run, written=list(functions), scopes=[])
    scope = top_scope(own, "loss")
    outputs = renamed(output, syntax.name("outputs")) if is_dynamic(output) else output
    labels = _labels(recipe)
    given = zip(labels, tensors(list(recipe.targets), run.module), strict=True)
    targets = [input_value(name, x, scope) for name, x in given]
    value = own.call(_callable(recipe.loss), [outputs, *targets], {}, scope, scope.source.node)
    _require_loss(value.real, "loss=")
    code, body = code_of(value), scope.body
    once = [n for s in (*body, code) for n in syntax.names_in(s)].count("outputs") == 1
    if once and not body and not has_state:
        code = syntax.substitute(code, {"outputs": call})
    else:
        stored: list[ast.expr] = [ast.Name(n, ast.Store()) for n in ("outputs", holder)]
        target = ast.Tuple(stored, ast.Store()) if has_state else stored[0]
        body = [ast.Assign([target], call), *body]
    result = ast.Tuple([code, syntax.name(holder)], ast.Load()) if has_state else code
    node = syntax.function("_", [holder, *inputs, *labels, *keys], [*body, ast.Return(result)])
    loss = Written("loss_fn", write_loss, node, None, doc)  # pyright: ignore[reportArgumentType]
    return Loss(own.written[len(functions) :], loss, [*inputs, *labels])


def _require_loss(returned: Any, who: str) -> None:
    """Check that a loss is a tensor of one element, as torch's `backward()` needs it.

    Args:
        returned: The value that torch computed.
        who: What returned it, "the module" or "loss=".

    Raises:
        PortError: It is not.
    """
    if isinstance(returned, torch.Tensor) and returned.numel() == 1:
        return
    remedy = "reduce it, as with .mean()"
    if who == "the module":
        remedy = (
            "pass loss=, a function of the outputs and the targets, and targets=, a tuple of "
            "example targets (in the shell --loss and --targets)"
        )
    raise PortError(
        f"{who} returns {_described(returned)}, but optimizer= needs a loss of one element; "
        f"{remedy}"
    )


def _described(returned: Any) -> str:
    """Describe what a module or a loss returns: the shape of a tensor, or the type."""
    if isinstance(returned, torch.Tensor):
        return f"a tensor of shape {tuple(returned.shape)}"
    container = returned if isinstance(returned, type) else type(returned)
    return f"a {container.__name__}"


def _callable(loss: Any) -> Value:
    """Return a loss as a value; a module without tensors is called by its forward."""
    if isinstance(loss, nn.Module):
        if next(loss.parameters(), None) is not None or next(loss.buffers(), None) is not None:
            raise PortError("the loss has tensors of its own; make it a part of the module")
        return Folded(loss.forward)
    return Folded(loss)


def _labels(recipe: Recipe) -> list[str]:
    loss: Any = recipe.loss
    parameters = list(inspect.signature(getattr(loss, "forward", loss)).parameters)[1:]
    names = [n for n in parameters if n not in ("self", "input")][: len(recipe.targets)]
    return names if len(names) == len(recipe.targets) else [
        f"target_{n}" for n in range(len(recipe.targets))
    ]  # fmt: skip
