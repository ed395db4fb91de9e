"""The port runs as a whole or one equation at a time, with the same numbers."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad.parity.prove.align.fingerprint import print_distance
from jaxgrad.parity.prove.jax_side import port as ports
from jaxgrad.parity.prove.jax_side import program as programs
from jaxgrad.parity.prove.jax_side.port import Draw, Port
from jaxgrad.parity.prove.jax_side.program import Spot
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


@pytest.mark.parametrize("kept", [0, 2**28])
def test_a_scaled_value_changes_the_outputs(kept, monkeypatch) -> None:
    """Scaling the result of tanh by two doubles the output of a sum, at either size."""
    monkeypatch.setattr(ports, "_KEPT", kept)
    port, draw = port_of(chain), Draw({}, (X,))
    equations = port.program.equations.items()
    path = next(p for p, e in equations if e.primitive.name == "tanh")
    (plain,), (scaled,) = port.outputs(draw, {}), port.outputs(draw, {(path, 0): np.float64(2)})

    np.testing.assert_allclose(scaled, 2 * plain, rtol=1e-13)
