"""A port is traced once more in the dtypes of its own params."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor, nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Table(nn.Module):
    """A layer whose bias is looked up in a table, as a relative position bias is."""

    rows: Tensor

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(3))
        self.register_buffer("rows", torch.tensor([[0, 1], [2, 0]]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.table[self.rows]


def test_a_captured_integer_table_does_not_hide_the_precision():
    """A port that indexes with a captured int64 array is judged in its own precision, too."""
    module = Table()
    rows = module.rows.numpy()

    def port(p: Any, x: Any, dtype: Any = None) -> Any:
        return x.astype(dtype or x.dtype) @ p["table"][rows].astype(dtype or x.dtype)

    def low(p: Any, x: Any) -> Any:
        return port(p, x, jnp.bfloat16)

    assert (
        prove(module, port, arrays(module), (draw(2, 2),)).surfaces["precision"].verdict == "pass"
    )
    assert prove(module, low, arrays(module), (draw(2, 2),)).surfaces["precision"].verdict == "fail"
    assert rows.dtype == np.int64
