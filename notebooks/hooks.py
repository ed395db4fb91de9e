# %% [markdown]
# # Hooks: seeing a gradient on its way back, and changing it
#
# In torch a hook hangs on a tensor or a module. In JAX it is a function in the program: `h =
# jaxgrad.hook(h, fn)` is the identity on the way forward and calls `fn` with the gradient on the
# way back.

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
# ## On a parameter: watch, then clamp to [-1, 1] (S4-09)

# %%
show("hooks/register_hook")

# %%
without("hooks/register_hook")

# %% [markdown]
# **Where to put it (S4-09).** A parameter's hook sees the sum over all its uses in this backward,
# before it is added to `.grad`. In JAX that is so when the hook is applied once and its result is
# used everywhere. Applied at each use it sees each use alone: the last column.

# %%
show("hooks/register_hook_sum")

# %%
show("hooks/tensor_hook")

# %% [markdown]
# ## Watching
#
# A hook that returns nothing changes nothing. Under `jit` it runs while the program is traced, so
# it sees shapes; numbers leave by `retain_grad`.

# %%
show("hooks/hook_watch")

# %% [markdown]
# **Order.** Hooks run in the order of registration. In JAX the one applied last runs first, as in
# any composition.

# %%
show("hooks/hook_order")

# %% [markdown]
# **In a recurrent network** `retain_grad` in a `scan` comes back stacked by step, and a hook in
# the step acts between the steps.

# %%
show("hooks/retain_grad")

# %%
show("hooks/hook_every_step")

# %% [markdown]
# ## Hooks of a module

# %%
show("hooks/full_backward_hook")

# %%
show("hooks/full_backward_pre_hook")

# %% [markdown]
# **After accumulation.** torch's post-accumulate hook sees `.grad`, all batches so far. JAX needs
# no hook for that: the sum is a value in your hands.

# %%
show("hooks/post_accumulate_grad_hook")

# %% [markdown]
# ## The magnitude of each layer's gradient during training (S4-11)
#
# Five sigmoid layers. The gradient shrinks on its way to the input, by the same numbers on both
# sides.

# %%
show("hooks/gradient_norms")

# %%
values = show("hooks/gradient_norms").values
plt.figure(figsize=(7, 3), dpi=90)
for place, name in enumerate(sorted(values["torch"]["norms"])):
    color = plt.get_cmap("viridis")(place / 5)
    plt.plot(values["torch"]["norms"][name], color=color, label=name)
    plt.plot(values["JAX"]["norms"][name], "o", color=color, markersize=4)
plt.yscale("log")
plt.xlabel("step")
plt.title("norm of the gradient of each weight; lines are torch, dots are JAX")
plt.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), title="input first")
plt.tight_layout()
plt.show()
