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

from parity_tests.show import show, without


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
# ## torch's groups in torch's words
#
# `jaxgrad.optim` has torch's optimizers with torch's arguments and defaults. `param_groups` gives a
# group its own options, and its learning rate a schedule of its own; labels are a function of the
# path, or a tree.

# %%
show("param_groups/group_schedules", only="params/0/* params/3/*")

# %% [markdown]
# A group may join during training. Those that are there already keep their momentum.

# %%
show("param_groups/add_param_group", only="params/2/* params/4/*/bias")

# %% [markdown]
# ## Freezing: not by `optax.masked`
#
# The label "frozen" is `requires_grad_(False)`: no step, no weight decay, no state. `optax.masked`
# applies the optimizer where the mask is True, and elsewhere hands on the raw gradient, which is
# then added: in the last column the frozen layer l1 climbs.

# %%
show("param_groups/frozen", only="params/*/bias")

# %% [markdown]
# ## None against zero (P131, P132, P133)
#
# torch passes over a parameter whose gradient is `None`: no weight decay, no stale momentum, and
# its step count, on which Adam's bias correction depends, stays. A zero gradient does all three.

# %%
show("param_groups/none_gradient", only="step/* params/*/l1/bias")

# %% [markdown]
# Under jit a tree cannot have a `None` in one step and not in the next. `live` says the same with
# arrays: here two heads take turns.

# %%
show("param_groups/live", only="params/*/a/bias params/*/b/bias")

# %% [markdown]
# ## The same name, another optimizer
#
# The last column is what optax has under the same name. AdamW's default weight decay differs by a
# factor of 100; RMSprop's eps is outside or inside of the square root.

# %%
show("optimizers/adamw", only="losses")

# %%
show("optimizers/rmsprop_eps", only="losses")

# %% [markdown]
# And a torch optimizer's `state_dict` is where the next step goes on from.

# %%
show("param_groups/resume", only="step params/2/*/bias")

# %% [markdown]
# An optimizer that is given only some of the parameters (S0-07, S2-12) is in
# [freezing](freezing.ipynb).

# %% [markdown]
# ## torch's optimizers, and optax's of the same name
#
# `jaxgrad.optim` has torch's rules, arguments and defaults. In the last column the obvious choice
# of optax is in its place: it starts elsewhere, or goes elsewhere.
#
# ### Momentum, second moments and signs
#
# SGD's dampening (P127), AMSGrad (P123), NAdam (P124), RAdam (P125), Adagrad (P120), Rprop (P126).

# %%
show("optimizers/sgd_dampening", only="losses")

# %%
show("optimizers/adam_amsgrad", only="losses")

# %%
show("optimizers/nadam", only="losses")

# %%
show("optimizers/radam", only="losses")

# %%
show("optimizers/adagrad", only="losses")

# %%
show("optimizers/rprop", only="losses")

# %% [markdown]
# ### Those that optax has not, or has otherwise
#
# ASGD, Adafactor and SparseAdam are P128, Muon is P130, L-BFGS is P129.

# %%
show("optimizers/asgd", only="losses")

# %%
show("optim/adafactor", only="7/l2/*")

# %%
show("optim/sparse_adam", only="2")

# %%
show("optim/muon", only="2")

# %%
show("optim/muon_of_a_vector")

# %%
show("optim/lbfgs")
