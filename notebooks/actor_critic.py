# %% [markdown]
# # Actor and critic: four networks, two losses
#
# Deep deterministic policy gradient. The actor proposes an action, the critic judges it, and a
# slow copy of each gives the critic its target. Who must not be moved by which loss is the whole
# difficulty.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

import matplotlib.pyplot as plt

from parity_tests.notebook.show import graph, show


# %% [markdown]
# ## The critic's loss (S0-16)
#
# It must not move the actor (its action is detached) nor the target networks (the target value
# is).

# %%
show("actor_critic/critic_loss", only="*/loss *l1/weight")

# %% [markdown]
# ## The actor's loss (S0-16)
#
# It goes *through* the critic and must not move it. In torch one freezes the critic, or does not
# step its optimizer. In JAX one stops the critic's parameters, or differentiates by the actor
# alone. Stopping the critic's *output* would cut the actor's path as well.

# %%
show("actor_critic/actor_loss", only="*/loss *l1/weight")

# %%
graph("actor_critic/actor_loss")

# %% [markdown]
# ## Both, alternating
#
# Each optimizer holds one network, so that in JAX one differentiates by that network alone. The
# target networks follow by a running average; the last column is training with targets that stay.

# %%
show("actor_critic/train", only="losses/*")

# %%
values = show("actor_critic/train").values
start = values["without"]["params"]  # there the targets stay where both networks began


def moved(nets, name):
    began = start[f"target_{name.removeprefix('target_')}"]
    pairs = [(nets[name][layer][p], began[layer][p]) for layer in began for p in began[layer]]
    return sum(((now - then) ** 2).sum() for now, then in pairs) ** 0.5


names = ("critic", "target_critic", "actor", "target_actor")
plt.figure(figsize=(6, 2.4), dpi=90)
for shift, side, color in ((0, "torch", "#d95f02"), (0.4, "JAX", "#1b6ca8")):
    bars = [moved(values[side]["params"], name) for name in names]
    plt.bar([place + shift for place in range(4)], bars, width=0.38, color=color, label=side)
plt.xticks([place + 0.2 for place in range(4)], names)
plt.title("how far each network has moved in 20 steps")
plt.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# Training a part of one network is in [freezing](freezing.ipynb).
