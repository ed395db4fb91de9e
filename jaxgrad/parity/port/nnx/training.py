"""Write the training step of a flax model, with torch's order of operations."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from flax import nnx
from torch import nn

from jaxgrad.parity.port.nnx.writing import Model
from jaxgrad.parity.port.proof.filling import abstract, names
from jaxgrad.parity.port.proof.step_functions import FILTER
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.training.losses import Loss
from jaxgrad.parity.port.training.recipes import Recipe, training_of
from jaxgrad.parity.port.training.steps import (
    CONJUGATE,
    CONJUGATE_COMMENT,
    STEP_DOC,
    Step,
    helper,
    optimizer_section,
    test_of,
)


@dataclasses.dataclass(frozen=True)
class Variables:
    """The variables of a flax model, by their paths in the tree of its state.

    Attributes:
        torch_names: torch's name of each variable; the first one if torch has several.
        trained: The paths of those that torch's optimizer trains.
        others: The paths of the other parameters.
        is_all: Whether the model has no further variables, such as statistics.
    """

    torch_names: Mapping[str, str]
    trained: Sequence[str]
    others: Sequence[str]
    is_all: bool


def variables_of(kind: Any, module: nn.Module, recipe: Recipe) -> Variables:
    """Return the variables of a class of models, and what torch's optimizer trains of them.

    Raises:
        PortError: The optimizer lacks a parameter, or has one that the module lacks.
    """
    training = training_of(recipe, module)
    model = abstract(kind)
    first = {id(p): name for name, p in module.named_parameters()}
    every = dict(module.named_parameters(remove_duplicate=False))
    paths = {path: name for path, name in names(model).items() if name in every}
    torch_names = {path: first[id(every[n])] for path, n in paths.items()}
    trained = [path for path, name in torch_names.items() if training.trains(name)]
    others = [path for path in torch_names if path not in trained]
    rest = nnx.to_flat_state(nnx.state(model, nnx.Not(nnx.Param)))
    return Variables(torch_names, trained, others, not others and not rest)


def write_model_step(
    recipe: Recipe, module: nn.Module, model: Model, loss: Loss, variables: Variables
) -> Step:
    """Return the training step of a model whose classes are written.

    Raises:
        PortError: The optimizer or the scheduler has no counterpart.
    """
    training = training_of(recipe, module)
    written = dataclasses.replace(loss.written, node=model.bodies.function(loss.written))
    section: list[Written | ast.stmt] = [written]
    if variables.others:
        test = test_of(variables.trained, variables.others)
        source = f'def is_trained(path, _):\n    name = "/".join(map(str, path))\n    return {test}'
        section.append(helper(source, "Return whether torch's optimizer trains a parameter."))
        section += ast.parse(f"{FILTER} = nnx.All(nnx.Param, is_trained)").body
    own = variables.torch_names
    groups = [[p for p in variables.trained if own[p] in group] for group in training.groups]
    taken = {n for w in (*model.parts, written) for n in (w.name, *syntax.assigned(w.node))}
    optimizer, done = optimizer_section(recipe, training, groups, taken)
    section += optimizer
    section += _training_functions(
        loss.batch, recipe, done, variables, has_complex=training.has_complex
    )
    return Step([], section, tuple(own[p] for p in variables.trained), training.groups)


def _training_functions(
    batch: Sequence[str], recipe: Recipe, done: str, variables: Variables, *, has_complex: bool
) -> list[Written]:
    """Return `init_optimizer` and `train_step`, in torch's order of operations."""
    chosen = FILTER if variables.others else "nnx.Param"
    start = helper(
        "def init_optimizer(model):\n"
        f"    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, {chosen})))",
        "Return the state of the optimizer before the first step.",
    )
    names = ", ".join(batch)
    if variables.is_all:
        others, split, aux = "", f"nnx.split(model, {chosen})", ""
        result = f"loss_fn(nnx.merge(graph, params), {names})"
        inner = [f"        return {result}"]
        value = "loss"
    else:
        others, split, aux = ", others", f"nnx.split(model, {chosen}, ...)", ", has_aux=True"
        inner = [
            "        model = nnx.merge(graph, params, others, copy=True)",
            f"        return loss_fn(model, {names}), nnx.state(model, nnx.Not({chosen}))",
        ]
        value = "(loss, others)"
    lines = [
        f"def train_step(model, opt_state, {names}):",
        f"    graph, params{others} = {split}",
        "    params = nnx.to_pure_dict(params)",
        "    def loss_of(params):",
        *inner,
        f"    {value}, grads = jaxgrad.value_and_grad(loss_of{aux})(params)",
    ]
    comments = {}
    if has_complex:
        lines.append(CONJUGATE)
        comments[len(lines)] = CONJUGATE_COMMENT
    if recipe.clip is not None:
        lines.append(f"    grads, _ = jaxgrad.clip_grad_norm(grads, {float(recipe.clip)})")
    lines += [
        "    params, opt_state = OPTIMIZER.step(grads, opt_state, params)",
        f"    nnx.update(model, params{others})",
        "    return opt_state, loss",
    ]
    doc = STEP_DOC.format(done) + "\n\nThe model is changed in place; `model.train()` comes before."
    return [start, helper("\n".join(lines), doc, comments)]
