"""Write the port of a torch module as flax nnx classes."""

from __future__ import annotations

from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.interpretation.interpretation import interpret
from jaxgrad.parity.port.merging.merging import merged
from jaxgrad.parity.port.merging.numbers import with_named_numbers
from jaxgrad.parity.port.nnx import layers
from jaxgrad.parity.port.nnx.ported import PortedModel
from jaxgrad.parity.port.nnx.writing import write_model
from jaxgrad.parity.port.proof.deviations import deviations_of
from jaxgrad.parity.port.source.naming import docstring, named
from jaxgrad.parity.port.source.writer import title_of, write_file
from jaxgrad.parity.port.statements.holes import holes_of, note_of
from jaxgrad.parity.port.values.params import Layout
from jaxgrad.parity.port.values.scope import Classes


EMPTY = (
    "What begins as jnp.empty gets its value from `jaxgrad.nnx.load_state_dict(model, state_dict)`."
)


def port_to_nnx(module: nn.Module, inputs: PyTree, *, holes: bool = False) -> PortedModel:
    """Return the port of a module as flax classes, which is not proved yet.

    Raises:
        PortError: The module uses something that cannot be re-expressed.
    """
    classes = Classes(layers.is_layer)
    program = interpret(module, inputs, classes, holes=holes)
    functions = named(with_named_numbers(merged(program.functions), keywords=False))
    model = write_model(module, functions, classes.sequences, program.constants)
    for part in model.parts:
        part.doc = part.doc or docstring(part, module)
    notes = [*program.notes, *note_of(holes_of(model.parts))]
    source = write_file(
        title_of(module), model.parts, program.assumptions, notes,
        deviations=deviations_of(functions), layers=model.layers,
    )  # fmt: skip
    if "jnp.empty" in source:
        source = write_file(
            title_of(module), model.parts, program.assumptions, [*notes, EMPTY],
            deviations=deviations_of(functions), layers=model.layers,
        )  # fmt: skip
    layout = Layout(module, program.used, program.constants)
    return PortedModel(
        source, model.parts[0].name, program.assumptions, layout,
        takes_mode=len(program.modes) == 2 and model.takes_mode, modes=program.modes,
        holes=holes_of(model.parts),
    )  # fmt: skip
