"""Interpret a module on its example inputs, in train and in eval mode."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.interpretation import calls, expressions, statements
from jaxgrad.parity.port.interpretation.attempts import Interpreted, attempted
from jaxgrad.parity.port.interpretation.entry import interpret_entry
from jaxgrad.parity.port.interpretation.varying import varying_chunks
from jaxgrad.parity.port.interpretation.witnesses import growing_loops, with_both_arms
from jaxgrad.parity.port.ir import Loop
from jaxgrad.parity.port.leftovers.judging import left_out, require_one_name
from jaxgrad.parity.port.leftovers.left_behind import LeftBehind, left_behind
from jaxgrad.parity.port.leftovers.warming import warm_up
from jaxgrad.parity.port.modes.idle_modes import NOTE, floats
from jaxgrad.parity.port.modes.modes import MODES, in_mode, merge_modes
from jaxgrad.parity.port.source.refusals import LeavesHoles, OutOfReach, Place, PortError
from jaxgrad.parity.port.source.written import Assumption, Written
from jaxgrad.parity.port.statements import flags
from jaxgrad.parity.port.values import fixed
from jaxgrad.parity.port.values.classes import Classes
from jaxgrad.parity.port.values.inputs import attached, tensors
from jaxgrad.parity.port.values.scope import Run
from jaxgrad.parity.port.values.size_tests import SizeTests
from jaxgrad.parity.port.values.values import tensors_in
from jaxgrad.parity.prove.record.torch_side.borrowed import Borrowed
from jaxgrad.parity.prove.record.torch_side.frames import is_users_file
from jaxgrad.parity.prove.users import first_line


LEFT_OUT = "torch also stores these values on objects; the port leaves them out:"
LOST = "torch also returns these values, which no array holds; the port returns None for them:"
ONE_MODE = "It is for {} mode only. The {} mode of the module cannot be ported: {}"


@dataclasses.dataclass(frozen=True)
class Program:
    """What the interpretation of a module gives.

    Attributes:
        run: The run in train mode, or in the only mode that can be ported.
        modes: The modes that were interpreted: whether each is train mode.
        functions: The functions of all modes; the entry is the last one.
        idle: Those through which no gradient passes, if one does through the other.
        notes: What the file says about the modes.
        used: The paths of the tensors that are read.
        constants: The tensors that no state_dict has.
        assumptions: The folded tests.
        witnesses: Inputs of other sizes, which take the other arms of branches.
        leftovers: What a call of the module changes in it, in each of the modes.
        growing: The loops whose number of iterations depends on the sizes of the inputs.
    """

    run: Run
    modes: tuple[bool, ...]
    idle: tuple[bool, ...]
    functions: list[Written]
    notes: list[str]
    used: frozenset[str]
    constants: Mapping[str, torch.Tensor]
    assumptions: tuple[Assumption, ...]
    witnesses: tuple[PyTree, ...]
    leftovers: tuple[LeftBehind, ...]
    growing: frozenset[Loop]


def interpret(
    module: nn.Module, inputs: PyTree, classes: Classes | None = None, *,
    holes: LeavesHoles = False, both_arms: bool = True,
) -> Program:  # fmt: skip
    """Interpret a module in each mode that can be ported.

    Args:
        module: The torch module.
        inputs: Its example inputs.
        classes: What the port calls as one module, if it has classes.
        holes: Whether a refused statement is left to be written by hand.
        both_arms: Whether both arms of a branch on a size are written, where they can be.

    Raises:
        PortError: Its own mode cannot be ported.
    """
    varying = varying_chunks(module, inputs)
    again = functools.partial(_in_both_modes, module, inputs, classes, varying=varying)
    try:
        runs, notes = attempted(again)
    except PortError:
        if not holes:
            raise
        runs, notes = [], []
    if holes and len(runs) < 2:
        runs, notes = again(leaves_holes=holes)
    witnesses: list[PyTree] = []
    resized = functools.partial(_in_both_modes, module, classes=classes, varying=varying)
    if both_arms:
        (runs, notes), witnesses = with_both_arms((runs, notes), inputs, resized)
    growing = growing_loops(runs, inputs, resized)
    both = len(runs) == 2
    idle = _idle(runs, inputs) if both else ()
    modes = (True, False) if both else (module.training,)
    leftovers = tuple(
        left_behind(module, inputs, training, warm=run.warm)
        for training, run in zip(modes, runs, strict=True)
    )
    idle_notes = [NOTE.format(MODES[training]) for training in idle]
    return Program(
        run=runs[0],
        modes=modes,
        idle=idle,
        functions=merge_modes(*(run.written for run in runs)) if both else runs[0].written,
        notes=[*notes, *idle_notes, *_left_out(runs, leftovers)],
        used=frozenset().union(*(run.used for run in runs)),
        constants={path: x for run in runs for path, x in run.constants.items()},
        assumptions=tuple(dict.fromkeys(a for run in runs for a in run.assumptions)),
        witnesses=tuple(witnesses),
        leftovers=leftovers,
        growing=growing,
    )


def _left_out(runs: Sequence[Run], leftovers: Sequence[LeftBehind]) -> list[str]:
    """Return what the file says about values that torch stores and the port does not compute.

    Raises:
        PortError: One mode stores a value that the other mode reads, or the module leaves behind
            what the port cannot return.
    """
    others = [x for left, run in zip(leftovers, runs, strict=True) for x in left_out(left, run)]
    for left, run in zip(leftovers, runs, strict=True):
        require_one_name(run.module, left, run)
    for run, other in itertools.permutations(runs, 2):
        for (owner, name), stored in run.unread.items():
            if (owner, name) in other.settings.seen and name not in other.stored.get(owner, {}):
                raise PortError(
                    f"{stored.text} is set in one mode and read in the other, so the next call "
                    "depends on this one; take it as an argument and return it",
                    stored.place,
                )
    stored = [x for run in runs for x in run.unread.values()]
    lists = {LEFT_OUT: [*stored, *others], LOST: [x for run in runs for x in run.lost]}
    return [
        "\n".join([title, *dict.fromkeys(x.listed for x in found)])
        for title, found in lists.items() if found
    ]  # fmt: skip


def _idle(runs: Sequence[Run], inputs: PyTree) -> tuple[bool, ...]:
    """Return the modes without a gradient, if a proof can compare the outputs there."""
    results = [[] if run.output is None else tensors_in(run.output) for run in runs]
    found = [any(x.real.requires_grad for x in tensors) for tensors in results]
    if all(found) or not any(found) or not floats(inputs):
        return ()
    return tuple(training for training, has in zip((True, False), found, strict=True) if not has)


def _in_both_modes(
    module: nn.Module,
    inputs: PyTree,
    classes: Classes | None,
    **ways: Any,
) -> Interpreted:
    """Interpret the module in train and in eval mode, and say which mode cannot be ported.

    Args:
        module: The torch module.
        inputs: Its example inputs.
        classes: What the port calls as one module, if it has classes.
        ways: Fields of the run that say how it interprets the module.
    """
    runs: list[Run] = []
    notes: list[str] = []
    borrowed = Borrowed(module)  # a run in train mode changes buffers and draws numbers
    try:
        with borrowed.in_dtype(None):
            for training in (True, False):
                run = _run(module, classes, **ways)
                run.other_mode = runs[0].calls if runs else run.other_mode
                run.changed |= runs[0].changed if runs else set()
                if run.warm:
                    warm_up(module, inputs, training)
                try:
                    _in_mode(run, inputs, training)
                    runs.append(run)
                except PortError as error:
                    if training is module.training or isinstance(error, OutOfReach):
                        raise
                    notes.append(ONE_MODE.format(MODES[not training], MODES[training], error))
                borrowed.rewind()
    finally:
        borrowed.give_back()
    return runs, notes


def _in_mode(run: Run, inputs: PyTree, training: bool) -> None:
    """Interpret the module in one mode.

    Raises:
        PortError: It cannot be ported, or its own code raises on the example inputs.
    """
    example = attached(tensors(inputs, run.module))  # made before the marking of tensors
    try:
        with in_mode(run.module, training), fixed.Marking(run.module):
            before = {name: x.clone() for name, x in fixed.tables(run.module).items()}
            interpret_entry(run, example)
            flags.require_unchanged(run, before)
    except PortError as error:
        if not _is_users(error.place):
            _require_inputs(run.module, example, training)
        raise
    except Exception as error:
        place = run.raised.place if run.raised and run.raised.error is error else None
        if not _is_users(place):
            _require_inputs(run.module, example, training)
        raise PortError(
            f"this raised {type(error).__name__}: {error}; pass inputs on which the module runs",
            place,
        ) from error
    finally:
        run.settings.rewind()


def _is_users(place: Place | None) -> bool:
    """Whether a place is a line of the user's; the call itself has a place without a file."""
    return place is not None and bool(place.file) and is_users_file(place.file)


def _require_inputs(module: nn.Module, example: PyTree, training: bool) -> None:
    """Raise if torch's module does not accept the example inputs.

    Raises:
        PortError: It raises; the message has the shapes of the inputs.
    """
    named = isinstance(example, Mapping)
    values = list(example.values() if named else example)
    try:
        with in_mode(module, training), torch.enable_grad():
            module(**example) if named else module(*values)
    except Exception as error:
        shapes = ", ".join(map(_shape_of, values))
        count = "1 input" if len(values) == 1 else f"{len(values)} inputs"
        called = f"{type(module).__name__} called with {count}" + (f" ({shapes})" if shapes else "")
        raise PortError(
            f"inputs=: torch's {called} raised {type(error).__name__}: {first_line(error)}"
            "; pass inputs that its forward accepts"
        ) from error


def _shape_of(x: Any) -> str:
    if not isinstance(x, torch.Tensor):
        return type(x).__name__
    return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}"


def _run(
    module: nn.Module, classes: Classes | None, both: frozenset[Place] = frozenset(), **ways: Any
) -> Run:
    run = Run(
        module, expressions.evaluate, statements.execute, calls.call, classes=classes,
        size_tests=SizeTests(both=both), **ways,
    )  # fmt: skip
    for path, child in module.named_modules():
        run.paths.setdefault(id(child), path)
    return run
