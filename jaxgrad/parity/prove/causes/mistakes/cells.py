"""One step of a recurrent layer, and mistakes in it: the order of the gates, the biases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import Mistakes, TorchCall
from jaxgrad.parity.prove.wording import Difference, Missing, Mutual, Setting, Told


GATES = {
    "gru": ("reset", "update", "new"),
    "lstm": ("input", "forget", "cell", "output"),
    "rnn_tanh": ("hidden",),
    "rnn_relu": ("hidden",),
}
Label = Callable[[str], Any]
Cell = Callable[..., tuple[Tensor, ...]]


def permuted(w: Tensor, order: Sequence[int]) -> Tensor:
    """Return a weight with its gates in another order."""
    parts = w.chunk(len(order))
    return torch.cat([parts[k] for k in order])


def mistakes(call: TorchCall) -> Mistakes:
    """Permute the gates of one step, leave out a bias, or use another cell."""
    kind = call.op.removesuffix("_cell")
    gates = GATES[kind]
    x, state, wi, wh, *biases = call.args
    bi, bh = [*biases, None, None][:2]
    for order in list(itertools.permutations(range(len(gates))))[1:]:
        wrong = [w if w is None else permuted(w, order) for w in (wi, wh, bi, bh)]
        yield call.called(ordered(gates, order), x, state, *wrong)
    for k, name in enumerate(("ih", "hh")):
        names = f"weight_{name}" if bi is None else f"weight_{name} and bias_{name}"
        for order in exchanges(gates):
            wrong = [w if w is None or n % 2 != k else permuted(w, order)
                     for n, w in enumerate((wi, wh, bi, bh))]  # fmt: skip
            yield call.called(ordered(gates, order, f" in {names}"), x, state, *wrong)
    for name, given in (("bias_ih", (None, bh)), ("bias_hh", (bi, None))):
        if bi is not None and bh is not None:
            zeros = [torch.zeros_like(bi) if b is None else b for b in given]
            yield call.called(Missing(name), x, state, wi, wh, *zeros)
    for text, cell in WRONG_CELLS.get(kind, {}).items():
        yield call.by(text.at(""), _step(cell), x, state, wi, wh, bi, bh)


def exchanges(gates: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the orders in which two gates are in each other's place."""
    orders = itertools.permutations(range(len(gates)))
    return [o for o in orders if sum(k != n for n, k in enumerate(o)) == 2]


def ordered(gates: Sequence[str], order: Sequence[int], where: str = "") -> Told:
    """Return the difference that the gates of a layer are in another order."""
    jax, torch = (", ".join(gates[k] for k in o) for o in (order, range(len(gates))))
    clause = f"the gates{where} are ordered"
    return Told(f"{clause} {jax}; torch's order is {torch}", f"{clause} {torch}; JAX's is {jax}")


def _step(cell: Cell) -> Callable[..., Any]:
    """Return a cell with the arguments and the result of torch's function."""

    def step(x: Tensor, state: Any, wi: Tensor, wh: Tensor, bi: Any, bh: Any) -> Any:
        states = tuple(state) if isinstance(state, list | tuple) else (state,)
        zero = torch.zeros(wi.shape[:1], dtype=wi.dtype)
        b = [zero if bias is None else bias for bias in (bi, bh)]
        result = cell(x, states, wi, wh, *b, lambda _: None)
        return result if isinstance(state, list | tuple) else result[0]

    return step


def _gru(x: Tensor, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    (h,) = state
    label("the input's part")
    i = (x @ wi.T + bi).chunk(3, -1)
    label("the state's part")
    s = (h @ wh.T + bh).chunk(3, -1)
    label("the reset gate")
    r = torch.sigmoid(i[0] + s[0])
    label("the update gate")
    z = torch.sigmoid(i[1] + s[1])
    label("the new gate")
    n = torch.tanh(i[2] + r * s[2])
    label("the state")
    return ((1 - z) * n + z * h,)


def _lstm(x: Tensor, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    h, c = state
    label("the gates' sum")
    parts = (x @ wi.T + bi + h @ wh.T + bh).chunk(4, -1)
    gates = []
    for name, part in zip(GATES["lstm"], parts, strict=True):
        label(f"the {name} gate")
        gates.append(torch.tanh(part) if name == "cell" else torch.sigmoid(part))
    i, f, g, o = gates
    label("the cell state")
    c = f * c + i * g
    label("the hidden state")
    return o * torch.tanh(c), c


def _rnn(func: Any) -> Cell:
    def cell(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
        label("the state")
        return (func(x @ wi.T + bi + state[0] @ wh.T + bh),)

    return cell


def _reset_first(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    del label
    (h,) = state
    (ir, iz, n_), (ur, uz, un) = (x @ wi.T + bi).chunk(3, -1), wh.chunk(3)
    br, bz, bn = bh.chunk(3) if bh.ndim else (bh, bh, bh)
    r, z = torch.sigmoid(ir + h @ ur.T + br), torch.sigmoid(iz + h @ uz.T + bz)
    n = torch.tanh(n_ + (r * h) @ un.T + bn)
    return ((1 - z) * n + z * h,)


def _bias_outside(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    del label
    (h,) = state
    i, s = (x @ wi.T + bi + bh).chunk(3, -1), (h @ wh.T).chunk(3, -1)
    r, z = torch.sigmoid(i[0] + s[0]), torch.sigmoid(i[1] + s[1])
    n = torch.tanh(i[2] + r * s[2])
    return ((1 - z) * n + z * h,)


def _bias_dropped(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    kept = torch.cat([bh[: 2 * len(bh) // 3], torch.zeros_like(bh[2 * len(bh) // 3 :])])
    return _gru(x, state, wi, wh, bi, kept, label)


def _update_inverted(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    (h,) = state
    (new,) = _gru(x, state, wi, wh, bi, bh, label)
    z = torch.sigmoid((x @ wi.T + bi).chunk(3, -1)[1] + (h @ wh.T + bh).chunk(3, -1)[1])
    n = (new - z * h) / (1 - z)
    return (z * n + (1 - z) * h,)


def _forget_bias(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    one = torch.zeros(wi.shape[0], dtype=x.dtype)
    one[len(one) // 4 : len(one) // 2] = 1
    return _lstm(x, state, wi, wh, bi + one, bh, label)


def _cell_sigmoid(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    del label
    h, c = state
    i, f, g, o = torch.sigmoid(x @ wi.T + bi + h @ wh.T + bh).chunk(4, -1)
    c = f * c + i * g
    return o * torch.tanh(c), c


def _unsquashed(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any, label: Label) -> Any:
    h, c = _lstm(x, state, wi, wh, bi, bh, label)
    return h / torch.tanh(c) * c, c


CELLS: dict[str, Cell] = {
    "gru": _gru,
    "lstm": _lstm,
    "rnn_tanh": _rnn(torch.tanh),
    "rnn_relu": _rnn(torch.relu),
}
WRONG_CELLS: dict[str, dict[Difference, Cell]] = {
    "gru": {
        Told(
            "the reset gate{} multiplies the state before its weight; in torch it multiplies the "
            "product",
            "the reset gate{} multiplies the state's product with its weight; in JAX it "
            "multiplies the state",
        ): _reset_first,
        Told(
            "the new gate's bias_hh{} is outside the reset gate; in torch the reset gate "
            "multiplies it",
            "the reset gate multiplies the new gate's bias_hh{}; in JAX it is outside",
        ): _bias_outside,
        Missing("the new gate's bias_hh{}"): _bias_dropped,
        Mutual("the update gate{} is inverted"): _update_inverted,
    },
    "lstm": {
        Told(
            "1 is added to the forget gate{}; torch adds nothing",
            "nothing is added to the forget gate{}; JAX adds 1",
        ): _forget_bias,
        Setting("the cell gate{}", "sigmoid", "tanh", verb="uses"): _cell_sigmoid,
        Told(
            "the cell state{} is not squashed by tanh",
            "the cell state{} is squashed by tanh, JAX does not squash it",
        ): _unsquashed,
    },
    "rnn_tanh": {Setting("the activation{}", "relu", "tanh"): _rnn(torch.relu)},
    "rnn_relu": {Setting("the activation{}", "tanh", "relu"): _rnn(torch.tanh)},
}
