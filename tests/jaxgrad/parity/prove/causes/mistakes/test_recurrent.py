"""Recurrent layers as loops compute what torch computes, and their mistakes are told apart."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.causes.mistakes import cells, recurrent
from jaxgrad.parity.prove.causes.mistakes.call import TorchCall
from jaxgrad.parity.prove.causes.mistakes.recurrent import Layers
from jaxgrad.parity.prove.causes.mistakes.table import results


def call(
    kind: str, *, bias: bool = True, layers: int = 2, bidirectional: bool = False
) -> TorchCall:
    """Return a call of a recurrent function, batch first."""
    torch.manual_seed(0)
    name = {"gru": "GRU", "lstm": "LSTM"}.get(kind, "RNN")
    options: dict[str, Any] = {"nonlinearity": kind[4:]} if name == "RNN" else {}
    layer = getattr(nn, name)(
        3, 4, layers, bias=bias, bidirectional=bidirectional, **options
    ).double()
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    h = torch.zeros(layers * (1 + bidirectional), 2, 4, dtype=torch.float64)
    weights = [w.detach() for w in layer._flat_weights]
    state = (h, h) if kind == "lstm" else h
    func = getattr(torch, kind)
    args = (x, state, weights, bias, layers, 0.0, False, bidirectional, True)
    return TorchCall(func, args, {}, kind)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", recurrent.GATES)
def test_the_loop_computes_what_torch_computes(kind, bias, bidirectional):
    """Outputs and final states equal torch's with and without biases, in one or two directions."""
    torch_call = call(kind, bias=bias, bidirectional=bidirectional)
    given = Layers.of(torch_call)
    assert given is not None
    for x, y in zip(recurrent.unrolled(kind, given), torch_call.result, strict=True):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), rtol=0, atol=1e-14)


def test_mistakes_in_the_second_direction_are_named():
    """A direction that is not reversed, whose outputs stay reversed or come first is named."""
    torch_call = call("gru", layers=1, bidirectional=True)
    named = {wrong.mistake: (wrong, x) for wrong, x in results(torch_call)}
    right = to_numpy(torch_call.result[0])

    _, x = named["the outputs of the backward direction come first"]
    np.testing.assert_allclose(x, np.roll(right, 4, -1))
    _, x = named["the outputs of the backward direction stay in reversed order"]
    np.testing.assert_allclose(x[..., :4], right[..., :4])
    np.testing.assert_allclose(x[:, ::-1, 4:], right[..., 4:])
    wrong, x = named["the backward direction reads the sequence forwards"]
    assert not wrong.reorders
    np.testing.assert_allclose(x[..., :4], right[..., :4])
    assert not np.allclose(np.sort(x, 1), np.sort(right, 1))


def test_the_values_inside_are_labelled():
    """Each gate is labelled with its layer and step before it is computed."""
    given = Layers.of(call("gru"))
    labels: list[str] = []
    assert given is not None
    recurrent.unrolled("gru", given, labels.append)

    assert labels[2] == "the reset gate of layer 0 at step 0"
    assert labels[-1] == "the state of layer 1 at step 4"


@pytest.mark.parametrize(
    ("kind", "order", "text"),
    [
        ("gru", (1, 0, 2), "the gates of layer 1 are ordered update, reset, new; "),
        ("lstm", (0, 1, 3, 2), "the gates of layer 1 are ordered input, forget, output, cell; "),
    ],
)
def test_permuted_gates_are_named(kind, order, text):
    """Gates in another order in one layer are named with that layer and torch's order."""
    torch_call = call(kind)
    x, state, weights, *rest = torch_call.args
    permuted = [
        w if i < 4 else torch.cat([w.chunk(len(order))[k] for k in order])
        for i, w in enumerate(weights)
    ]
    expected = to_numpy(torch_call.func(x, state, permuted, *rest)[0])
    texts = [w.mistake for w, y in results(torch_call) if np.allclose(y, expected, 0, 1e-12)]

    assert len(texts) == 1
    assert texts[0].startswith(text)


@pytest.mark.parametrize(
    ("kind", "chosen", "order", "text"),
    [
        ("gru", (0, 2), (1, 0, 2), "the gates in weight_ih and bias_ih of layer 0 are ordered "
         "update, reset, new; torch's order is reset, update, new"),
        ("lstm", (5, 7), (0, 1, 3, 2), "the gates in weight_hh and bias_hh of layer 1 are ordered "
         "input, forget, output, cell; torch's order is input, forget, cell, output"),
    ],
)  # fmt: skip
def test_gates_that_are_exchanged_in_one_product_are_named(kind, chosen, order, text):
    """A port may split the input's product in another order than the state's."""
    torch_call = call(kind)
    x, state, weights, *rest = torch_call.args
    permuted = [cells.permuted(w, order) if i in chosen else w for i, w in enumerate(weights)]
    expected = to_numpy(torch_call.func(x, state, permuted, *rest)[0])
    texts = [w.mistake for w, y in results(torch_call) if np.allclose(y, expected, 0, 1e-12)]

    assert texts == [text]


def test_a_transposed_gate_is_named():
    """A square weight of one gate that is transposed is named with its gate and layer."""
    torch_call = call("gru")
    x, state, weights, *rest = torch_call.args
    parts = list(weights[5].chunk(3))
    turned = [torch.cat([*parts[:2], parts[2].T]) if i == 5 else w for i, w in enumerate(weights)]
    expected = to_numpy(torch_call.func(x, state, turned, *rest)[0])
    texts = [w.mistake for w, y in results(torch_call) if np.allclose(y, expected, 0, 1e-12)]

    assert texts == ["weight_hh of the new gate of layer 1 is transposed"]


def test_other_lstm_cells_are_named():
    """A sigmoid in place of a tanh, a missing tanh and a forget bias give different outputs."""
    texts = {w.mistake: y for w, y in results(call("lstm")) if "layer" not in w.mistake}
    names = ("the cell gate uses sigmoid", "the cell state is not squashed", "1 is added to the")
    outputs = [next(y for text, y in texts.items() if text.startswith(name)) for name in names]

    outputs.append(to_numpy(call("lstm").result[0]))
    assert min(np.abs(x - y).max() for i, x in enumerate(outputs) for y in outputs[:i]) > 1e-4


def test_other_cells_are_named():
    """Cho's reset gate, a bias outside the gate and an inverted gate differ from torch's cell."""
    texts = {wrong.mistake: y for wrong, y in results(call("gru")) if "layer 0" in wrong.mistake}
    names = (
        "the reset gate of layer 0 multiplies the state before its weight",
        "the update gate of layer 0 is inverted",
        "the new gate's bias_hh of layer 0 is outside the reset gate",
    )
    outputs = [next(y for text, y in texts.items() if text.startswith(name)) for name in names]

    outputs.append(to_numpy(call("gru").result[0]))
    distances = [np.abs(x - y).max() for i, x in enumerate(outputs) for y in outputs[:i]]
    assert min(distances) > 1e-4


@pytest.mark.parametrize("kind", ["gru", "lstm", "rnn_relu"])
def test_every_mistake_in_one_layer_is_listed(kind):
    """Without further layers and directions no layer is named."""
    count = {"gru": 5 + 2 * 3, "lstm": 23 + 2 * 6, "rnn_relu": 0}[kind]
    wrong = list(recurrent.mistakes(call(kind, layers=1)))
    texts = [w.mistake for w in wrong]

    assert len(texts) == len(set(texts))
    assert sum("ordered" in text for text in texts) == count
    assert [t for t in texts if "bias_" in t and t.endswith("missing")][:2] == [
        "bias_ih is missing", "bias_hh is missing"
    ]  # fmt: skip
    gates = recurrent.GATES[kind]
    assert [t for t in texts if "transposed" in t] == [
        f"weight_hh of the {gate} gate is transposed" for gate in gates
    ]
    assert texts[-2:] == [
        "the sequence is read backwards", "the axes of batch and time are swapped"
    ]  # fmt: skip
    assert not any("layer" in text for text in texts)


def test_mistakes_of_all_layers_and_of_each_are_listed():
    """Two layers have the mistakes of both together and of each one."""
    texts = [w.mistake for w in recurrent.mistakes(call("rnn_tanh"))]

    assert [t for t in texts if t.startswith("bias_hh")] == [
        "bias_hh is missing", "bias_hh of layer 0 is missing", "bias_hh of layer 1 is missing"
    ]  # fmt: skip
    assert "weight_ih of the hidden gate of layer 1 is transposed" in texts
    assert "weight_ih of the hidden gate of layer 0 is transposed" not in texts
    assert not any("bias" in w.mistake for w in recurrent.mistakes(call("rnn_tanh", bias=False)))
    both = [w.mistake for w in recurrent.mistakes(call("rnn_tanh", layers=1, bidirectional=True))]
    assert "bias_hh of layer 0, backwards is missing" in both
    assert "bias_hh of layer 0, forwards is missing" in both


@pytest.mark.parametrize("number", [2, 3])
def test_a_missing_bias_is_zero(number):
    """Only the bias of the named layer is left out."""
    torch_call = call("gru")
    x, state, weights, *rest = torch_call.args
    for layer, where in ((0, " of layer 0"), (1, " of layer 1")):
        text = f"{('bias_ih', 'bias_hh')[number - 2]}{where} is missing"
        (wrong,) = [w for w in recurrent.mistakes(torch_call) if w.mistake == text]
        bare = [w * (i != 4 * layer + number) for i, w in enumerate(weights)]
        expected = torch_call.func(x, state, bare, *rest)[0]
        torch.testing.assert_close(wrong.result[0], expected, rtol=0, atol=0)


@pytest.mark.parametrize("batch_first", [True, False])
def test_the_sequence_is_read_in_another_order(batch_first):
    """The time axis is flipped, or exchanged with the batch, wherever it stands."""
    layer: Any = nn.GRU(3, 4, batch_first=batch_first).double()
    x, h = (
        torch.randn(2, 5, 3, dtype=torch.float64),
        torch.zeros(1, 2 if batch_first else 5, 4, dtype=torch.float64),
    )
    weights = [w.detach() for w in layer._flat_weights]
    args = (x, h, weights, True, 1, 0.0, False, False, batch_first)
    torch_call = TorchCall(torch.gru, args, {}, "gru")
    *_, backwards, swapped = recurrent.mistakes(torch_call)

    with torch.no_grad():
        expected = layer(x.flip(1 if batch_first else 0))[0]
        other = nn.GRU(3, 4, batch_first=not batch_first).double()
        other.load_state_dict(layer.state_dict())
        torch.testing.assert_close(backwards.result[0], expected)
        torch.testing.assert_close(swapped.result[0], other(x)[0])
    started = torch_call._replace(args=(x, h + 1, *args[2:]))
    assert [w.mistake for w in recurrent.mistakes(started)][-1] == "the sequence is read backwards"


def test_calls_that_are_not_padded_sequences_have_no_mistakes():
    """A packed sequence, a projection and named arguments are left as they are."""
    torch_call = call("gru")
    x, state, weights, *rest = torch_call.args
    packed = torch_call._replace(args=(x, torch.ones(5), state, weights, *rest[:-1]))
    projected = torch_call._replace(args=(x, state, [*weights, weights[0]], *rest))
    named = torch_call._replace(kwargs={"x": 1})
    short = torch_call._replace(args=torch_call.args[:-1])

    for other in (packed, projected, named, short):
        assert list(recurrent.mistakes(other)) == []


def test_a_sequence_without_a_batch_gets_one():
    """torch's module adds a batch axis before it calls the function, and removes it afterwards."""
    shapes = []

    class Spy(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            del types
            if func is torch.gru:
                shapes.append(args[0].ndim)
            return func(*args, **(kwargs or {}))

    with Spy():
        nn.GRU(3, 4)(torch.ones(5, 3))
    assert shapes == [3]
