"""An actor, a critic and a slow copy of each, as in DDPG but without its replay buffer."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from torch_ref._net import grads, linear, minimize, mse, params


DISCOUNT, TAU, LR = 0.9, 0.05, 1e-2


class Actor(nn.Module):
    """Map a state to an action in [-1, 1]."""

    def __init__(self, net: Any):
        super().__init__()
        self.l1, self.l2 = linear(net["l1"]), linear(net["l2"])

    def forward(self, s: Tensor) -> Tensor:
        return torch.tanh(self.l2(torch.relu(self.l1(s))))


class Critic(nn.Module):
    """Map a state and an action to the expected return from there on."""

    def __init__(self, net: Any):
        super().__init__()
        self.l1, self.l2 = linear(net["l1"]), linear(net["l2"])

    def forward(self, s: Tensor, a: Tensor) -> Tensor:
        return self.l2(torch.relu(self.l1(torch.cat([s, a], dim=1))))


class Agent:
    def __init__(self, actor: Any, critic: Any):
        self.actor, self.critic = Actor(actor), Critic(critic)
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.networks = {
            "actor": self.actor,
            "critic": self.critic,
            "target_actor": self.target_actor,
            "target_critic": self.target_critic,
        }

    def action(self, batch: Any) -> Tensor:
        return self.actor(batch["s"]) + batch["noise"]

    def target(self, batch: Any) -> Tensor:
        following = self.target_critic(batch["s_next"], self.target_actor(batch["s_next"]))
        return batch["reward"] + DISCOUNT * following

    def followers(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Pair each parameter of a target network with the one that it follows."""
        for slow, fast in ((self.target_actor, self.actor), (self.target_critic, self.critic)):
            yield from zip(slow.parameters(), fast.parameters(), strict=True)

    def grads(self) -> dict[str, Any]:
        return {name: grads(network) for name, network in self.networks.items()}


def _gradients(loss_of: Callable[[Agent], Tensor], agent: Agent) -> dict[str, Any]:
    """Return the loss and the gradients of all four networks."""
    loss = loss_of(agent)
    loss.backward()
    return {"loss": loss, "grads": agent.grads()}


def critic_loss(actor: Any, critic: Any, batch: Any):
    def through(agent: Agent):
        return mse(agent.critic(batch["s"], agent.action(batch)), agent.target(batch))

    def stopped(agent: Agent):
        action, target = agent.action(batch).detach(), agent.target(batch).detach()
        return mse(agent.critic(batch["s"], action), target)

    return {
        "open": _gradients(through, Agent(actor, critic)),
        "stopped": _gradients(stopped, Agent(actor, critic)),
    }


def actor_loss(actor: Any, critic: Any, batch: Any):
    def run(stopped: bool):
        agent = Agent(actor, critic)
        agent.critic.requires_grad_(not stopped)
        loss = -agent.critic(batch["s"], agent.actor(batch["s"])).mean()
        loss.backward()
        return {"loss": loss, "grads": agent.grads()}

    return {"open": run(False), "stopped": run(True)}


def train(actor: Any, critic: Any, batches: Any):
    agent = Agent(actor, critic)
    actor_optimizer = torch.optim.Adam(agent.actor.parameters(), lr=LR)
    critic_optimizer = torch.optim.Adam(agent.critic.parameters(), lr=LR)
    losses: dict[str, list[Tensor]] = {"critic": [], "actor": []}
    for step in range(len(batches["s"])):
        batch = {name: values[step] for name, values in batches.items()}
        with torch.no_grad():
            action, target = agent.action(batch), agent.target(batch)
        loss = mse(agent.critic(batch["s"], action), target)
        losses["critic"].append(minimize(critic_optimizer, loss))
        loss = -agent.critic(batch["s"], agent.actor(batch["s"])).mean()
        losses["actor"].append(minimize(actor_optimizer, loss))  # also adds to the critic's .grad
        with torch.no_grad():
            for target, param in agent.followers():
                target.mul_(1 - TAU).add_(param, alpha=TAU)
    return {
        "losses": {name: torch.stack(values) for name, values in losses.items()},
        "params": {name: params(network) for name, network in agent.networks.items()},
    }
