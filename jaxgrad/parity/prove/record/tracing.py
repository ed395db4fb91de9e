"""Trace the port for torch's inputs, whatever the order of its own axes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad._core import compat
from jaxgrad.parity.prove import checks, param_hints
from jaxgrad.parity.prove.record.adapters import JaxFunction, ProofError
from jaxgrad.parity.prove.record.jax_side import layouts
from jaxgrad.parity.prove.record.jax_side.layouts import SAME, Layout
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, flat
from jaxgrad.parity.prove.record.torch_side.side import TorchSide
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.wording import jax_program


Traced = tuple[JaxProgram, tuple[str, ...]]

_STATE = "fn returns a pair: if its second part is the new state, pass has_state=True"


def traced(
    model: JaxFunction, side: TorchSide, request: Request, known: Container[int] = ()
) -> Traced:
    """Trace the port as a function of torch's inputs, and return notes.

    The values of the `known` leaves of params are not needed.

    The port's inputs have the layout of `side.jax_inputs`. Without those they are torch's, or
    torch's with the channels moved if the port raises for torch's own.
    """
    given = side.jax_inputs is not None
    layout = layouts.related(side.inputs, side.jax_inputs) if given else SAME
    try:
        program, notes = checks.traced(model, side.inputs, request, layout, known)
    except ProofError as error:
        if given or (found := _tried(model, side, request, known)) is None:
            raise _advised(error, model, side, request, layout) from error.__cause__
        program, notes = found
        layout, why = program.layout, f"; in torch's order of axes it raises an error ({error})"
    else:
        why = ""
    count = len(side.outputs) - side.has_loss
    if len(program.out_paths) - side.has_loss > count:
        arrays = dataclasses.replace(layout, numbers=False)
        other = checks.traced(model, side.inputs, request, arrays, known)
        if len(other[0].out_paths) - side.has_loss == count:
            (program, notes), layout = other, arrays
    count = len(program.out_paths) - side.has_loss
    order = _order(program.out_paths[:count], [*side.outputs][:count])
    if order:
        layout = dataclasses.replace(layout, order=order)
        program, notes = checks.traced(model, side.inputs, request, layout, known)
    axes = _output_axes(program, side.outputs, model.params)
    if axes:
        layout = dataclasses.replace(layout, axes=axes)
        program, notes = checks.traced(model, side.inputs, request, layout, known)
    return program, (*notes, *layout.notes(why, jax_program(request.reference)))


def _advised(
    error: ProofError, model: JaxFunction, side: TorchSide, request: Request, layout: Layout
) -> ProofError:
    """Return the error with the argument or the parameter that causes it, if one is found."""
    if error.__cause__ is None or isinstance(error.__cause__, compat.NEEDS_NUMBERS):
        return error

    def traced_as(request: Request) -> Callable[[Any], BaseException | None]:
        return param_hints.traced_with(
            lambda p: checks.traced(model._replace(params=p), side.inputs, request, layout)
        )

    with_state = traced_as(dataclasses.replace(request, has_state=True))
    if not request.has_state and with_state(model.params) is None:
        text = _STATE
    else:
        text = param_hints.hint(error.__cause__, model.params, side.state, traced_as(request))
    return ProofError(f"{str(error).rstrip('. ')}. {text}") if text else error


def _tried(
    model: JaxFunction, side: TorchSide, request: Request, known: Container[int]
) -> Traced | None:
    """Trace the port with the channels of its inputs moved, or return None if it always raises."""
    for layout in layouts.channels_moved(side.inputs):
        try:
            return checks.traced(model, side.inputs, request, layout, known)
        except ProofError:
            continue
    return None


def _order(paths: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """Return torch's order of the outputs if the port returns the same names in another order.

    JAX sorts the keys of a dict, but not the fields of a dataclass.
    """
    same = list(paths) == list(wanted) or sorted(paths) != sorted(wanted)
    return () if same else tuple(wanted)


def _output_axes(
    program: JaxProgram, outputs: Mapping[str, np.ndarray], params: Any
) -> dict[str, tuple[int, ...]]:
    """Return the order of axes of each output of the port whose channels are not where torch's are.

    Where the shapes agree with every order, the values decide.
    """
    avals = program.jaxpr.out_avals[: len(program.out_paths)]
    if len(outputs) != len(avals):
        return {}
    values = None
    axes = {}
    for k, (path, x) in enumerate(zip(program.out_paths, outputs.values(), strict=True)):
        orders = layouts.channel_orders(avals[k].shape, x.shape)
        if avals[k].shape == x.shape and program.layout.moved and orders:
            if values is None:
                inputs = program.leaves[len(program.params) :]
                values = program.fun(*flat(params)[1], *inputs)
            y = np.asarray(values[k])
            orders = [order for order in orders if _is_close(y.transpose(order), x)]
            orders = [] if _is_close(y, x) else orders
        elif avals[k].shape == x.shape:
            orders = []
        if orders:
            axes[path] = orders[0]
    return axes


def _is_close(x: np.ndarray, y: np.ndarray) -> bool:
    return np.allclose(x, y, rtol=1e-3, atol=1e-3 * float(np.max(np.abs(y), initial=0.0)))
