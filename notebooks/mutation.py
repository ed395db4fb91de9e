# %% [markdown]
# # In-place changes, and how long a graph lives
#
# Two families of errors that only torch has, and one that only JAX has. A JAX array does not
# change, so what the backward pass needs cannot be overwritten. A `vjp` is a value, so nothing is
# freed while you hold it.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import show


# %% [markdown]
# ## After its use (S1-02)
#
# torch saved `a` itself, and its version counter sees the change: `backward` raises. JAX saved the
# `a` that was used.

# %%
show("mutation/inplace_after_use")

# %% [markdown]
# ## Before its use (S1-03)
#
# **The document errs here.** It calls the gradient (1, 3, 4) wrong. It is right: `A` is an integer
# tensor, `.1` became 0, and the gradient of the sum of A·B + B by B is A + 1 for the A that was
# used, which is (0, 2, 3).

# %%
show("mutation/inplace_before_use")

# %% [markdown]
# ## It depends on what was saved (S2-04, S2-05)
#
# `c += 1` between forward and backward. After `e = c * d` it is an error, because a product saves
# its factors. After `e = c + d` it is none, because a sum saves nothing. In JAX `c += 1` makes
# another c.

# %%
show("mutation/inplace_saved")

# %%
show("mutation/inplace_not_saved")

# %% [markdown]
# **Through `.data`** nobody counts, and torch's gradient is silently wrong. In JAX this cannot be
# written.

# %%
show("mutation/data")

# %% [markdown]
# ## The error that only JAX has
#
# An intermediate kept on the side. In torch it is a tensor like any other. In JAX, inside a
# transformation, it is a tracer and dies with it; return it with `has_aux=True`.

# %%
show("mutation/leaked_activation")

# %%
show("mutation/kept_activation")

# %% [markdown]
# ## A second `backward()` (S1-04)
#
# torch frees the saved values at the first one. The nodes stay (the rows `nodes`); what they need
# is gone.

# %%
show("retain_graph/second_backward")

# %% [markdown]
# **`retain_graph=True` (S1-05)** keeps them, and `.grad` adds up unless it is cleared. In JAX
# there is nothing to ask for.

# %%
show("retain_graph/retain_graph")

# %% [markdown]
# **Or build it again (S1-06).**

# %%
show("retain_graph/rebuild")

# %% [markdown]
# ## Graphs in a loop (S2-16, S2-17)
#
# Built again in each iteration, it trains. With the operation moved out of the loop the second
# `backward` raises.

# %%
show("retain_graph/loop")

# %%
show("retain_graph/loop_outside")

# %% [markdown]
# ## Several slices of one tensor (S2-18)
#
# A backward for each slice works when the graph is built again inside the loop. Built once
# outside, the slices share what the first backward freed. A JAX `vjp` made once can be called for
# each slice.

# %%
show("retain_graph/slices")

# %%
show("retain_graph/slices_outside")
