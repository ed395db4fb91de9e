"""The entry point `port`: write the JAX port of a torch module, and prove it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pathlib
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import map_leaves
from jaxgrad.parity.port import calls, draws, expressions, module_hooks, statements, syntax
from jaxgrad.parity.port.binding import bind
from jaxgrad.parity.port.fixed import Marking
from jaxgrad.parity.port.merging import merged
from jaxgrad.parity.port.mode_expressions import TRAINING
from jaxgrad.parity.port.modes import MODES, in_mode, merge_modes
from jaxgrad.parity.port.naming import named
from jaxgrad.parity.port.params import Layout
from jaxgrad.parity.port.ported import Ported
from jaxgrad.parity.port.proofs import proved
from jaxgrad.parity.port.refusals import PortError
from jaxgrad.parity.port.scope import Run, Scope, Written, port_name
from jaxgrad.parity.port.source import Source
from jaxgrad.parity.port.tidying import tidied
from jaxgrad.parity.port.ties import tie
from jaxgrad.parity.port.values import Fields, Items, Module, Tensor, Value
from jaxgrad.parity.port.writer import write_file
from jaxgrad.parity.prove.torch_side.borrowed import Borrowed


ONE_MODE = "It is for {} mode only. The {} mode of the module cannot be ported: {}"


def port(
    module: nn.Module,
    inputs: PyTree,
    *,
    also: Sequence[PyTree] = (),
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
        >>> import numpy as np, torch
        >>> from jaxgrad.parity.port.port import port
        >>> ported = port(torch.nn.Linear(3, 2), (np.ones((4, 3), np.float32),))
        >>> print(ported.source.split("\\n")[-2].strip())
        return F.linear(x, **p)
    """
    runs, notes = _interpreted(module, inputs)
    used = frozenset().union(*(run.used for run in runs))
    constants = {path: x for run in runs for path, x in run.constants.items()}
    assumptions = tuple(dict.fromkeys(a for run in runs for a in run.assumptions))
    written = merge_modes(*(run.written for run in runs)) if len(runs) == 2 else runs[0].written
    entry = written[-1]
    layout = Layout(module, used, constants)
    tie(entry, layout.ties())
    functions = named(merged(written))
    functions = [dataclasses.replace(w, doc=w.doc or _doc(w)) for w in functions]
    title = f"The JAX port of torch's {type(module).__name__}, written by jaxgrad.port."
    source = write_file(title, functions[::-1], assumptions, notes)
    arguments = [a.arg for a in (*entry.node.args.args, *entry.node.args.kwonlyargs)]
    ported = Ported(
        source, entry.name, assumptions, layout, draws.RNG in arguments, runs[0].stateful,
        TRAINING in arguments,
    )  # fmt: skip
    return proved(ported, module, inputs, also, seed) if prove else ported


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
                    example = _tensors(inputs, module)  # made before the marking of tensors
                    with in_mode(module, training), Marking():
                        _interpret(run, example)
                    runs.append(run)
                except PortError as error:
                    if training is module.training:
                        raise
                    notes.append(ONE_MODE.format(MODES[not training], MODES[training], error))
                borrowed.rewind()
    finally:
        borrowed.give_back()
    return runs, notes


def _run(module: nn.Module, *, tracing: bool) -> Run:
    run = Run(module, expressions.evaluate, statements.execute, calls.call, tracing=tracing)
    for path, child in module.named_modules():
        run.paths.setdefault(id(child), path)
    return run


def _interpret(run: Run, example: Any) -> Written:
    """Interpret the module on its inputs, and return the function that is the entry."""
    module = run.module
    tree = ast.parse(f"def call(): return {type(module).__name__}").body[0]
    assert isinstance(tree, ast.FunctionDef)
    top = Scope(run, Source(tree, "", {}, frozenset(), _nothing), {})
    run.scopes.append(top)
    root = Module(module, syntax.name("p"))
    named = isinstance(example, Mapping)
    names = list(example) if named else [f"x{n}" for n in range(len(example))]
    values = [
        _input(name, x, top)
        for name, x in zip(names, example.values() if named else example, strict=True)
    ]
    args, keywords = ([], dict(zip(names, values, strict=True))) if named else (values, {})
    run.call(root, args, keywords, top, tree)
    run.stateful = top.stateful
    run.written[:] = tidied(run.written)
    entry = run.written[-1]
    entry.node.body[:0] = module_hooks.parameter_hooks(top, run.used, tree)
    _take_all(entry, module, named, names)
    return entry


def _forward(module: nn.Module) -> types.FunctionType:
    return module.forward.__func__  # pyright: ignore[reportFunctionMemberAccess, reportReturnType]


def _take_all(entry: Written, module: nn.Module, named: bool, names: list[str]) -> None:
    """Give the entry every input as a parameter, used or not, after the params."""
    parameters = list(inspect.signature(_forward(module)).parameters)[1:]
    wanted = [*map(port_name, names if named else parameters[: len(names)])]
    have = [a.arg for a in entry.node.args.args]
    entry.node.args.args = [
        ast.arg(n) for n in ["p", *wanted, *(h for h in have if h not in ("p", *wanted))]
    ]


def _nothing() -> None: ...


def _input(name: str, value: Any, scope: Scope) -> Value:
    if isinstance(value, torch.Tensor):
        return Tensor(value, syntax.name(name))
    if isinstance(value, Mapping):
        return Fields(dict, syntax.name(name), {k: _input(k, x, scope) for k, x in value.items()})
    if isinstance(value, list | tuple):
        return Items(type(value), syntax.name(name), [_input(name, x, scope) for x in value])
    return bind(name, Value(value), scope)


def _tensors(inputs: Any, module: nn.Module) -> Any:
    """Return inputs as tensors of their own; floating ones in the dtype of the module."""
    dtypes = [p.dtype for p in module.parameters() if p.is_floating_point()]
    dtype = dtypes[0] if dtypes else torch.get_default_dtype()

    def one(x: Any) -> torch.Tensor:
        tensor = torch.tensor(np.asarray(copy_to_numpy(x)))
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    return map_leaves(one, inputs)


def _doc(written: Written) -> str:
    code = written.function.__code__
    label = written.owner.__name__ if written.owner is not None else written.function.__name__
    if written.owner is not None and written.function.__name__ != "forward":
        label = f"{label}.{written.function.__name__}"
    path = pathlib.Path(code.co_filename)
    where = "/".join(path.parts[-2:])
    return f"{label} ({where}:{code.co_firstlineno})."
