"""Losses of reinforcement learning as modules."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

from parity_tests.port_collection.entry import Entry, integers, normal, uniform


LOG_STD_MIN, LOG_STD_MAX = -5, 2


def mlp(sizes, activation: Any = nn.ReLU, output_activation: Any = nn.Identity):
    layers = []
    for j in range(len(sizes) - 1):
        act = activation if j < len(sizes) - 2 else output_activation
        layers += [nn.Linear(sizes[j], sizes[j + 1]), act()]
    return nn.Sequential(*layers)


class SquashedGaussianActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.net = mlp([obs_dim, hidden, hidden], output_activation=nn.ReLU)
        self.mu_layer, self.log_std_layer = nn.Linear(hidden, act_dim), nn.Linear(hidden, act_dim)

    def forward(self, obs, noise):
        net_out = self.net(obs)
        mu, log_std = self.mu_layer(net_out), self.log_std_layer(net_out)
        log_std = torch.clamp(log_std, LOG_STD_MIN, LOG_STD_MAX)
        pi_distribution: Any = torch.distributions.Normal(mu, log_std.exp())
        pi_action = mu + log_std.exp() * noise
        logp_pi = pi_distribution.log_prob(pi_action).sum(axis=-1)
        logp_pi -= (2 * (0.6931471805599453 - pi_action - F.softplus(-2 * pi_action))).sum(axis=1)
        return torch.tanh(pi_action), logp_pi


class SAC(nn.Module):
    def __init__(self, obs_dim=3, act_dim=2, hidden=4, alpha=0.2, gamma=0.99):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma
        self.pi = SquashedGaussianActor(obs_dim, act_dim, hidden)
        self.q1, self.q2 = mlp([obs_dim + act_dim, hidden, 1]), mlp([obs_dim + act_dim, hidden, 1])
        self.q1_targ = copy.deepcopy(self.q1).requires_grad_(False)
        self.q2_targ = copy.deepcopy(self.q2).requires_grad_(False)

    def forward(self, o, a, r, o2, d, noise):
        q1 = self.q1(torch.cat([o, a], dim=-1)).squeeze(-1)
        q2 = self.q2(torch.cat([o, a], dim=-1)).squeeze(-1)
        # Bellman backup for Q functions
        with torch.no_grad():
            a2, logp_a2 = self.pi(o2, noise)
            inputs = torch.cat([o2, a2], dim=-1)
            q_pi_targ = torch.min(self.q1_targ(inputs), self.q2_targ(inputs)).squeeze(-1)
            backup = r + self.gamma * (1 - d) * (q_pi_targ - self.alpha * logp_a2)
        loss_q = ((q1 - backup) ** 2).mean() + ((q2 - backup) ** 2).mean()
        pi, logp_pi = self.pi(o, noise)
        q_pi = torch.min(self.q1(torch.cat([o, pi], -1)), self.q2(torch.cat([o, pi], -1))).squeeze(
            -1
        )
        return loss_q, (self.alpha * logp_pi - q_pi).mean()


class PPO(nn.Module):
    def __init__(self, obs=3, actions=4, clip_coef=0.2, vf_coef=0.5, ent_coef=0.01):
        super().__init__()
        self.clip_coef, self.vf_coef, self.ent_coef = clip_coef, vf_coef, ent_coef
        self.actor = nn.Sequential(nn.Linear(obs, 5), nn.Tanh(), nn.Linear(5, actions))
        self.critic = nn.Sequential(nn.Linear(obs, 5), nn.Tanh(), nn.Linear(5, 1))

    def get_action_and_value(self, x, action):
        probs = Categorical(logits=self.actor(x))
        return probs.log_prob(action), probs.entropy(), self.critic(x)

    def forward(self, obs, actions, logprobs, advantages, returns, values):
        newlogprob, entropy, newvalue = self.get_action_and_value(obs, actions)
        logratio = newlogprob - logprobs
        ratio = logratio.exp()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        pg_loss1 = -advantages * ratio
        pg_loss2 = -advantages * torch.clamp(ratio, 1 - self.clip_coef, 1 + self.clip_coef)
        pg_loss = torch.max(pg_loss1, pg_loss2).mean()
        newvalue = newvalue.view(-1)
        v_clipped = values + torch.clamp(newvalue - values, -self.clip_coef, self.clip_coef)
        v_loss_max = torch.max((newvalue - returns) ** 2, (v_clipped - returns) ** 2)
        loss = pg_loss - self.ent_coef * entropy.mean() + v_loss_max.mean() * 0.5 * self.vf_coef
        with torch.no_grad():
            approx_kl = ((ratio - 1) - logratio).mean()
        return loss, approx_kl


class DuelingDQN(nn.Module):
    """The loss of double Q-learning, with the target network inside of the module."""

    class Net(nn.Module):
        def __init__(self, obs, actions):
            super().__init__()
            self.feature = nn.Sequential(nn.Linear(obs, 5), nn.SELU())
            self.advantage, self.value = nn.Linear(5, actions), nn.Linear(5, 1)

        def forward(self, x):
            x = self.feature(x)
            advantage = self.advantage(x)
            return self.value(x) + advantage - advantage.mean(dim=-1, keepdim=True)

    def __init__(self, obs=3, actions=4, gamma=0.9):
        super().__init__()
        self.gamma = gamma
        self.policy, self.target = self.Net(obs, actions), self.Net(obs, actions)
        for param in self.target.parameters():
            param.requires_grad_(False)

    @torch.no_grad()
    def expected(self, reward, next_state, done):
        best = self.policy(next_state).argmax(1, keepdim=True)
        return reward + self.gamma * self.target(next_state).gather(1, best).squeeze(1) * (1 - done)

    def forward(self, state, action, reward, next_state, done):
        q_values = self.policy(state).gather(1, action.unsqueeze(1)).squeeze(1)
        return F.smooth_l1_loss(q_values, self.expected(reward, next_state, done))


class WorldModel(nn.Module):
    """A latent rollout with straight-through samples of categories."""

    def __init__(self, size=4, categories=3):
        super().__init__()
        self.cell, self.logits = nn.GRUCell(categories + 2, size), nn.Linear(size, categories)
        self.heads = nn.ModuleDict(dict(reward=nn.Linear(size, 1), cont=nn.Linear(size, 1)))

    def sample(self, logits):
        probs = logits.softmax(-1)
        hard = F.one_hot(probs.argmax(-1), probs.shape[-1]).to(probs.dtype)
        return hard + probs - probs.detach()

    def forward(self, actions, state):
        rewards = []
        discount = torch.ones_like(state[:, 0])
        for action in actions.unbind(1):
            z = self.sample(self.logits(state))
            state = self.cell(torch.cat([z, action], -1), state)
            heads = {name: head(state).squeeze(-1) for name, head in self.heads.items()}
            rewards.append(discount * heads["reward"])
            discount = discount * torch.sigmoid(heads["cont"])
        return torch.stack(rewards, 1).sum(1), state


def _sac(n):
    return (
        normal(n, 3), normal(n, 2, seed=1), normal(n, seed=2), normal(n, 3, seed=3),
        integers(2, n).astype("float32"), normal(n, 2, seed=4),
    )  # fmt: skip


def _ppo(n):
    return (
        normal(n, 3), integers(4, n), -uniform(n, seed=1), normal(n, seed=2), normal(n, seed=3),
        normal(n, seed=4),
    )  # fmt: skip


def _dqn(n):
    return (
        normal(n, 3), integers(4, n), normal(n, seed=1), normal(n, 3, seed=2),
        integers(2, n).astype("float32"),
    )  # fmt: skip


MODULES = {
    "sac_losses": Entry(SAC, _sac(4), _sac(3)),
    "ppo_loss": Entry(PPO, _ppo(4), _ppo(3)),
    "dueling_dqn": Entry(DuelingDQN, _dqn(4), _dqn(3)),
    "world_model": Entry(
        WorldModel, (normal(2, 3, 2), normal(2, 4)), (normal(3, 4, 2), normal(3, 4))
    ),
}
