"""Each mistake in one step of a recurrent layer computes its formula."""

from typing import Any

import pytest
import torch

from jaxgrad.parity.prove.causes.mistakes import cells
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import texts, tried


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def cell_inputs(gates: int) -> Any:
    """Return an input, a state, both weights and both biases of a cell with two units."""
    torch.manual_seed(1)
    h = random(2, 2)
    state = (h, random(2, 2)) if gates == 4 else (h,)
    return random(2, 3), state, random(2 * gates, 3), random(2 * gates, 2), *random(2, 2 * gates)


def gru_cells(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any) -> dict[str, Any]:
    """Return the new states of GRU cells with a mistake, by a word of the mistake."""
    (h,) = state
    ir, iz, i_n = (x @ wi.T + bi).chunk(3, -1)
    hr, hz, hn = (h @ wh.T + bh).chunk(3, -1)
    r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
    un, bn = wh.chunk(3)[2], bh.chunk(3)[2]
    n = torch.tanh(i_n + r * hn)

    def mix(n: Any, z: Any = z) -> Any:
        return (1 - z) * n + z * h

    return {
        "multiplies the state": mix(torch.tanh(i_n + (r * h) @ un.T + bn)),
        "inverted": mix(n, 1 - z),
        "outside": mix(torch.tanh(i_n + bn + r * (h @ un.T))),
        "missing": mix(torch.tanh(i_n + r * (h @ un.T))),
    }


def lstm_cells(x: Any, state: Any, wi: Any, wh: Any, bi: Any, bh: Any) -> dict[str, Any]:
    """Return the new hidden states of LSTM cells with a mistake, by a word of the mistake."""
    h, c = state
    i, f, g, o = (x @ wi.T + bi + h @ wh.T + bh).chunk(4, -1)
    s, t = torch.sigmoid, torch.tanh
    usual = s(f) * c + s(i) * t(g)
    return {
        "1 is added": s(o) * t(s(f + 1) * c + s(i) * t(g)),
        "uses sigmoid": s(o) * t(s(f) * c + s(i) * s(g)),
        "not squashed": s(o) * usual,
    }


@pytest.mark.parametrize(
    ("kind", "gates", "formulas"), [("gru", 3, gru_cells), ("lstm", 4, lstm_cells)]
)
def test_each_wrong_cell_computes_its_formula(kind, gates, formulas):
    """The new state of each wrong cell is that of a formula written by hand."""
    inputs = cell_inputs(gates)
    expected = formulas(*inputs)
    wrong = cells.WRONG_CELLS[kind]

    assert len(wrong) == len(expected)
    for difference, cell in wrong.items():
        text = difference.says("torch")
        (word,) = [w for w in expected if w in text]
        new = cell(*inputs, lambda part: None)[0]
        torch.testing.assert_close(new, expected[word], rtol=1e-12, atol=1e-14, msg=text)


FUNCTIONS = {
    "gru": torch.gru_cell, "lstm": torch.lstm_cell, "rnn_tanh": torch.rnn_tanh_cell,
    "rnn_relu": torch.rnn_relu_cell,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "gates", "formulas"), [("gru", 3, gru_cells), ("lstm", 4, lstm_cells)]
)
def test_each_mistake_in_a_step_is_a_call_of_torchs_function(kind, gates, formulas):
    """The result of a wrong step has the structure of torch's result."""
    x, state, *weights = cell_inputs(gates)
    given = list(state) if kind == "lstm" else state[0]
    calls = tried(cells.mistakes, FUNCTIONS[kind], x, given, *weights)
    expected = formulas(x, state, *weights)

    formed = [call for call in calls if call.mistake in cell_texts(kind)]
    assert len(formed) == len(expected)
    for call in formed:
        (word,) = [w for w in expected if w in call.mistake]
        result = call.result[0] if kind == "lstm" else call.result
        torch.testing.assert_close(result, expected[word], rtol=1e-12, atol=1e-14)


def cell_texts(kind: str) -> list[str]:
    return [text.at("").says("torch") for text in cells.WRONG_CELLS[kind]]


@pytest.mark.parametrize(("kind", "gates"), [("gru", 3), ("lstm", 4), ("rnn_tanh", 1)])
def test_the_gates_are_permuted_and_the_biases_left_out(kind, gates):
    """The text states the order of the gates, and a step without biases lacks none."""
    x, state, wi, wh, bi, bh = cell_inputs(gates)
    given = list(state) if kind == "lstm" else state[0]
    func = FUNCTIONS[kind]
    calls = {c.mistake: c for c in tried(cells.mistakes, func, x, given, wi, wh, bi, bh)}

    for name, biases in (("bias_ih", (0 * bi, bh)), ("bias_hh", (bi, 0 * bh))):
        wrong, right = calls[f"{name} is missing"].result, func(x, given, wi, wh, *biases)
        torch.testing.assert_close(wrong, right)
    orders = [text for text in calls if text.startswith("the gates are ordered")]
    assert len(orders) == {1: 0, 3: 5, 4: 23}[gates]
    if kind == "gru":
        text = "the gates are ordered update, reset, new; torch's order is reset, update, new"
        swapped = [cells.permuted(w, (1, 0, 2)) for w in (wi, wh, bi, bh)]
        torch.testing.assert_close(calls[text].result, func(x, given, *swapped))
        text = text.replace("the gates", "the gates in weight_hh and bias_hh")
        turned = [wi, swapped[1], bi, swapped[3]]
        torch.testing.assert_close(calls[text].result, func(x, given, *turned))
    bare = texts(tried(cells.mistakes, func, x, given, wi, wh))
    assert not [text for text in bare if text.startswith("bias_")]
