"""Write nn.RNN, nn.GRU and nn.LSTM as scans over torch's cells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from jaxgrad.parity.port import draws, functions, syntax
from jaxgrad.parity.port.scope import Scope
from jaxgrad.parity.port.values import (
    Folded,
    Items,
    Module,
    Tensor,
    Value,
    code_of,
    lift,
    real_of,
)


_CELLS = {
    "RNN_TANH": "F.rnn_tanh_cell",
    "RNN_RELU": "F.rnn_relu_cell",
    "GRU": "F.gru_cell",
    "LSTM": "F.lstm_cell",
}


def call(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret the call of a recurrent module.

    Raises:
        PortError: The input is packed or has no batch, or the module projects its state.
    """
    real: nn.RNNBase = module.real
    given = dict(zip(("input", "hx"), args, strict=False)) | keywords
    source, start = given["input"], given.get("hx", Folded(None))
    name = type(real).__name__
    if not isinstance(source, Tensor):
        raise scope.refuse(f"a packed sequence in {name}; pass a padded one and mask it", node)
    if source.real.ndim != 3 or real.proj_size:
        raise scope.refuse(f"{name} without a batch or with a projection is not ported", node)
    result = real(source.real, real_of(start))
    drops = bool(real.dropout and real.training and real.num_layers > 1)
    has_start = start.real is not None
    lines = [*_body(real, has_start, drops)]
    parameters = ["p", "x", *(["start"] if has_start else []), *([draws.RNG] if drops else [])]
    tree = ast.parse("\n".join(["def _():", *("    " + line for line in lines)])).body[0]
    assert isinstance(tree, ast.FunctionDef)
    draws.mark_splits(tree.body)
    written = functions.add(
        type(real).forward, type(real), parameters, tree.body, scope.run, module.path
    )
    passed = [code_of(module), code_of(source)]
    passed += [code_of(start)] if has_start else []
    passed += [draws.key(written.name)] if drops else []
    code = syntax.call_written(written.name, *passed)
    for path, _ in real.named_parameters():
        scope.run.used.add(f"{module.path}.{path}" if module.path else path)
    out, final = result
    if not isinstance(final, tuple):
        return lift((out, final), code)
    parts = [lift(out, syntax.item(code, 0)), lift(final, syntax.item(code, 1))]
    return Items(tuple, code, parts)


def _body(module: nn.RNNBase, has_start: bool, drops: bool) -> Iterator[str]:
    """Yield the lines of the function: a scan for each layer and direction."""
    is_lstm = module.mode == "LSTM"
    if module.batch_first:
        yield "x = x.swapaxes(0, 1)"
    directions = ("", "_reverse") if module.bidirectional else ("",)
    suffixes = [f"l{n}{d}" for n in range(module.num_layers) for d in directions]
    if not has_start:
        size = f"({len(suffixes)}, x.shape[1], {module.hidden_size})"
        zeros = f"jnp.zeros({size}, x.dtype)"
        yield f"start = {zeros}, {zeros}" if is_lstm else f"start = {zeros}"
    for number, suffix in enumerate(suffixes):
        if number % len(directions) == 0 and number and drops:
            yield f"{draws.RNG}, dropout_{draws.RNG} = jax.random.split({draws.RNG})"
            yield f"x = F.dropout(x, {module.dropout}, key=dropout_{draws.RNG})"
        yield from _layer(module, number, suffix)
        if module.bidirectional and suffix.endswith("_reverse"):
            forward = suffix.removesuffix("_reverse")
            yield f"x = jnp.concatenate([out_{forward}, out_{suffix}], axis=-1)"
        elif not module.bidirectional:
            yield f"x = out_{suffix}"
    if module.batch_first:
        yield "x = x.swapaxes(0, 1)"
    ends = ", ".join(f"end_{s}" for s in suffixes)
    if not is_lstm:
        yield f"return x, jnp.stack([{ends}])"
        return
    yield (
        f"hidden, cell = zip({ends})" if len(suffixes) > 1 else f"hidden, cell = end_{suffixes[0]}"
    )
    if len(suffixes) > 1:
        yield "return x, (jnp.stack(hidden), jnp.stack(cell))"
    else:
        yield "return x, (hidden[None], cell[None])"


def _layer(module: nn.RNNBase, number: int, suffix: str) -> Iterator[str]:
    names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if module.bias else [])]
    weights = ", ".join(f'p["{n}_{suffix}"]' for n in names)
    start = (
        f"(start[0][{number}], start[1][{number}])" if module.mode == "LSTM" else f"start[{number}]"
    )
    reverse = ", reverse=True" if suffix.endswith("_reverse") else ""
    yield f"def step_{suffix}(state, x):"
    yield f"    state = {_CELLS[module.mode]}(x, state, {weights})"
    yield f"    return state, {'state[0]' if module.mode == 'LSTM' else 'state'}"
    yield f"end_{suffix}, out_{suffix} = lax.scan(step_{suffix}, {start}, x{reverse})"
