"""The entry point `port`: write the JAX port of a torch module, and prove it."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import pathlib
import types
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import torch
from torch import nn

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import map_leaves, to_numpy
from jaxgrad.parity.port import calls, draws, expressions, module_hooks, statements, syntax
from jaxgrad.parity.port.binding import bind
from jaxgrad.parity.port.merging import merged
from jaxgrad.parity.port.naming import named
from jaxgrad.parity.port.params import Layout
from jaxgrad.parity.port.ported import Ported
from jaxgrad.parity.port.refusals import PortError
from jaxgrad.parity.port.scope import Run, Scope, Written, port_name
from jaxgrad.parity.port.source import Source
from jaxgrad.parity.port.ties import tie
from jaxgrad.parity.port.values import Fields, Items, Module, Tensor, Value
from jaxgrad.parity.port.writer import write_file
from jaxgrad.parity.prove.prove import prove as prove_port
from jaxgrad.parity.prove.torch_side.borrowed import Borrowed


def port(
    module: nn.Module,
    inputs: PyTree,
    *,
    also: Sequence[PyTree] = (),
    prove: bool = True,
    seed: int = 0,
) -> Ported:
    """Write the JAX port of a torch module as readable source, and prove its gradients.

    The forward pass runs once on the example inputs, and each statement is written as it runs:
    what depends on the configuration is folded, what depends on sizes and tensors stays code.

    Args:
        module: A `torch.nn.Module`, in the mode (train or eval) to port.
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
    run = _run(module)
    example = _tensors(inputs, module)
    borrowed = Borrowed(module)  # a run in train mode changes buffers and draws numbers
    try:
        with borrowed.in_dtype(None):
            entry = _interpret(run, example)
    finally:
        borrowed.give_back()
    layout = Layout(module, frozenset(run.used), dict(run.constants))
    tie(entry, layout.ties())
    functions = named(merged(run.written))
    functions = [dataclasses.replace(w, doc=_doc(w)) for w in functions]
    title = f"The JAX port of torch's {type(module).__name__}, written by jaxgrad.port."
    source = write_file(title, functions[::-1], run.assumptions)
    draws_numbers = any(a.arg == draws.RNG for a in entry.node.args.args)
    ported = Ported(source, entry.name, tuple(run.assumptions), layout, draws_numbers, run.stateful)
    if not prove:
        return ported
    fn = ported.fn
    if ported.draws:
        fn = functools.partial(fn, rng=jax.random.key(seed))
    report = prove_port(
        module, fn, ported.params(module.state_dict()), to_numpy(inputs),
        also=[to_numpy(x) for x in also], weights=ported.params, trainable=ported.trainable,
        seed=seed, has_state=ported.has_state,
    )  # fmt: skip
    ported = dataclasses.replace(ported, report=report)
    if report.verdict != "pass":
        raise PortError(f"the port of {type(module).__name__} is not proved:\n{report}")
    return ported


def _run(module: nn.Module) -> Run:
    run = Run(module, expressions.evaluate, statements.execute, calls.call)
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
