# %% [markdown]
# # None or zero, and other corners of autograd
#
# `None` means "there is no path". Zero means "there is a path, and it counts for nothing". An
# optimizer knows the difference: momentum and weight decay move a parameter whose gradient is
# zero. `jax.grad` has only zeros; `jaxgrad.grad` finds the missing paths in the program and gives
# `None`, as torch does.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import show, without


# %% [markdown]
# ## Ways to lose a gradient
#
# Times zero, masked, rounded: zeros. Detached, cast to integer, compared, unused: `None`.

# %%
show("none_or_zero/none_or_zero")

# %%
without("none_or_zero/none_or_zero")

# %% [markdown]
# **Through control flow** it is the same. torch sees only what ran; JAX compiles `scan`, `cond`
# and `vmap`, and the paths are followed through them.

# %%
show("none_or_zero/through_loop")

# %%
show("none_or_zero/through_gradient")

# %% [markdown]
# **Where they must differ.** A parameter that is used only in the branch not taken: torch never
# saw that branch. A compiled `cond` has one structure for both branches, so JAX has zeros.

# %%
show("none_or_zero/branch_not_taken")

# %% [markdown]
# ## `allow_unused`, and refusing
#
# `unused="none"`, `"zeros"` and `"error"` are `autograd.grad`'s `allow_unused=True`,
# `materialize_grads=True` and default.

# %%
show("none_or_zero/allow_unused")

# %%
show("none_or_zero/unused_raises")

# %% [markdown]
# ## A loss of shape (1,) (S4-02)
#
# torch accepts any loss that has one element. `jax.grad` wants a scalar; `jaxgrad.grad` takes what
# torch takes.

# %%
show("autograd/loss_of_size_1")

# %% [markdown]
# ## Integers, buffers, tied weights

# %%
show("autograd/integer_input")

# %%
show("autograd/buffers")

# %%
show("autograd/tied_weights")

# %% [markdown]
# ## Sample by sample
#
# The `vmap` of a gradient. torch's generator is hidden state, so its `vmap` wants to be told what
# to do with dropout. In JAX the mask, or a key, is an argument of each sample.

# %%
show("autograd/per_sample", only="*weight")

# %%
show("autograd/per_sample_dropout")
