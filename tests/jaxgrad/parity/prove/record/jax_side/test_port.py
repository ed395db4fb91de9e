"""The port runs as a whole or one equation at a time, with the same numbers."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity.prove.align.fingerprint import print_distance
from jaxgrad.parity.prove.record.adapters import float64_on_cpu
from jaxgrad.parity.prove.record.jax_side import port as ports
from jaxgrad.parity.prove.record.jax_side import program as programs
from jaxgrad.parity.prove.record.jax_side.port import Draw, Port
from jaxgrad.parity.prove.record.jax_side.program import Spot
from jaxgrad.parity.prove.weights.map import WeightMap


def chain(w, x):
    """A program without loops."""
    return jnp.tanh(x @ w).sum(0)


def loop(w, x):
    """A program with a loop."""
    return lax.scan(lambda h, _: (jnp.tanh(h @ w), h), x, None, length=3)[0]


W, X = np.eye(3) + 0.1, np.linspace(-1.0, 1.0, 6).reshape(2, 3)


def port_of(fun) -> Port:
    program = programs.program(fun, W, (X,))
    return Port(program, WeightMap((), (W,), {}, ("w",)), False, False, 0)


@pytest.mark.parametrize("fun", [chain, loop])
def test_a_large_port_has_the_fingerprints_of_a_small_one(fun, monkeypatch) -> None:
    """A port whose values are too large to be kept gives equal fingerprints and values."""
    small = port_of(fun)
    watched = small.watch(Draw({}, (X,)))
    monkeypatch.setattr(ports, "_KEPT", 0)
    large = port_of(fun)
    again = large.watch(Draw({}, (X,)))

    assert small._compiles and large._compiles == (fun is loop)
    assert watched.prints.keys() == again.prints.keys()
    for key, expected in watched.prints.items():
        assert np.max(print_distance(expected, again.prints[key])) < 1e-13
    np.testing.assert_allclose(watched.outputs[0], again.outputs[0], rtol=1e-13)
    path, output = next(k for k in watched.prints if len(k[0]) == 1)
    spot = Spot(path, output)
    values = [p.value(Draw({}, (X,)), spot) for p in (small, large)]
    np.testing.assert_allclose(*values, rtol=1e-13)


@pytest.mark.parametrize("kept", [0, 250_000_000])
def test_a_scaled_value_changes_the_outputs(kept, monkeypatch) -> None:
    """Scaling the result of tanh by two doubles the output of a sum, at either size."""
    monkeypatch.setattr(ports, "_KEPT", kept)
    port, draw = port_of(chain), Draw({}, (X,))
    equations = port.program.equations.items()
    path = next(p for p, e in equations if e.primitive.name == "tanh")
    (plain,), (scaled,) = port.outputs(draw, {}), port.outputs(draw, {(path, 0): np.float64(2)})

    np.testing.assert_allclose(scaled, 2 * plain, rtol=1e-13)


@pytest.mark.parametrize(
    ("x", "rounded"),
    [
        (np.array([0.1, 0.2], np.float32).astype(float), True),
        (np.array([0.1, 0.2]), False),
        (np.array([0.5, 1.0]), False),  # exact in few bits
        (np.array([0.5, np.float32(0.1)]), True),
        (np.array([np.inf, np.float32(0.1)]), True),
        (np.array([np.inf]), False),
        (np.array([1e9, 3.0]), False),  # such as a mask
        (np.array([np.float32(4096.7), -1e38]), False),
        (np.array([np.float32(2047.9)]), True),
        (np.array([2.0**-12, 3.0]), False),
        (np.array([2.0**-13, 3.0]), True),
        (np.array([]), False),
    ],
)
def test_rounded_numbers_are_recognised(x, rounded):
    """A float32 number with a long fraction was rounded; short and huge ones were not."""
    assert ports.is_rounded(x) is rounded


def test_cotangents_are_equal_for_both_frameworks():
    """A cotangent depends on the seed, the size and the number of outputs, not on the shape."""
    x = ports.cotangent(0, 1, np.zeros((2, 3)), 0)
    assert x.shape == (2, 3) and np.array_equal(x.ravel(), ports.cotangent(0, 1, np.zeros(6), 1))
    assert not np.array_equal(x, ports.cotangent(1, 1, np.zeros((2, 3)), 0))
    assert not np.array_equal(x, ports.cotangent(0, 2, np.zeros((2, 3)), 0))


@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_cotangent_of_one_number_is_one_on_the_given_inputs(shape):
    """With redrawn weights it is random, so that a rule that ignores its cotangent is found."""
    x = np.zeros(shape)
    assert np.array_equal(ports.cotangent(0, 1, x, 0), np.ones(shape))
    assert not np.array_equal(ports.cotangent(0, 1, x, 1), np.ones(shape))
    assert not np.array_equal(ports.cotangent(0, 2, x, 0), np.ones(shape))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight
        self.register_buffer("table", torch.tensor([0.1, 0.2]), persistent=False)
        self.frozen = nn.Parameter(torch.tensor([0.3]), requires_grad=False)
        self.register_buffer("count", torch.tensor(3))


def test_the_state_of_a_module_names_tied_weights_once():
    """Tied keys of the state_dict share a name, and buffers outside of it have one too."""
    module = Tied()
    state = ports.state_of(module)
    assert sorted(state) == ["a.weight", "count", "frozen", "table"]
    assert ports.names_of(module)["b.weight"] == "a.weight"
    assert "table" not in ports.names_of(module)


def test_weights_are_loaded_in_place():
    """Writable, read-only and integer arrays are copied into the module."""
    module: Any = Tied().double()
    read_only = np.asarray([[1.0, 2.0], [3.0, 4.0]])
    read_only.setflags(write=False)
    values: Any = {"a.weight": read_only, "frozen": np.array(7.0), "count": np.array(5),
                   "table": np.arange(4.0)[::2]}  # fmt: skip
    ports.load(module, values)
    assert module.b.weight.tolist() == read_only.tolist() and module.frozen.item() == 7
    assert module.count.item() == 5 and module.table.tolist() == [0.0, 2.0]


def test_an_objective_is_the_loss_or_a_product():
    """The real part of <outputs, cotangents> is summed; a loss stands alone."""
    port = port_of(chain)
    x = np.array([1.0 + 2j, 3.0])
    assert port.objective([x], [np.array([2.0, 1j])]) == 2.0
    assert port.objective([x], [None]) == 0
    assert dataclasses.replace(port, has_loss=True).objective([x[:1]], [None]) == 1


def test_only_floating_outputs_have_cotangents():
    """An integer output has none, and the loss is not counted as an output."""
    program = programs.program(lambda w, x: (x @ w, x.astype(int)), W, (X,))
    port = Port(program, WeightMap((), (W,), {}, ("w",)), False, False, 3)
    first, second = port.cotangents(Draw({}, (X,)))
    assert first is not None and second is None
    assert np.array_equal(first, ports.cotangent(3, 2, np.zeros((2, 3)), 0))
    program = programs.program(lambda w, x: x @ w, W, (X,), loss=lambda out: out.sum())
    port = Port(program, WeightMap((), (W,), {}, ("w",)), True, False, 3)
    only, *_ = port.cotangents(Draw({}, (X,)))
    assert only is not None
    assert np.array_equal(only, ports.cotangent(3, 1, np.zeros((2, 3)), 0))


def test_gradients_follow_scales_and_leaves():
    """A scaled cotangent changes the gradient alone; a scaled value the outputs too."""
    port, draw = port_of(lambda w, x: jnp.sin(x) + 0 * w[0, 0]), Draw({}, (X,))
    path = next(p for p, e in port.program.equations.items() if e.primitive.name == "sin")
    key, g = (path, 0), np.asarray(port.cotangents(Draw({}, (X,)))[0])
    plain: Any = port.gradients(draw, [key])
    np.testing.assert_allclose(plain.leaves[1], g * np.cos(X), rtol=1e-12)
    np.testing.assert_allclose(plain.cotangents[key], g, rtol=1e-12)
    doubled: Any = port.gradients(draw, cotangent_scales={key: 2.0})
    np.testing.assert_allclose(doubled.leaves[1], 2 * plain.leaves[1], rtol=1e-12)
    np.testing.assert_allclose(doubled.outputs[0], plain.outputs[0], rtol=1e-12)
    scaled: Any = port.gradients(draw, scales={key: 2.0}, leaves=[W, 2 * X])
    np.testing.assert_allclose(scaled.outputs[0], 2 * np.sin(2 * X), rtol=1e-12)

    np.testing.assert_allclose(scaled.leaves[1], 2 * g * np.cos(2 * X), rtol=1e-12)


@pytest.mark.parametrize(("spare", "keeps"), [(0, True), (-1, False)])
def test_values_are_kept_if_all_together_fit(monkeypatch, spare, keeps):
    """Each number takes 8 bytes, in every iteration of a loop."""
    body = 2 * 3 * 2  # the product and its tanh in one iteration
    monkeypatch.setattr(ports, "_KEPT", 8 * (3 * body + 2 * 3 + 3 * 2 * 3) + spare)
    assert port_of(loop)._keeps is keeps


def test_a_leaf_that_no_output_depends_on_has_no_gradient():
    """An integer has none either, and a complex gradient is torch's, the conjugate of JAX's."""
    program = programs.program(lambda w, x, n: (x * 1j).imag + n, W, (X, np.arange(3)))
    port = Port(program, WeightMap((), (W,), {}, ("w",)), False, False, 0)
    grads: Any = port.gradients(Draw({}, (X, np.arange(3)))).leaves
    assert grads[0] is None and grads[2] is None
    np.testing.assert_allclose(grads[1], np.asarray(port.cotangents(Draw({}, (X,)))[0]))

    z = X + 1j
    program = programs.program(lambda w, z: z * 1j, W, (z,))
    port = Port(program, WeightMap((), (W,), {}, ("w",)), False, False, 0)
    grads = port.gradients(Draw({}, (z,))).leaves
    np.testing.assert_allclose(grads[1], np.asarray(port.cotangents(Draw({}, (X,)))[0]) * -1j)


@pytest.mark.parametrize("fun", [chain, loop])
def test_rounding_errors_of_the_port_can_be_measured(fun):
    """Outputs and gradients change a little if every result is rounded to one bit less."""
    with float64_on_cpu():
        port, draw = port_of(fun), Draw({}, (X + np.pi,))
        exact, near = port.gradients(draw), port.gradients(draw, rounds=True)
        (rounded,) = port.rounded_outputs(draw)

    for x, y in [(exact.outputs[0], rounded), *zip(exact.leaves, near.leaves, strict=True)]:
        assert x is not None and y is not None
        assert 0 < np.max(np.abs(x - y)) < 1e-14 * np.max(np.abs(x))
