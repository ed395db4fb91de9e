# %% [markdown]
# # Actor and critic: four networks, two losses
#
# The actor proposes an action and the critic estimates its value; slowly updated copies of both,
# the target networks, give the critic its target. These are the networks and losses of deep
# deterministic policy gradient (DDPG), without its replay buffer. The difficulty is to make sure
# that each loss updates only the network that it is meant for.
#
# **You will be able to** write the two losses of an actor-critic method so that each of them trains
# only its own network.
#
# **Time** 15 minutes · **Level** intermediate · **Read first:** [freezing](freezing.ipynb)

# %%
# Setup: this notebook runs anywhere in a checkout of jaxgrad.
import pathlib
import sys


folders = [pathlib.Path.cwd(), *pathlib.Path.cwd().parents]
checkout = next((path for path in folders if (path / "parity_tests").is_dir()), None)
if checkout is None:
    sys.exit(
        "Open this notebook in a checkout of jaxgrad, whose programs it runs; without one, "
        "the cells that begin with '# torch' and '# JAX' still run on their own."
    )
sys.path.insert(0, str(checkout))

import matplotlib.pyplot as plt

from parity_tests.notebook.check import check
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import graph, show


# %% [markdown]
# ## The critic's loss
#
# Here the critic's loss computes the action itself, by the actor plus noise; the target is computed
# by the target networks.

# %%
question("actor_critic/critic_loss")

# %%
show("actor_critic/critic_loss", only="*/loss *l1/weight", asked=True)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# The critic's loss must give a gradient neither to the actor nor to the target networks, so the
# action and the target are stopped. In DDPG the action comes from the replay buffer: it is data
# already, and only the target has to be stopped.
#
# With one weight each: the action is 3w = 6, its value is v · 6 = 30, and the target is 29.

# %%
# torch
import torch


w = torch.tensor(2.0, requires_grad=True)  # the actor
v = torch.tensor(5.0, requires_grad=True)  # the critic
action = (3 * w).detach()
loss = (v * action - 29) ** 2
loss.backward()
print("actor", w.grad, "critic", v.grad)

# %%
# JAX
from jax import lax

import jaxgrad


def loss(w, v):
    action = lax.stop_gradient(3 * w)
    return (v * action - 29) ** 2


dw, dv = jaxgrad.grad(loss, (0, 1))(2.0, 5.0)
print("actor", dw, "critic", dv)

# %%
# Try it: delete `.detach()`, and replace `lax.stop_gradient(3 * w)` by `(3 * w)`. In which
# direction would this loss push the action?

# %% [markdown]
# ## The actor's loss
#
# The gradient flows *through* the critic, whose parameters must not be updated. In torch you freeze
# the critic, or you do not step its optimizer. In JAX you apply `stop_gradient` to the critic's
# parameters, or you differentiate with respect to the actor only. Stopping the critic's *output*
# would cut the actor's path as well.

# %%
show("actor_critic/actor_loss", only="*/loss *l1/weight")

# %%
graph("actor_critic/actor_loss")

# %% [markdown]
# ## Alternating between the two losses
#
# Each optimizer holds one network, so in JAX each loss is differentiated with respect to that
# network only:

# %%
# torch
import torch


w, v = (torch.nn.Parameter(torch.tensor(value)) for value in (2.0, 5.0))
train_actor, train_critic = torch.optim.SGD([w], lr=0.1), torch.optim.SGD([v], lr=0.01)
for optimizer in (train_critic, train_actor):
    w.grad = v.grad = None
    is_critic = optimizer is train_critic
    loss = (v * (3 * w) - 29) ** 2 if is_critic else -v * (3 * w)
    loss.backward()
    optimizer.step()
    print("actor", round(w.item(), 3), "critic", round(v.item(), 3))

# %%
# JAX
import jax


def critic_loss(v, w):
    return (v * (3 * w) - 29) ** 2


def actor_loss(w, v):
    return -v * (3 * w)


w, v = 2.0, 5.0
v = v - 0.01 * jax.grad(critic_loss)(v, w)  # w is not the first argument: no gradient
print("actor", round(w, 3), "critic", round(float(v), 3))
w = w - 0.1 * jax.grad(actor_loss)(w, v)
print("actor", round(float(w), 3), "critic", round(float(v), 3))

# %%
# Try it: replace `29` by `30` in both cells. Which of the two steps does nothing now?

# %% [markdown]
# The target networks follow as running averages; in the last column they stay fixed.
# The bar chart shows how far each network moved from its initial parameters.

# %%
show("actor_critic/train", only="losses/*", prints="losses", claim=False)

# %%
values = show("actor_critic/train").values
start = values["without"]["params"]  # its target networks kept the initial parameters


def distance(nets, name):
    initial = start[f"target_{name.removeprefix('target_')}"]
    pairs = [(nets[name][layer][p], initial[layer][p]) for layer in initial for p in initial[layer]]
    return sum(((last - first) ** 2).sum() for last, first in pairs) ** 0.5


names = ("critic", "target_critic", "actor", "target_actor")
plt.figure(figsize=(6, 2.4), dpi=90)
for shift, framework, color in ((0, "torch", "#d95f02"), (0.4, "JAX", "#2f81c7")):
    bars = [distance(values[framework]["params"], name) for name in names]
    plt.bar([tick + shift for tick in range(4)], bars, width=0.38, color=color, label=framework)
plt.xticks([tick + 0.2 for tick in range(4)], names)
plt.title("distance from the initial parameters after 20 steps")
plt.legend(fontsize=8)
plot("distance of each network from its initial parameters, torch beside JAX")

# %% [markdown]
# For training part of a single network see [freezing](freezing.ipynb).

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("actor_critic/train_the_actor_only")

# %%
# Your answer
from jax import lax


def loss(w, v):
    return -lax.stop_gradient(v * (w * 3))


# %%
check("actor_critic/train_the_actor_only", loss)

# %%
exercise("actor_critic/follow_slowly")

# %%
# Your answer
import jax


def follow(target, critic):  # two trees of the same structure
    return jax.tree.map(lambda t, c: ..., target, critic)


# %%
check("actor_critic/follow_slowly", follow)

# %% [markdown]
# ## What to take away
#
# - The critic's loss treats actions and targets as data: stop what the program computes itself.
# - The actor's loss needs the path through the critic: stop the critic's parameters, not its
#   output.
# - In JAX it is often enough to differentiate with respect to one network only.
