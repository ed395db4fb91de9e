"""The float32 tables of a module are found, and plain attributes are set."""

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.prove.record.torch_side.tables import held, set_attributes


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


def test_plain_attributes_take_the_dtype_of_the_module():
    """A table is set in the dtype of the parameters, or else in float64."""
    module, numbers = nn.ModuleDict({"inner": Holder()}), np.sin(np.arange(5.0))

    set_attributes(module, {"inner.plain": numbers})
    plain = vars(module["inner"])["plain"]
    assert np.array_equal(plain.numpy(), numbers)

    module["linear"] = nn.Linear(1, 1)
    set_attributes(module, {"inner.plain": numbers})
    assert vars(module["inner"])["plain"].dtype == torch.float32


def test_a_complex_table_is_held_and_set():
    """A plain attribute in complex64 takes the complex dtype of the module."""
    module: torch.nn.Module = nn.Module()
    numbers = torch.polar(torch.ones(5), torch.arange(5.0))
    module.register_buffer("buffer", numbers.to(torch.complex128))
    setattr(module, "plain", numbers)  # noqa: B010
    tables = held(module, ["buffer"])
    assert list(tables) == ["buffer", "plain"]
    assert all(x.dtype == np.complex128 for x in tables.values())

    set_attributes(module, {"plain": tables["plain"]})
    assert vars(module)["plain"].dtype == torch.complex128
    module.linear = nn.Linear(1, 1)
    set_attributes(module, {"plain": tables["plain"]})
    assert vars(module)["plain"].dtype == torch.complex64
