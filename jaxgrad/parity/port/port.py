"""The entry point `port`: write the JAX port of a torch module, and prove it."""

from __future__ import annotations

import ast
import inspect
import pathlib
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port import calls, draws, expressions, module_hooks, statements, syntax
from jaxgrad.parity.port.deviations import deviations_of
from jaxgrad.parity.port.fixed import Marking
from jaxgrad.parity.port.inputs import input_value, tensors
from jaxgrad.parity.port.merging import merged
from jaxgrad.parity.port.mode_expressions import TRAINING
from jaxgrad.parity.port.modes import MODES, in_mode, merge_modes
from jaxgrad.parity.port.naming import named
from jaxgrad.parity.port.params import Layout
from jaxgrad.parity.port.ported import Ported
from jaxgrad.parity.port.proofs import proved
from jaxgrad.parity.port.refusals import PortError
from jaxgrad.parity.port.scope import Run, Written, port_name, renames, top_scope
from jaxgrad.parity.port.source import source_of
from jaxgrad.parity.port.step_proofs import step_proved
from jaxgrad.parity.port.steps import Recipe, Step, write_step
from jaxgrad.parity.port.tidying import tidied
from jaxgrad.parity.port.ties import tie
from jaxgrad.parity.port.values import Module
from jaxgrad.parity.port.writer import write_file
from jaxgrad.parity.prove.torch_side.borrowed import Borrowed


ONE_MODE = "It is for {} mode only. The {} mode of the module cannot be ported: {}"


def port(
    module: nn.Module,
    inputs: PyTree,
    *,
    also: Sequence[PyTree] = (),
    optimizer: torch.optim.Optimizer | Callable[..., torch.optim.Optimizer] | None = None,
    loss: Callable[..., Any] | None = None,
    targets: tuple[Any, ...] = (),
    scheduler: Callable[[Any], Any] | None = None,
    clip: float | None = None,
    prove: bool = True,
    seed: int = 0,
) -> Ported:
    """Write the JAX port of a torch module as readable source, and prove its gradients.

    The forward pass runs on the example inputs in train and in eval mode, and each statement is
    written as it runs: what depends on the configuration is folded, what depends on sizes and
    tensors stays code. If the module depends on its mode, its port has the argument `training`.

    Args:
        module: A `torch.nn.Module`. If one of its modes cannot be ported, its own mode is ported
            alone, and the file says so.
        inputs: A tuple of numpy arrays or tensors, or a mapping for named arguments.
        also: Further inputs, of other sizes, on which the port is proved too.
        optimizer: torch's optimizer, or a factory of it, a function of the parameters. With it the
            file has `train_step` too, which does what torch's training loop does.
        loss: torch's loss, a function of the outputs and the targets, for the training step; None
            if the module returns its loss.
        targets: A tuple of example targets for `loss`, numpy arrays or tensors.
        scheduler: Factory of torch's scheduler, a function of the optimizer. It is stepped after
            each optimizer step.
        clip: Maximum norm for torch's `clip_grad_norm_`.
        prove: Whether to prove the port.
        seed: Seed of the proof.

    Returns:
        A `Ported`: the source, the entry function, the params and the proof.

    Raises:
        PortError: The module uses something that cannot be re-expressed; the message names the
            line of the torch source.
        AssertionError: The port was written but its gradients are not torch's.

    Torch: `torch.export` captures a module as a graph; `port` writes source that keeps its classes
    and names.

    Example:
        >>> import jaxgrad, numpy as np, torch
        >>> ported = jaxgrad.port(torch.nn.Linear(3, 2), (np.ones((4, 3), np.float32),))
        >>> print(ported.source.split("\\n")[-2].strip())
        return F.linear(x, **p)
    """
    recipe = _recipe(module, optimizer, loss, targets, scheduler, clip)
    ported = _written(module, inputs, recipe)
    if not prove:
        return ported
    ported = proved(ported, module, inputs, also, seed)
    return ported if recipe is None else step_proved(ported, recipe, inputs, seed)


def _recipe(
    module: nn.Module, optimizer: Any, loss: Any, targets: Any, scheduler: Any, clip: Any
) -> Recipe | None:
    """Return the arguments of the training step, and check them.

    Raises:
        PortError: One of them has a wrong type, or needs another one.
    """
    if optimizer is None:
        given = {"loss": loss, "targets": targets or None, "scheduler": scheduler, "clip": clip}
        wrong = next((name for name, value in given.items() if value is not None), None)
        if wrong is not None:
            raise PortError(f"{wrong}= needs optimizer=, as in optimizer=torch.optim.AdamW(params)")
        return None
    if callable(optimizer) and not isinstance(optimizer, torch.optim.Optimizer):
        optimizer = optimizer(list(module.parameters()))
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise PortError(
            f"optimizer= needs a torch optimizer or a function of the parameters that returns one, "
            f"got {type(optimizer).__name__}"
        )
    if not isinstance(targets, tuple):
        raise PortError(f"targets= needs a tuple of arrays, got {type(targets).__name__}")
    for name, value in (("loss", loss), ("scheduler", scheduler)):
        if value is not None and not callable(value):
            raise PortError(f"{name}= needs a function, got {type(value).__name__}")
    if clip is not None and (isinstance(clip, bool) or not isinstance(clip, int | float)):
        raise PortError(f"clip= needs a maximum norm, got {type(clip).__name__}")
    return Recipe(optimizer, loss, targets, scheduler, clip)


def _written(module: nn.Module, inputs: PyTree, recipe: Recipe | None) -> Ported:
    runs, notes = _interpreted(module, inputs)
    used = frozenset().union(*(run.used for run in runs))
    constants = {path: x for run in runs for path, x in run.constants.items()}
    assumptions = tuple(dict.fromkeys(a for run in runs for a in run.assumptions))
    written = merge_modes(*(run.written for run in runs)) if len(runs) == 2 else runs[0].written
    entry = written[-1]
    layout = Layout(module, used, constants)
    tie(entry, layout.ties())
    step = Step([], [], (), ())
    if recipe is not None:
        step = write_step(recipe, runs[0], written, layout, has_state=runs[0].stateful)
    tail = [w for w in step.section if isinstance(w, Written)]
    functions = named(merged([*step.functions, *written, *tail]))
    for function in functions:
        function.doc = function.doc or _doc(function)
    title = f"The JAX port of torch's {type(module).__name__}, written by jaxgrad.port."
    own = [w for w in functions if w not in tail]
    source = write_file(
        title, own[::-1], assumptions, notes, step.section, deviations_of(functions)
    )
    arguments = [a.arg for a in (*entry.node.args.args, *entry.node.args.kwonlyargs)]
    return Ported(
        source, entry.name, assumptions, layout, draws.RNG in arguments, runs[0].stateful,
        TRAINING in arguments, step.order,
    )  # fmt: skip


def _interpreted(module: nn.Module, inputs: PyTree) -> tuple[list[Run], list[str]]:
    """Interpret the module; if it asks what cannot be ported, let it take its way for tracers."""
    try:
        return _in_both_modes(module, inputs, tracing=False)
    except PortError as refusal:
        try:
            return _in_both_modes(module, inputs, tracing=True)
        except PortError:
            raise refusal from None


def _in_both_modes(
    module: nn.Module, inputs: PyTree, *, tracing: bool
) -> tuple[list[Run], list[str]]:
    """Interpret the module in train and in eval mode, and say which mode cannot be ported."""
    runs: list[Run] = []
    notes: list[str] = []
    borrowed = Borrowed(module)  # a run in train mode changes buffers and draws numbers
    try:
        with borrowed.in_dtype(None):
            for training in (True, False):
                run = _run(module, tracing=tracing)
                run.other_mode = runs[0].calls if runs else run.other_mode
                try:
                    _in_mode(run, inputs, training)
                    runs.append(run)
                except PortError as error:
                    if training is module.training:
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
    example = tensors(inputs, run.module)  # made before the marking of tensors
    try:
        with in_mode(run.module, training), Marking():
            _interpret(run, example)
    except PortError:
        raise
    except Exception as error:
        place = getattr(error, "place", None)
        raise PortError(f"this raised {type(error).__name__}: {error}", place) from error
    finally:
        run.settings.rewind()


def _run(module: nn.Module, *, tracing: bool) -> Run:
    run = Run(module, expressions.evaluate, statements.execute, calls.call, tracing=tracing)
    for path, child in module.named_modules():
        run.paths.setdefault(id(child), path)
    return run


def _interpret(run: Run, example: Any) -> Written:
    """Interpret the module on its inputs, and return the function that is the entry."""
    module = run.module
    top = top_scope(run, type(module).__name__)
    root = Module(module, syntax.name("p"))
    named = isinstance(example, Mapping)
    names = list(example) if named else [f"x{n}" for n in range(len(example))]
    values = [
        input_value(name, x, top)
        for name, x in zip(names, example.values() if named else example, strict=True)
    ]
    args, keywords = ([], dict(zip(names, values, strict=True))) if named else (values, {})
    run.output = run.call(root, args, keywords, top, top.source.node)
    run.stateful = top.stateful
    run.written[:] = tidied(run.written)
    entry = run.written[-1]
    entry.node.body[:0] = module_hooks.parameter_hooks(top, run.used, top.source.node)
    _take_all(entry, module, named, names)
    return entry


def _forward(module: nn.Module) -> types.FunctionType:
    return module.forward.__func__  # pyright: ignore[reportFunctionMemberAccess, reportReturnType]


def _take_all(entry: Written, module: nn.Module, named: bool, names: list[str]) -> None:
    """Give the entry every input as a parameter, used or not, after the params."""
    parameters = list(inspect.signature(_forward(module)).parameters)[1:]
    other = renames(source_of(_forward(module)).node)
    chosen = names if named else parameters[: len(names)]
    wanted = [other.get(name) or port_name(name) for name in chosen]
    have = [a.arg for a in entry.node.args.args]
    entry.node.args.args = [
        ast.arg(n) for n in ["p", *wanted, *(h for h in have if h not in ("p", *wanted))]
    ]


def _doc(written: Written) -> str:
    code = written.function.__code__
    label = written.owner.__name__ if written.owner is not None else written.function.__name__
    if written.owner is not None and written.function.__name__ != "forward":
        label = f"{label}.{written.function.__name__}"
    path = pathlib.Path(code.co_filename)
    where = "/".join(path.parts[-2:])
    return f"{label} ({where}:{code.co_firstlineno})."
