"""Write nn.RNN, nn.GRU and nn.LSTM as scans over torch's cells."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from torch import nn

from jaxgrad.parity.port.calls import packing
from jaxgrad.parity.port.functions import additions, functions
from jaxgrad.parity.port.modules import whole_modules
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Items, Module, Packed, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of


_CELLS = {
    "RNN_TANH": "F.rnn_tanh_cell",
    "RNN_RELU": "F.rnn_relu_cell",
    "GRU": "F.gru_cell",
    "LSTM": "F.lstm_cell",
}


def is_scan(module: Module, args: list[Value], scope: Scope) -> bool:
    """Return whether a recurrent module is written as a scan, and not as a layer of flax."""
    return any(isinstance(x, Packed) for x in args) or not whole_modules.is_layer(module, scope)


def call(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret the call of a recurrent module.

    Raises:
        PortError: The module projects its state, or the input is packed for a class of flax or for
            layers with dropout between them.
    """
    real: nn.RNNBase = module.real
    given = dict(zip(("input", "hx"), args, strict=False)) | keywords
    source, start = given["input"], given.get("hx", Folded(None))
    name = type(real).__name__
    packed = isinstance(source, Packed)
    if not isinstance(source, Tensor | Packed):
        raise scope.refuse(f"{name} of something that is not a tensor; pass a tensor", node)
    if real.proj_size:
        raise scope.refuse(
            f"{name} with a projection is not ported"
            "; write its steps with nn.LSTMCell and a linear layer",
            node,
        )
    result = real(source.real, real_of(start))
    drops = bool(real.dropout and real.training and real.num_layers > 1)
    if packed and (drops or scope.run.classes is not None):
        raise scope.refuse(
            f"a packed sequence in {name}"
            + (", with dropout between its layers" if drops else ' for style="nnx"')
            + "; pass a padded one and mask it",
            node,
        )
    has_start = start.real is not None
    has_batch = packed or source.real.ndim == 3
    lines = [*_body(real, has_start, drops, has_batch, source.batch_first if packed else None)]
    parameters = [PARAMS, "x", *(["lengths"] if packed else []), *(["start"] if has_start else [])]
    parameters += [draws.RNG] if drops else []
    body, run = draws.filled(syntax.template(lines), "dropout"), scope.run
    written = additions.add(type(real).forward, type(real), parameters, body, run, module.path)
    passed = [code_of(module), code_of(source)]
    passed += [packing.length_code(source, scope, node)] if packed else []
    passed += [code_of(start)] if has_start else []
    if drops:
        label = functions.key_label(type(real).forward, type(real), module.path)
        passed.append(draws.key(label))
    code = syntax.call_written(written.name, *passed)
    for path, _ in real.named_parameters():
        scope.run.used.add(f"{module.path}.{path}" if module.path else path)
    out, final = result
    first = syntax.item(code, 0)
    parts = [
        dataclasses.replace(source, real=out, code=first) if packed else lift(out, first),
        lift(final, syntax.item(code, 1)),
    ]
    return Items(tuple, code, parts)


def _body(
    module: nn.RNNBase, has_start: bool, drops: bool, has_batch: bool, packed: bool | None = None
) -> Iterator[str]:
    """Yield the lines of the function: a scan for each layer and direction.

    Args:
        module: The recurrent module.
        has_start: Whether the function takes the first state.
        drops: Whether there is dropout between the layers.
        has_batch: Whether the input is a batch of sequences, and not one sequence.
        packed: None, or for sequences with lengths whether the batch is their first dimension.
    """
    is_lstm = module.mode == "LSTM"
    has_lengths = packed is not None
    batch_first = packed if has_lengths else module.batch_first and has_batch
    if batch_first:
        yield "x = x.swapaxes(0, 1)"
    if has_lengths:
        yield "exists = jnp.arange(x.shape[0])[:, None] < lengths"
    directions = ("", "_reverse") if module.bidirectional else ("",)
    suffixes = [f"l{n}{d}" for n in range(module.num_layers) for d in directions]
    several = len(suffixes) > 1
    if not has_start:
        sizes = [str(len(suffixes))] if several else []
        sizes += [*(["x.shape[1]"] if has_batch else []), 'p["weight_hh_l0"].shape[-1]']
        zeros = f"jnp.zeros(({', '.join(sizes)}{',' if len(sizes) == 1 else ''}), x.dtype)"
        yield f"start = {zeros}, {zeros}" if is_lstm else f"start = {zeros}"
    yield from (_scan(module, has_lengths) if several else _step(module, 'p["{}_l0"]', has_lengths))
    for number, suffix in enumerate(suffixes):
        if number % len(directions) == 0 and number and drops:
            yield f"x = F.dropout(x, {module.dropout}, key={draws.KEY})"
        start = f"(start[0][{number}], start[1][{number}])" if is_lstm else f"start[{number}]"
        if not several:
            first = start if has_start else "start"
            yield f"last, x = lax.scan(step, {first}, {_STEPS[has_lengths]})"
            continue
        out = f"out_{suffix}" if module.bidirectional else "x"
        reverse = ", reverse=True" if suffix.endswith("_reverse") else ""
        yield f'end_{suffix}, {out} = scan("{suffix}", {start}, x{reverse})'
        if reverse:
            yield f"x = jnp.concatenate([out_l{number // 2}, out_{suffix}], axis=-1)"
    if batch_first:
        yield "x = x.swapaxes(0, 1)"
    ends = ", ".join(f"end_{s}" for s in suffixes)
    if not is_lstm:
        yield f"return x, jnp.stack([{ends}])" if several else "return x, last[None]"
        return
    yield f"hidden, cell = zip({ends})" if several else "hidden, cell = last"
    if several:
        yield "return x, (jnp.stack(hidden), jnp.stack(cell))"
    else:
        yield "return x, (hidden[None], cell[None])"


def _names(module: nn.RNNBase) -> list[str]:
    return ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if module.bias else [])]


_STEPS = {False: "x", True: "(x, exists)"}  # what a scan goes along


def _scan(module: nn.RNNBase, has_lengths: bool) -> Iterator[str]:
    """Yield the function that runs one layer in one direction."""
    options = ", reverse=False" if module.bidirectional else ""
    names = ", ".join(f'"{name}_"' for name in _names(module))
    yield f"def scan(suffix, state, x{options}):"
    yield f"    weights = [p[name + suffix] for name in ({names})]"
    yield from (f"    {line}" for line in _step(module, "*weights", has_lengths))
    reverse = ", reverse=reverse" if options else ""
    yield f"    return lax.scan(step, state, {_STEPS[has_lengths]}{reverse})"


def _step(module: nn.RNNBase, weight: str, has_lengths: bool) -> Iterator[str]:
    """Yield the function of one time step; `weight` is the code of a weight of a given name."""
    weights = ", ".join(dict.fromkeys(weight.format(name) for name in _names(module)))
    cell = f"{_CELLS[module.mode]}(x_t, state, {weights})"
    if has_lengths:
        yield "def step(state, inputs):"
        yield "    x_t, exists = inputs"
        yield f"    new = {cell}"
        kept = "jnp.where(exists[:, None], {}, {})"  # after its end, a sequence keeps its state
        if module.mode == "LSTM":
            both = f"lambda n, s: {kept.format('n', 's')}"
            yield f"    state = jax.tree.map({both}, new, state)"
        else:
            yield f"    state = {kept.format('new', 'state')}"
    else:
        yield "def step(state, x_t):"
        yield f"    state = {cell}"
    yield f"    return state, {'state[0]' if module.mode == 'LSTM' else 'state'}"
