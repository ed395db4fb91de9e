"""A port is traced in float64, with the paths of its leaves and its casts."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.jax_side import program as jax_program
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def test_an_associative_scan_matches_a_loop():
    """An associative scan of odd length, which slices empty arrays, matches torch's loop."""
    torch.manual_seed(0)

    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Tensor:
            decay, h, out = torch.sigmoid(self.gate(x)), torch.zeros(2, 3, dtype=x.dtype), []
            for t in range(x.shape[1]):
                h = decay[:, t] * h + x[:, t]
                out.append(h)
            return torch.stack(out, 1)

    module = Loop()
    p = arrays(module)

    def apply(p: Any, x: Any) -> Any:
        decay = jax.nn.sigmoid(x @ p["gate.weight"].T + p["gate.bias"])

        def joined(a: Any, b: Any) -> Any:
            return a[0] * b[0], b[0] * a[1] + b[1]

        return lax.associative_scan(joined, (decay, x), axis=1)[1]

    prove(module, apply, p, (draw(2, 5, 3),)).check()


def test_a_complex_parameter_is_compared():
    """The gradient of a complex parameter is compared, and a detached imaginary part is found."""
    torch.manual_seed(0)

    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, dtype=torch.cfloat))

        def forward(self, x: Tensor) -> Tensor:
            return torch.fft.irfft(torch.fft.rfft(x) * self.weight, n=x.shape[-1])

    module = Spectral()

    def apply(p: Any, x: Any, stop: Callable[[Any], Any] = identity) -> Any:
        return jnp.fft.irfft(jnp.fft.rfft(x) * stop(p["weight"]), n=x.shape[-1])

    def halved(w: Any) -> Any:
        return w.real + 1j * lax.stop_gradient(w.imag)

    inputs = (draw(2, 4),)
    prove(module, apply, arrays(module), inputs).check()
    first = prove(module, lambda p, x: apply(p, x, halved), arrays(module), inputs).first
    assert first is not None
    assert (first.surface, first.torch) == ("gradients", "weight")


def traced(fun: Callable[..., Any], *inputs: Any) -> jax_program.JaxProgram:
    with jax.enable_x64(True):
        return jax_program.program(fun, {"w": np.ones(3)}, inputs)


def test_arrays_of_a_tree_are_flattened_and_replaced():
    """Arrays of a tree become float64 and can be replaced; other leaves stay or become None."""
    paths, leaves, fill = jax_program.flat({"f": abs, "w": np.ones(2, np.float32), "n": 3})

    assert paths == ["w"] and leaves[0].dtype == np.float64
    assert fill(["x"]) == {"f": abs, "w": "x", "n": 3}
    assert fill(["x"], None) == {"f": None, "w": "x", "n": None}


def test_the_numbers_in_a_program_are_listed_once():
    """Real constants are listed in program order; integers, infinities and arrays are not."""

    def apply(p: Any, x: Any) -> Any:
        y = jnp.clip(p["w"] * 0.37 + 2 * x, -0.5, jnp.inf)
        return jax.lax.cond(x[0] > 0.25, lambda: y * 0.37, lambda: jnp.arange(3.0) - y)

    assert jax_program.literals(traced(apply, np.ones(3)).jaxpr) == [0.37, 2.0, -0.5, 0.25]


def test_leaves_without_a_derivative_path_are_unreachable():
    """A leaf behind a stop_gradient is unreachable."""
    program = traced(lambda p, x, y: p["w"] * x + lax.stop_gradient(y), np.ones(3), np.ones(3))

    assert jax_program.reachable(program) == [True, True, False]


def test_a_loss_may_take_the_inputs():
    """A loss is called with the outputs, and with the inputs if it takes them."""
    assert jax_program.call_loss(lambda out: out, 2, (3,)) == 2
    assert jax_program.call_loss(lambda out, x: out * x, 2, (3,)) == 6
    assert jax_program.call_loss(lambda out, x: out * x, 2, {"x": 3}) == 6


def test_casts_below_float64_are_listed():
    """The source lines of casts to float32 are listed."""
    assert not traced(lambda p, x: p["w"] * x, np.ones(3)).casts
    (line,) = traced(lambda p, x: p["w"] * x.astype(jnp.float32), np.ones(3)).casts
    assert "test_program.py:" in line
