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
# ### SGD's dampening (P127), decay in Adam and AdamW (P122, P121), AMSGrad (P123)

# %%
show("optim/dampening", only="7/l2/*")

# %%
show("optim/l2_in_adam", only="7/l2/*")

# %%
show("optim/adamw_defaults", only="7/l2/*")

# %%
show("optim/amsgrad", only="7/l2/*")

# %% [markdown]
# ### Second moments and signs
#
# NAdam (P124), RAdam (P125), RMSprop (P118, P119), Adagrad (P120) and Rprop (P126).

# %%
show("optim/nadam", only="7/l2/*")

# %%
show("optim/radam", only="7/l2/*")

# %%
show("optim/rmsprop", only="7/l2/*")

# %%
show("optim/adagrad", only="7/l2/*")

# %%
show("optim/rprop", only="7/l2/*")

# %% [markdown]
# ### Those that optax has not, or has otherwise
#
# ASGD, Adafactor and SparseAdam are P128, Muon is P130, L-BFGS is P129.

# %%
show("optim/asgd", only="7/l2/*")

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

# %% [markdown]
# ## A head that was not used (P131, P132, P133), a layer that is frozen (P134)
#
# None is not zero: torch passes over a parameter without a gradient, with its decay, its moments
# and its step count. `optax.masked` does not freeze: it hands the raw gradient on.

# %%
show("optim/two_heads", only="3/*/bias")

# %%
show("optim/frozen_layer", only="2/*/bias")
