"""Records of the operators in `jaxgrad/functional/nn/recurrent.py`.

The sizes of a packed batch are a tuple of numbers, because shapes depend on them. torch gets the
masks that `jax.random` draws from the key, between calls of one layer each.
"""

import jax
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from jaxgrad.parity.interop import to_torch
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.nn.recurrent_cells import SATURATED


KEY = np.array([0, 7], np.uint32)
TOLERANCE = {"float64": Tolerance(1e-11, SATURATED)}
GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}
PACKED = (3, 2, 2, 1)  # the number of sequences that reach each step


def _run(name):
    """Return torch's function with tuples for sizes of a batch, and with a key for dropout."""
    function = getattr(torch, name)

    def run(*args, key=None):
        packed = isinstance(args[3], list | tuple)
        input, *sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = (
            args if packed else args[:-1]
        )
        sizes = [torch.tensor(x) for x in sizes]
        last = () if packed else args[-1:]
        if not (key is not None and dropout and train and num_layers > 1):
            options = (has_biases, num_layers, dropout, train, bidirectional, *last)
            return function(input, *sizes, hx, params, *options)
        states = hx if isinstance(hx, list | tuple) else (hx,)
        runs, each, ends = 1 + bidirectional, len(params) // num_layers, []
        for layer in range(num_layers):
            part = tuple(s[layer * runs : (layer + 1) * runs] for s in states)
            start = part if isinstance(hx, list | tuple) else part[0]
            weights = params[layer * each : (layer + 1) * each]
            options = (has_biases, 1, 0.0, train, bidirectional, *last)
            input, *end = function(input, *sizes, start, weights, *options)
            ends.append(end)
            if layer < num_layers - 1:
                input = input * _mask(key, layer, dropout, input)
        return (input, *(torch.cat(per_layer) for per_layer in zip(*ends, strict=True)))

    return run


def _mask(key, layer, dropout, x):
    of_layer = jax.random.fold_in(np.asarray(key).astype(np.uint32), layer)
    drawn = jax.random.bernoulli(of_layer, 1 - dropout, tuple(x.shape))
    return to_torch(np.asarray(drawn)).to(x.dtype).div(1 - dropout)


def _drawn(draw, name, projected=False):
    packed, bidirectional, biased = (draw(st.booleans()) for _ in range(3))
    batch_first = not packed and draw(st.booleans())
    layers, size, width = (draw(st.integers(1, 2)) for _ in range(3))
    length, batch = (len(PACKED), PACKED[0]) if packed else (draw(st.integers(1, 3)), 2)
    out = width + 1 if projected else width
    runs = layers * (1 + bidirectional)
    params = []
    for run in range(runs):
        into = size if run < 1 + bidirectional else out * (1 + bidirectional)
        rows = GATES[name] * (width + 2 * projected)
        shapes = [(rows, into), (rows, out)] + [(rows,)] * (2 * biased)
        params += [draw(floats(s)) for s in shapes]
        params += [draw(floats((out, width + 2)))] if projected else []
    widths = (out, width + 2 * projected)[: 2 if name == "lstm" else 1]
    states = tuple(draw(floats((runs, batch, w))) for w in widths)
    shape = (batch, length, size) if batch_first else (length, batch, size)
    sequence = [draw(floats((sum(PACKED), size))), PACKED] if packed else [draw(floats(shape))]
    dropout = draw(st.sampled_from([0.0, 0.5])) if layers > 1 and not packed else 0.0
    options = [biased, layers, dropout, True, bidirectional]
    options += [] if packed else [batch_first]
    hx = states if name == "lstm" else states[0]
    # Without batch_first the masks of torch's and JAX's layers have the same shape.
    key = {"key": KEY} if dropout and not batch_first else {}
    options[2] = dropout if key else 0.0
    return call(*sequence, hx, params, *options, **key)


X, H = np.ones((2, 2, 1)), np.ones((1, 2, 1))
OPTIONS = (False, 1, 0.0, False, False, False)


def _dropped(name):
    """Return a call of two layers with dropout between them."""
    weights = [np.full((GATES[name] * 2, 2), x) for x in (0.5, -0.25, 0.75, 1.0)]
    hx = np.ones((2, 1, 2))
    hx = (hx, hx) if name == "lstm" else hx
    return call(np.ones((3, 1, 2)), hx, weights, False, 2, 0.5, True, False, False, key=KEY)


def _raises(rows, both=False):
    """Return calls with a missing weight, a state of another batch, and an empty sequence."""
    w = np.ones((rows, 1))
    hx = (H, H) if both else H
    other = np.ones((1, 3, 1))
    wrong = (other, other) if both else other
    return [
        RaisesFor(call(X, hx, [w], *OPTIONS), RuntimeError, jax="cells with 2 weights each"),
        RaisesFor(call(X, wrong, [w, w], *OPTIONS), RuntimeError, jax="must have the shape"),
        RaisesFor(call(X[:0], hx, [w, w], *OPTIONS), RuntimeError, "sequence length"),
    ]


def _record(name, **fields):
    """Return the record of a recurrent layer."""
    points, raises = [_dropped(name)], _raises(GATES[name], both=name == "lstm")
    return operator(name, torch=_run(name), points=points, raises=raises, **fields)


@_record("rnn_tanh", max_programs=4, tolerance=TOLERANCE)
def rnn_tanh(draw):
    return _drawn(draw, "rnn_tanh")


@_record("rnn_relu", max_programs=4)
def rnn_relu(draw):
    return _drawn(draw, "rnn_relu")


@_record("gru", max_programs=4, tolerance=TOLERANCE)
def gru(draw):
    return _drawn(draw, "gru")


@_record("lstm", max_programs=6, tolerance=TOLERANCE)
def lstm(draw):
    return _drawn(draw, "lstm", projected=draw(st.booleans()))
