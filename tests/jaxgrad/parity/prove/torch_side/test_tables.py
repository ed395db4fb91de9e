"""The float32 tables of a module are found and replaced."""

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.prove.torch_side.tables import held, replace


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        numbers = torch.sin(torch.arange(5.0))
        self.register_buffer("buffer", numbers.double())
        self.register_buffer("exact", torch.sin(torch.arange(5.0, dtype=torch.float64)))
        self.plain, self.mask = numbers, torch.tensor([0.0, 1.0])


def test_only_tables_of_float32_numbers_are_held():
    """Exact numbers, and numbers that every dtype represents, are left out."""
    module = nn.ModuleDict({"inner": Holder()})

    tables = held(module, ["inner.buffer", "inner.exact"])

    assert list(tables) == ["inner.buffer", "inner.plain"]
    assert all(x.dtype == np.float64 for x in tables.values())


def test_tables_are_replaced_in_place():
    """A buffer keeps its tensor; a plain attribute becomes a float64 tensor."""
    module = Holder()
    buffer: torch.Tensor = module.get_buffer("buffer")
    numbers = np.sin(np.arange(5.0))

    replace(module, {"buffer": numbers, "plain": numbers})

    assert module.get_buffer("buffer") is buffer and np.array_equal(buffer.numpy(), numbers)
    assert np.array_equal(module.plain.numpy(), numbers)
