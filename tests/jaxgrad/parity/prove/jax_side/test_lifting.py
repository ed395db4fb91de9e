"""Low-precision casts inside a port are replaced by float64."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch
from flax import linen
from jax import lax
from torch import nn

from jaxgrad.parity import Report, prove
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw, port, proved


def test_low_precision_inside_a_port_is_lifted(arguments):
    """A port that casts to float32 passes without a note, and a bug after a cast is found."""

    def low(p: Any, x: Any) -> Any:
        p, x = jax.tree.map(lambda a: a.astype(jnp.float32), (p, x))
        return port(p, x)

    report = proved(arguments, fn=low)
    assert report.verdict == "pass" and not report.notes
    wrong = proved(arguments, fn=lambda p, x: port(p, x.astype(jnp.bfloat16), eps=1.1e-5))
    assert wrong.verdict == "fail" and wrong.first is not None
    assert wrong.first.torch.startswith("norm")


def cells(stop: Callable[[Any], Any] = identity) -> Report:
    torch.manual_seed(0)
    module = nn.GRU(3, 4, batch_first=True)
    state = arrays(module)
    p: dict[str, Any] = {}
    for k, gate in enumerate("rzn"):
        rows = slice(4 * k, 4 * k + 4)
        enter, carried = state["bias_ih_l0"][rows], state["bias_hh_l0"][rows]
        p[f"i{gate}"] = {"kernel": state["weight_ih_l0"][rows].T}
        p[f"h{gate}"] = {"kernel": state["weight_hh_l0"][rows].T}
        p[f"i{gate}"]["bias"] = enter if gate == "n" else enter + carried
        if gate == "n":
            p["hn"]["bias"] = carried
    rnn = linen.RNN(linen.GRUCell(4))

    def apply(p: Any, x: Any) -> Any:
        return rnn.apply({"params": {"cell": p}}, stop(x))

    return prove(module, apply, p, (draw(2, 3, 3),), outputs=(lambda out: out[0], None))


def test_a_cell_that_rejects_float64_is_traced_in_float32():
    """A cell with a float32 carry is traced in float32 and compared in float64."""
    report = cells().check()
    assert "the port rejects float64, so it was traced in float32" in report.notes
    stopped = cells(stop=lax.stop_gradient)
    assert stopped.verdict == "fail"
