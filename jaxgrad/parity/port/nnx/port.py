"""Write the port of a torch module as flax nnx classes."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.finish.columns import with_named_columns
from jaxgrad.parity.port.finish.conventions import conjugates
from jaxgrad.parity.port.finish.signatures import with_ordered_keywords
from jaxgrad.parity.port.interpretation.interpretation import interpret
from jaxgrad.parity.port.merging.merging import merged
from jaxgrad.parity.port.merging.numbers import with_named_numbers
from jaxgrad.parity.port.nnx import layers
from jaxgrad.parity.port.nnx.initial_values import about_empty, has_constants
from jaxgrad.parity.port.nnx.modules import Modules
from jaxgrad.parity.port.nnx.ported import PortedModel
from jaxgrad.parity.port.nnx.state_maps import with_state_maps
from jaxgrad.parity.port.nnx.training import variables_of, write_model_step
from jaxgrad.parity.port.nnx.writing import methods_of, write_model
from jaxgrad.parity.port.proof.deviations import deviations_of
from jaxgrad.parity.port.source.naming import docstring, named, with_unrolled
from jaxgrad.parity.port.source.refusals import LeavesHoles
from jaxgrad.parity.port.source.writer import title_of, write_file
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.statements.holes import holes_of, note_of
from jaxgrad.parity.port.training.losses import write_loss
from jaxgrad.parity.port.training.recipes import Recipe
from jaxgrad.parity.port.values.classes import Classes
from jaxgrad.parity.port.values.params import Layout


VALUES = (
    "Constants in the constructors are the values that the torch module had when this file was "
    "written; `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others."
)


def port_to_nnx(
    module: nn.Module, inputs: PyTree, recipe: Recipe | None = None, *, holes: LeavesHoles = False,
    both_arms: bool = True,
) -> PortedModel:  # fmt: skip
    """Return the port of a module as flax classes, which is not proved yet.

    Args:
        module: The torch module.
        inputs: Its example inputs.
        recipe: torch's training loop, for a training step.
        holes: Whether a refused statement is left to be written by hand.
        both_arms: Whether both arms of a branch on a size are written, where they can be.

    Raises:
        PortError: The module uses something that cannot be re-expressed.
    """
    classes = Classes(layers.is_layer)
    program = interpret(module, inputs, classes, holes=holes, both_arms=both_arms)
    loss = None
    if recipe is not None:
        run = dataclasses.replace(program.run, classes=None)
        loss = write_loss(recipe, run, program.functions, has_state=False, holder="model")
    before, after = (loss.functions, [loss.written]) if loss else ([], [])
    parts = Modules(module, program.constants, classes.sequences, methods_of(program.functions))
    written = with_named_columns(with_state_maps(program.functions, parts))
    functions = merged([*before, *written, *after])
    functions = with_ordered_keywords(named(with_named_numbers(functions, methods=True)))
    own = [w for w in functions if w not in after]
    model = write_model(module, own, classes.sequences, program.constants)
    for part in model.parts:
        part.doc = part.doc or docstring(part, module)
        if isinstance(part.node, ast.ClassDef) and (empty := about_empty(part.node)):
            part.doc = "\n\n".join([part.doc, " ".join(empty)])
    for part in (*model.parts, *after):
        part.doc = with_unrolled(part.doc, part.node, program.growing)
    notes = [*program.notes, *note_of(holes_of(model.parts))]
    deviations = deviations_of(functions)

    def source(notes: Sequence[str], section: Sequence[Written | ast.stmt] = ()) -> str:
        return write_file(
            title_of(module), model.parts, program.assumptions, notes, section,
            deviations=deviations, layers=model.layers,
        )  # fmt: skip

    if any(has_constants(part.node) for part in model.parts):
        notes.append(VALUES)
    layout = Layout(module, program.used, program.constants)
    if complex_parameters := layout.complex_parameters():
        notes.append(conjugates(complex_parameters, layout.paths()))
    ported = PortedModel(
        source(notes), model.parts[0].name, program.assumptions, layout,
        takes_mode=len(program.modes) == 2 and model.takes_mode, modes=program.modes,
        holes=holes_of(model.parts), idle=program.idle, witnesses=program.witnesses,
        leftovers=program.leftovers,
    )  # fmt: skip
    if recipe is None or loss is None:
        return ported
    variables = variables_of(ported.fn, module, recipe)
    step = write_model_step(recipe, module, model, loss, variables)
    return dataclasses.replace(
        ported, source=source(notes, step.section), order=step.order,
        torch_names=variables.torch_names,
    )  # fmt: skip
