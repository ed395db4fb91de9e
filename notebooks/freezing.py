# %% [markdown]
# # Training a part of a network
#
# By what is differentiated, by what the optimizer moves, by paths. In torch these are three
# places: `requires_grad`, the optimizer's list, `detach`. In JAX the first is the argument of
# `grad`, the second the tree given to the optimizer, the third `stop_gradient`.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

import matplotlib.pyplot as plt

from parity_tests.notebook.show import graph, programs, show


# %% [markdown]
# ## `requires_grad_(False)` of a module (S2-11)
#
# It freezes the module's parameters and lets the gradient through to its input. **The document
# calls `no_grad` equivalent. It is not**: `no_grad` cuts the gradient to the input too (the row
# `no_grad/x`). In JAX: split the tree with `jaxgrad.partition` and differentiate by the trainable
# half.

# %%
show("grad_modes/requires_grad")

# %% [markdown]
# ## The optimizer is given only the head (S0-07)
#
# L1's gradient is computed all the same. That optimizer does not move L1, and its `zero_grad()`
# does not clear it: L1's `.grad` grows every step. In JAX nothing grows unless you add it up.

# %%
show("freezing/optimizer_subset", only="grads/*/bias losses/*")

# %%
values = show("freezing/optimizer_subset").values
steps = range(1, 4)
plt.figure(figsize=(6, 2.4), dpi=90)
for layer, color in (("l1", "#d95f02"), ("l2", "#1b6ca8")):
    for side, mark in (("torch", "-"), ("JAX", "o")):
        norms = [(grads[layer]["weight"] ** 2).sum() ** 0.5 for grads in values[side]["grads"]]
        plt.plot(steps, norms, mark, color=color, label=f"{layer}, {side}")
plt.xticks(steps)
plt.xlabel("step")
plt.title("norm of .grad; l1 is not in the optimizer, and nobody clears it")
plt.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# **Only what requires grad (S2-12).** An optimizer given the filtered list trains exactly as one
# given everything. Only the indices in its state differ, which matters when such a state is
# loaded.

# %%
show("freezing/filter_requires_grad", only="*/losses/* */given */state_indices* */params/l2/bias")

# %% [markdown]
# ## Two paths through one trunk (S0-14)
#
# A trunk that two modules use: its gradient is the sum over the paths left open. A stopped module
# still learns, because the stop is on its *input*.

# %%
show("freezing/single_headed", only="*/grads/trunk/weight */grads/a/weight")

# %%
graph("freezing/single_headed")

# %% [markdown]
# **A loss a head (S0-15).** Stop one head's gradient into the trunk, and the trunk gets the other
# head's alone.

# %%
show("freezing/multi_headed", only="*/losses/* */trunk/weight */grads/b/weight")

# %%
graph("freezing/multi_headed")

# %% [markdown]
# An actor and its critic (S0-16) have a notebook of their own, [actor_critic](actor_critic.ipynb).
#
# ## MobileNetV2 with a new classifier (S1-07)
#
# `requires_grad = False` for every parameter, the classifier replaced, and SGD given *all*
# parameters: only the classifier moves, because the `.grad` of the others is `None` and the
# optimizer passes over them. The batch-norm buffers move too: they are no parameters, and the
# model is in train mode. In JAX the buffers are returned, so nothing moves unseen.
#
# This network takes longer than a notebook should. Here are the two programs, and the command that
# compares them.

# %%
programs("mobilenet/freeze")

# %% [markdown]
# ## `eval()` freezes nothing (S0-12, S2-13)
#
# `eval()` turns dropout off and makes batch norm use its running statistics. The graph is still
# built, and every parameter still gets its gradient. In JAX `training=False` is an argument like
# any other.

# %%
show("grad_modes/eval_mode", only="*/loss */requires_grad */grads/*/weight */stats/running_mean")
