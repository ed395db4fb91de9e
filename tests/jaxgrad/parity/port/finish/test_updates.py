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
    assert '{**p, "norm"' not in text and "norm_out" not in text


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
