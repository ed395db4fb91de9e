"""Write the training step: the loss, its gradients, clipping, the optimizer and its schedule."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.training import optimizers
from jaxgrad.parity.port.training.schedules import write_rates
from jaxgrad.parity.port.training.selections import selection
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.inputs import input_value, tensors
from jaxgrad.parity.port.values.kinds_of_values import Folded, Value, is_dynamic, renamed
from jaxgrad.parity.port.values.params import Layout
from jaxgrad.parity.port.values.scope import Run, top_scope
from jaxgrad.parity.port.values.values import code_of


@dataclasses.dataclass(frozen=True)
class Recipe:
    """torch's training loop, as the arguments of `port` describe it.

    Attributes:
        optimizer: torch's optimizer of the module's parameters.
        loss: The loss, a function of the outputs and the targets; None if the module returns it.
        targets: Example targets.
        scheduler: Factory of torch's scheduler, a function of the optimizer.
        clip: Maximum norm for torch's `clip_grad_norm_`.
    """

    optimizer: torch.optim.Optimizer
    loss: Callable[..., Any] | None = None
    targets: tuple[Any, ...] = ()
    scheduler: Callable[[Any], Any] | None = None
    clip: float | None = None


@dataclasses.dataclass(frozen=True)
class Step:
    """What the file has beside the module's functions.

    Attributes:
        functions: The functions that the loss calls.
        section: The statements at the end of the file.
        trained: The names of the leaves that the optimizer trains.
        order: The names of the optimizer's parameters in its own order.
    """

    functions: list[Written]
    section: list[Written | ast.stmt]
    trained: tuple[str, ...]
    order: tuple[str, ...]


def write_step(
    recipe: Recipe, run: Run, functions: Sequence[Written], layout: Layout, *, has_state: bool
) -> Step:
    """Return the training step of a module whose functions are written.

    Args:
        recipe: torch's training loop.
        run: The run of the module in train mode.
        functions: The functions of the port; the entry is the last one.
        layout: The params of the port.
        has_state: Whether the entry returns its params too.

    Raises:
        PortError: The loss, the optimizer or the scheduler has no counterpart.
    """
    names = {id(p): name for name, p in layout.module.named_parameters()}
    fresh = optimizers.rebuilt(recipe.optimizer)
    groups = optimizers.group_names(fresh, names)
    flags = dict(layout.module.named_parameters())
    order = tuple(name for group in groups for name in group)
    paths = layout.paths()
    trained = [n for n in paths if n in order and flags[n].requires_grad]
    others = [n for n in paths if n not in trained]
    left_out = [n for n, p in flags.items() if p.requires_grad and n not in order]
    if left_out:
        raise PortError(
            f"the optimizer does not have {left_out[0]}, which requires a gradient; freeze it with "
            "requires_grad_(False), or give the optimizer every parameter"
        )
    entry = functions[-1]
    extra, loss, arguments = _loss(recipe, run, functions, entry, has_state=has_state)
    keys = ["rng"] if draws.RNG in _arguments(entry) else []
    section: list[Written | ast.stmt] = [loss]
    if others:
        test = selection(others, trained)
        positive = selection(trained, others)
        code = positive if len(positive) <= len(test) else f"not ({test})"
        section.append(_function(f"def is_trained(name, _):\n    return {code}",
                                 "Return whether torch's optimizer trains a leaf."))  # fmt: skip
    if len(groups) > 1:
        section.append(_group_of(groups, trained))
    taken = {"p", *(n for w in (*functions, *extra) for n in (w.name, *syntax.assigned(w.node)))}
    rates = write_rates(fresh, recipe.scheduler, taken)
    transformation = optimizers.write_optimizer(fresh, rates)
    section += rates.section
    section.append(ast.Assign([ast.Name("OPTIMIZER", ast.Store())], transformation))
    section += _training_functions([*arguments, *keys], recipe, fresh, rates.scheduler,
                                   partial=bool(others), has_state=has_state)  # fmt: skip
    return Step(extra, section, tuple(trained), order)


def _arguments(written: Written) -> list[str]:
    return [a.arg for a in (*written.node.args.args, *written.node.args.kwonlyargs)]


def _loss(
    recipe: Recipe, run: Run, functions: Sequence[Written], entry: Written, *, has_state: bool
) -> tuple[list[Written], Written, list[str]]:
    """Return the functions of the loss, `loss_fn`, and the arguments that are its batch."""
    inputs = [a.arg for a in entry.node.args.args if a.arg not in ("p", draws.RNG)]
    call = syntax.call_written(entry.name, syntax.name("params"), *map(syntax.name, inputs))
    keywords = {draws.RNG: syntax.name(draws.RNG), TRAINING: syntax.constant(True)}
    call.keywords = [ast.keyword(k, v) for k, v in keywords.items() if k in _arguments(entry)]
    keys = [draws.RNG] if draws.RNG in _arguments(entry) else []
    doc = "Return the loss of a batch in train mode" + (
        ", and the new params." if has_state else "."
    )
    if recipe.loss is None:
        node = syntax.function("_", ["params", *inputs, *keys], [ast.Return(call)])
        return [], Written("loss_fn", write_step, node, None, doc), inputs  # pyright: ignore[reportArgumentType]
    own = dataclasses.replace(run, written=list(functions), scopes=[])
    scope = top_scope(own, "loss")
    output = run.output
    assert output is not None
    outputs = renamed(output, syntax.name("outputs")) if is_dynamic(output) else output
    labels = _labels(recipe)
    given = zip(labels, tensors(list(recipe.targets), run.module), strict=True)
    targets = [input_value(name, x, scope) for name, x in given]
    value = own.call(_callable(recipe.loss), [outputs, *targets], {}, scope, scope.source.node)
    code, body = code_of(value), scope.body
    once = [n for s in (*body, code) for n in syntax.names_in(s)].count("outputs") == 1
    if once and not body and not has_state:
        code = syntax.substitute(code, {"outputs": call})
    else:
        stored: list[ast.expr] = [ast.Name(n, ast.Store()) for n in ("outputs", "params")]
        target = ast.Tuple(stored, ast.Store()) if has_state else stored[0]
        body = [ast.Assign([target], call), *body]
    result = ast.Tuple([code, syntax.name("params")], ast.Load()) if has_state else code
    node = syntax.function("_", ["params", *inputs, *labels, *keys], [*body, ast.Return(result)])
    loss = Written("loss_fn", write_step, node, None, doc)  # pyright: ignore[reportArgumentType]
    return own.written[len(functions) :], loss, [*inputs, *labels]


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


def _function(source: str, doc: str) -> Written:
    return Written.helper(source, doc, write_step)


def _group_of(groups: Sequence[Sequence[str]], trained: Sequence[str]) -> Written:
    """Return the function that maps a name to the number of its parameter group."""
    lines = ["def group_of(name):"]
    for number, group in list(enumerate(groups))[1:]:
        own = [n for n in group if n in trained]
        if own:
            test = selection(own, [n for n in trained if n not in own])
            lines += [f"    if {test}:", f"        return {number}"]
    return _function("\n".join([*lines, "    return 0"]), "Return the parameter group of a leaf.")


def _training_functions(
    batch: list[str], recipe: Recipe, optimizer: Any, scheduler: Any, *, partial: bool,
    has_state: bool,
) -> list[Written]:  # fmt: skip
    """Return `init_optimizer` and `train_step`, in torch's order of operations."""
    held = "jaxgrad.partition(params, is_trained)[0]" if partial else "params"
    start = _function(
        f"def init_optimizer(params):\n    return OPTIMIZER.init({held})",
        "Return the state of the optimizer before the first step.",
    )
    names = ", ".join(batch)
    lines = [f"def train_step(params, opt_state, {names}):"]
    function, over, aux = "loss_fn", f"params, {names}", ", has_aux=True" if has_state else ""
    value = "(loss, params)" if has_state else "loss"
    if partial:
        lines += [
            "    trained, others = jaxgrad.partition(params, is_trained)",
            "    def loss_of(trained):",
            f"        return loss_fn(jaxgrad.combine(trained, others), {names})",
        ]
        function, over = "loss_of", "trained"
    lines.append(f"    {value}, grads = jaxgrad.value_and_grad({function}{aux})({over})")
    if recipe.clip is not None:
        lines.append(f"    grads, _ = jaxgrad.clip_grad_norm(grads, {float(recipe.clip)})")
    stepped = "trained" if partial else "params"
    lines.append(f"    {stepped}, opt_state = OPTIMIZER.step(grads, opt_state, {stepped})")
    if partial:
        if has_state:
            lines.append("    _, others = jaxgrad.partition(params, is_trained)")
        lines.append("    params = jaxgrad.combine(trained, others)")
    lines.append("    return params, opt_state, loss")
    done = [type(optimizer).__name__, *([type(scheduler).__name__] if scheduler else [])]
    done = ["loss", "gradients", *([] if recipe.clip is None else ["clipping"]), *done]
    doc = f"Make one step of torch's training loop, in its order: {', '.join(done)}."
    return [start, _function("\n".join(lines), doc)]
