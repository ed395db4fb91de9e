# %% [markdown]
# # Who moves a parameter, and by how much
#
# An optimizer in JAX is two functions of optax: `init(params)` and `update(grads, state, params)`.
# Which parameter gets which setting is said by a tree of labels beside the tree of parameters.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

import matplotlib.pyplot as plt

from parity_tests.notebook.show import show, without


# %% [markdown]
# ## Parameter groups (S0-08)
#
# Each group its own learning rate, momentum and weight decay. The last column has one setting for
# all.

# %%
show("optim/param_groups", only="losses/* params/3/*")

# %% [markdown]
# ## By hand (S0-09)
#
# Subtracting the gradient times the learning rate is what plain SGD does. torch needs `no_grad`
# around it, because a leaf is changed in place under autograd's eyes. JAX makes new parameters,
# and nobody watches.

# %%
show("optim/by_hand", only="losses/* same/* by_hand/l2/* sgd/l2/*")

# %% [markdown]
# ## Every other step (S0-10): zero is not None
#
# L1's gradient is silenced in steps 1 and 3. With zeros, momentum and weight decay still move the
# layer; with `None` torch's optimizer passes over it. In optax `conditionally_mask` says in which
# steps a leaf is live.

# %%
show("optim/every_other_step", only="*/params/*/l1/bias")

# %%
values = show("optim/every_other_step").values
plt.figure(figsize=(6, 2.5), dpi=90)
for kind, color in (("zero", "#d95f02"), ("none", "#1b6ca8")):
    for side, mark in (("torch", "-"), ("JAX", "o")):
        norms = [(net["l1"]["weight"] ** 2).sum() ** 0.5 for net in values[side][kind]["params"]]
        plt.plot(range(4), norms, mark, color=color, label=f"{kind}, {side}")
plt.xticks(range(4))
plt.xlabel("step; L1 is silent in steps 1 and 3")
plt.title("norm of L1's weight")
plt.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# ## Under a condition (S0-11)
#
# L1's gradient is scaled when it is longer than 1. In torch that is an `if` on the host, which
# waits for the device. In JAX `lax.cond` decides on the device, inside one compiled program.

# %%
show("optim/scale_under_condition")

# %%
without("optim/scale_under_condition")

# %% [markdown]
# An optimizer that is given only some of the parameters (S0-07, S2-12) is in
# [freezing](freezing.ipynb).
