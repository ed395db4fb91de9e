"""New buffers are assigned to their place in a copy of the params."""

import jax
import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.port import port


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.tail = nn.BatchNorm1d(3), nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))

    def forward(self, x):
        h = torch.tanh(self.norm(x))
        return self.tail(h) + x


class Both(Normed):
    def forward(self, x):
        h = self.norm(x)
        return self.tail(h) * h


def test_a_call_assigns_its_result_and_its_new_params():
    """The result has the name of the next statement, and the params are copied once."""
    text = port(Normed(), (X,), prove=False).source
    assert '    p = dict(p)\n    h, p["norm"] = batch_norm1d(p["norm"], x' in text
    assert "    h = jnp.tanh(h)\n" in text and "    p = list(p)\n" in text
    assert "norm_out" not in text


def test_a_result_that_another_statement_needs_keeps_its_name():
    """A variable that is read later is not overwritten."""
    text = port(Normed(), (X,), prove=False).source
    assert 'h, p["tail"] = tail(p["tail"], h, training=training)' in text
    assert "return h + x, p" in text
    text = port(Both(), (X,), prove=False).source
    assert 'tail_out, p["tail"] = tail(p["tail"], h, training=training)' in text
    assert "return tail_out * h, p" in text


def test_the_params_of_the_caller_stay_as_they_are():
    """The function changes its copy, also of the params of a sequence."""
    module = Both()
    ported = port(module, (X,), prove=False)
    params = ported.params(module.state_dict())
    before = jax.tree.map(np.copy, params)
    _, new = ported.fn(params, X, training=True)
    assert all(map(np.array_equal, jax.tree.leaves(before), jax.tree.leaves(params)))
    assert int(new["tail"][1]["num_batches_tracked"]) == 1
    assert int(params["tail"][1]["num_batches_tracked"]) == 0


class Listed(nn.Module):
    """The layers of a list, in an order that no loop of the port has."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.BatchNorm1d(3), nn.BatchNorm1d(3)])

    def forward(self, x):
        return self.layers[1](torch.sin(self.layers[0](x)))


def test_params_that_change_in_an_inner_list_are_copied_as_a_tree():
    """A copy of the outermost dict alone would share its list with the caller's params."""
    module = Listed()
    ported = port(module, (X,))
    params = ported.params(module.state_dict())
    before = jax.tree.map(np.copy, params)

    _, new = ported.fn(params, X, training=True)

    assert "p = jax.tree.map(lambda x: x, p)" in ported.source
    assert 'p["layers"][0] = batch_norm1d(p["layers"][0], x' in ported.source
    assert all(map(np.array_equal, jax.tree.leaves(before), jax.tree.leaves(params)))
    assert int(new["layers"][1]["num_batches_tracked"]) == 1


class Counting(nn.Module):
    """A buffer gets a value from a branch, beside the result of the branch."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
            self.count += 1
        return x


def test_a_function_that_updates_beside_a_result_changes_a_copy_too():
    """The params of the caller stay as they are, although no statement only updates them."""
    module = Counting()
    ported = port(module, (X,))
    params = ported.params(module.state_dict())

    _, new = ported.fn(params, np.ones_like(X))

    assert 'x, p["count"] = lax.cond(' in ported.source and "p = dict(p)" in ported.source
    assert (float(params["count"]), float(new["count"])) == (0.0, 1.0)
