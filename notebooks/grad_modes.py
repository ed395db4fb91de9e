# %% [markdown]
# # Where gradients stop: detach, no_grad, inference_mode
#
# The network is input → L1 → L2 → loss, and only L2 is to be trained. torch has several ways to
# say so, and they are not the same. JAX has one idea for all of them: a value is stopped
# (`lax.stop_gradient`), or it is no argument of what is differentiated.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import graph, network, show


# %% [markdown]
# ## All of it in one picture (S0-17)
#
# Headers read forward, boxes backward. In torch L1 can be on the loss's path, recorded but out of
# its reach, or never recorded; the lessons below go through them one by one.

# %%
graph("grad_modes/recorded")

# %% [markdown]
# The programs below use these. `jaxgrad.value_and_grad` is `jax.value_and_grad` with `None` where
# torch's `.grad` is `None`.

# %%
network()

# %% [markdown]
# ## Nothing stopped (S0-01)
#
# The control: both layers get their gradients.

# %%
show("grad_modes/nothing_stopped")

# %% [markdown]
# ## `detach` (S0-02)
#
# L1 runs and is recorded, but its output is handed on without the record. L1's gradients are
# `None`, not zero. In JAX `lax.stop_gradient` stands on the same value.

# %%
show("grad_modes/detach")

# %% [markdown]
# ## `no_grad` (S0-03)
#
# The same gradients by another way: L1 is never recorded. JAX records nothing in the first place,
# so `jaxgrad.no_grad` of a function is that function with its results stopped.

# %%
show("grad_modes/no_grad")

# %% [markdown]
# **Around a part of a sum (S0-04).** With x = 1 the gradient is 2x + 3x² = 5, and 3 or 2 when one
# of the terms is inside. With both inside, torch's `backward` raises. In JAX the gradient of a
# constant may be asked for: it is `None`, and with `unused="error"` it is an error as in torch.

# %%
show("grad_modes/no_grad_part")

# %% [markdown]
# **The flag (S1-08, S4-05).** What is computed inside does not require grad; what comes after does
# again. A JAX array has no such flag. The question behind it, "does a differentiable path lead
# here?", is answered by `jaxgrad.depends_on`.

# %%
show("grad_modes/requires_grad_flag")

# %% [markdown]
# ## `inference_mode` (S0-05, S0-06)
#
# Stricter than `no_grad`: an inference tensor cannot be saved for backward, has no version
# counter, and may not be changed in place outside the mode. JAX needs no third mode: an array is a
# value, and a constant from anywhere can be used anywhere.

# %%
show("grad_modes/inference_mode")

# %%
graph("grad_modes/inference_mode")

# %% [markdown]
# Through `torch.clone` it works (S0-06): L1 has `None`, L2 its gradient. Beside it, the output
# computed wholly inside.

# %%
show("grad_modes/inference_clone")

# %% [markdown]
# ## Leaving the graph: `detach`, `numpy`, `item`, `tolist` (S2-09)

# %%
show("grad_modes/leave_graph")

# %% [markdown]
# **Shared storage (S2-09).** `detach()` copies nothing: writing into it writes into the original.
# torch sees that by its version counter and raises; through `.detach().numpy()` it does not see
# it, and the gradient is silently wrong. A JAX array does not change, so neither can happen.

# %%
show("grad_modes/detach_shares_storage")

# %% [markdown]
# **`numpy()` of a tensor that requires grad (S0-13)** is refused. A JAX array has no flag that
# could forbid it.

# %%
show("grad_modes/numpy")

# %% [markdown]
# ## Everything cut off (S4-04)
#
# **The document errs here.** It says that `backward()` on a result whose graph was cut gives
# `None`. torch raises: there is no graph to walk. `None` is what `jaxgrad` gives.

# %%
show("grad_modes/detach_backward")

# %% [markdown]
# ## The picture as numbers (S0-17)
#
# *recorded*: is the layer in torch's graph at all? *reachable*: does the loss lead to it? Under
# `detach` L1 is recorded but not reachable. Under `no_grad` and `inference_mode` it was never
# recorded. Where the optimizer was not given L1, or its gradient was zeroed by hand, all of it is
# there.

# %%
show("grad_modes/recorded", only="*/recorded/l1/weight */reachable/l1/weight")

# %% [markdown]
# Which of them is cheapest (S0-18) is measured in [control_flow](control_flow.ipynb). Freezing by
# parameter (S2-11), and why `eval()` is none of this (S0-12), is in [freezing](freezing.ipynb).
