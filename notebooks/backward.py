# %% [markdown]
# # Calling backward: of what, by what, and what `.grad` holds
#
# `backward()` fills the `.grad` of the leaves. In JAX you say by which arguments to differentiate,
# and the gradients are returned in the same tree. `jaxgrad.value_and_grad` differs from
# `jax.value_and_grad` in one thing: `None` where torch has `None`.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import graph, show


# %% [markdown]
# ## An exercise (S4-10), and two inputs (S4-01)
#
# The derivative of x³ - 4x + 2 at 3 is 23; those of x² + y³ at (2, 3) are 4 and 27.

# %%
show("backward/cubic")

# %%
show("backward/two_inputs")

# %% [markdown]
# ## The chain rule (S2-03)
#
# e = c·d with c = a·b at (2, 3, 4). The leaves get 12, 8 and 6; the intermediate c gets no
# `.grad`.

# %%
show("backward/chain_rule")

# %% [markdown]
# **The gradient of an intermediate (S1-01).** Its `.grad` is `None`; `autograd.grad(d, c)` gives
# it. In JAX: differentiate the rest of the program by c.

# %%
show("backward/grad_of_intermediate")

# %% [markdown]
# ## A long example (S2-07)
#
# All values are 2, and `c.requires_grad = True` is set in the middle. c becomes a leaf: nothing
# before it has a gradient.

# %%
show("backward/long_example")

# %%
graph("backward/long_example")

# %% [markdown]
# **Used twice (S2-07).** h is used in g/h and in i + h. Its gradient is the sum over both uses.

# %%
show("backward/several_uses")

# %% [markdown]
# **`retain_grad()` (S2-08)** keeps what would be thrown away. A JAX intermediate has no place to
# keep anything: `jaxgrad.retain_grad(i, "i")` names it, and its gradient is returned beside the
# others.

# %%
show("backward/retain_grad")

# %% [markdown]
# ## Who gets a gradient (S3-01)

# %%
show("backward/requires_grad")

# %% [markdown]
# ## The cotangent: `backward(gradient=...)` (S2-10, S4-06)
#
# What torch calls `gradient` is JAX's cotangent, the argument of the `vjp`. For x² at 3 and a
# cotangent of 0.05 it is 0.3.

# %%
show("backward/cotangent")

# %% [markdown]
# An output that is no scalar needs its sum, or a cotangent of its shape (S4-06). Without either
# both frameworks refuse.

# %%
show("backward/non_scalar")

# %%
show("backward/non_scalar_without_cotangent")

# %% [markdown]
# ## Parts of one tensor (S2-06)

# %%
show("backward/unbind")

# %% [markdown]
# ## By the input: an adversarial example, adjusted embeddings (S3-02)
#
# A gradient by the input is a gradient by another argument. A step along its sign makes the loss
# grow.

# %%
show("backward/fgsm")

# %% [markdown]
# Vectors that were looked up are adjusted one by one; the table stays as it is.

# %%
show("backward/adjust_embedding")

# %% [markdown]
# Accumulation over calls (S4-02) and the gradients of a network (S4-03) are in
# [00_ten_minutes](00_ten_minutes.ipynb).
