"""Operators that join tensors."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cat([torch.tensor([]), self.fc(x), x], dim=-1)


def test_a_tensor_without_elements_and_dimensions_is_skipped():
    assert agrees(Joined(), X)


class Stacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        wide, tall = torch.hstack([h, x]), torch.vstack((x, h))
        deep, columns = torch.dstack([h, x]), torch.column_stack([h[:, 0], x[:, 1]])
        return wide.sum(1) @ tall[:3] + deep[:, :, 0] * columns[:, :1]


def test_stacks_have_the_names_of_numpy():
    text = source(Stacks(), X)
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        assert f"jnp.{name}(" in text
    assert agrees(Stacks(), X)


class Parts(nn.Module):
    def __init__(self, split):
        super().__init__()
        self.fc, self.split = nn.Linear(4, 6), split

    def forward(self, x):
        return torch.cat([h * (n + 1) for n, h in enumerate(self.split(self.fc(x)))])


PARTS = {
    "jnp.array_split({}, 2, axis=0)": lambda x: x.chunk(2, 0),
    "jnp.split({}, list(range(size, {}.shape[0], size)), axis=0)": lambda x: torch.chunk(x, 3),
    "jnp.split({}, list(range(2, {}.shape[0], 2)), axis=0)": lambda x: x.split(2),
    "jnp.array_split({}, 3, axis=0)": lambda x: torch.tensor_split(x, 3),
    "jnp.split({}, [1, 3], axis=0)": lambda x: x.tensor_split((1, 3)),
}


@pytest.mark.parametrize("code", PARTS)
def test_parts_are_those_of_torch_for_each_size(code):
    """The example has 6 rows, so that its parts are equal; torch's are not for other sizes."""
    module = Parts(PARTS[code])
    ported = port(module, (np.ones((6, 4), np.float32),), prove=False)
    params = ported.params(module.state_dict())

    for rows in (4, 5, 6, 7, 8, 9):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        expected = module(torch.tensor(x)).detach().numpy()
        assert np.allclose(ported.fn(params, x), expected, atol=1e-5), (rows, ported.source)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)

    def forward(self, x):
        q, k, v = self.fc(x).chunk(3, dim=-1)
        return q * k + v


def test_equal_parts_of_an_axis_of_the_weights_are_a_plain_split():
    assert 'jnp.split(F.linear(x, **p["fc"]), 3, axis=-1)' in source(Heads(), X)
