"""`functional_call` calls the module's function with other params."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Linear(4, 4)
        self.critic = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, x):
        frozen = {name: p.detach() for name, p in self.critic.named_parameters()}
        fast: dict[str, torch.Tensor] = dict(self.critic.named_parameters())
        fast["0.weight"] = fast["0.weight"] * 2
        acted = torch.func.functional_call(self.critic, frozen, (self.actor(x),))
        return acted + torch.func.functional_call(self.critic, fast, (x,))


def test_detached_params_are_one_stop_gradient_of_the_tree():
    """If every parameter is detached, the whole tree is; other params are written by path."""
    torch.manual_seed(0)
    stopped = 'lax.stop_gradient(p["critic"])'
    assert stopped in source(Critic(), X)
    assert agrees(Critic(), X)
    assert not agrees(Critic(), X, without=stopped, instead='p["critic"]')
    assert not agrees(Critic(), X, without=" * 2", instead=" * 1")
