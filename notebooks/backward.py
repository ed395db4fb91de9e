# %% [markdown]
# # Calling backward: outputs, inputs, and the contents of `.grad`
#
# `backward()` fills the `.grad` of the leaves. In JAX you choose the arguments to differentiate
# with respect to, and the gradients are returned in the same tree structure.
# `jaxgrad.value_and_grad` differs from `jax.value_and_grad` in one respect: it returns `None` where
# torch's `.grad` is `None`.
#
# **You will be able to** compute gradients with respect to any value of a program, of outputs that
# are not scalars, and predict what `.grad` holds afterwards.
#
# **Time** 20 minutes · **Level** first steps ·
# **Read first:** [00_ten_minutes](00_ten_minutes.ipynb)

# %%
# Setup: this notebook runs in the folder notebooks/ of a checkout of jaxgrad.
import pathlib
import sys


if not pathlib.Path("../parity_tests").is_dir():
    raise FileNotFoundError("run this notebook in the folder notebooks/ of a checkout of jaxgrad")
sys.path.insert(0, "..")

from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, graph, show


# %% [markdown]
# ## One input, then two
#
# The derivative of x³ - 4x + 2 at 3 is 23. The partial derivatives of x² + y³ at (2, 3) are 4 and
# 27.

# %%
show("backward/cubic")

# %%
figure("tangent")

# %%
show("backward/two_inputs")

# %% [markdown]
# ## The chain rule
#
# e = c·d with c = a·b at (a, b, d) = (2, 3, 4). The leaves a, b and d get the gradients 12, 8 and
# 6; the intermediate c gets no `.grad`.

# %%
question("backward/chain_rule")

# %%
show("backward/chain_rule")

# %% [markdown]
# **The numbers on the edges.** Each operation multiplies the gradient that arrives by its own
# derivative. The gradient of a is the product on the path from e to a: 4 · 3.

# %%
figure("chain_rule")

# %% [markdown]
# **The gradient of an intermediate.** Its `.grad` is `None`; `autograd.grad(d, c)` returns it. In
# JAX you differentiate the rest of the program with respect to c.

# %%
show("backward/grad_of_intermediate")

# %% [markdown]
# ## A longer example
#
# All inputs are 2, and `c.requires_grad = True` is set in the middle of the program. This makes c a
# leaf, so the values before it get no gradient.

# %%
show("backward/long_example")

# %%
graph("backward/long_example")

# %% [markdown]
# **A value that is used twice.** h is used in g/h and in i + h. Its gradient is the sum over both
# uses.

# %%
question("backward/several_uses")

# %%
show("backward/several_uses")

# %% [markdown]
# **`retain_grad()`** keeps the gradient of an intermediate, which torch would otherwise discard. A
# JAX intermediate has no attribute to keep it in: `jaxgrad.retain_grad(i, "i")` names it, and its
# gradient is returned together with the others. On a detached value torch's `retain_grad()` raises,
# because that value has no gradient.

# %%
show("backward/retain_grad")

# %% [markdown]
# **Both in one picture.** An arrow carries the gradient of one use. h and i have two uses each, and
# their gradients are the sums.

# %%
figure("fork_sum")

# %% [markdown]
# ## Which tensors get a gradient
#
# Only the tensor that requires grad gets one.

# %%
show("backward/requires_grad")

# %% [markdown]
# ## The cotangent: `backward(gradient=...)`
#
# The `gradient` argument in torch is JAX's cotangent, the argument of the function that `jax.vjp`
# returns. For x² at 3 and a cotangent of 0.05 the result is 0.3.

# %%
show("backward/cotangent")

# %% [markdown]
# To differentiate an output that is not a scalar, sum it first or pass a cotangent of its shape.
# Without either, both frameworks raise.

# %%
show("backward/non_scalar")

# %%
show("backward/non_scalar_without_cotangent")

# %% [markdown]
# ## Unpacking one tensor into several
#
# The gradients of the pieces are reassembled in the gradient of the tensor.

# %%
show("backward/unbind")

# %% [markdown]
# ## Gradients with respect to the input: an adversarial example and adjusted embeddings
#
# The input is just another argument to differentiate with respect to. A step along the sign of its
# gradient increases the loss.

# %%
show("backward/fgsm")

# %%
figure("fgsm")

# %% [markdown]
# Embedding vectors that were looked up can be adjusted one by one, while the table stays unchanged.

# %%
show("backward/adjust_embedding")

# %% [markdown]
# ## Four micro-batches instead of one batch
#
# `backward()` adds and never divides. For the gradient of the mean over one batch, split it into
# four equal parts and divide the loss of each part by 4: for each part a, b of x and y call
# `(mse(model(a), b) / 4).backward()`, with `x.chunk(4)` and `y.chunk(4)` for the parts.
#
# The sum in `.grad` equals the gradient of the whole batch up to rounding. With batch norm in train
# mode it does not, because each part is normalized by its own statistics. In JAX add the gradients
# of the four parts and divide by 4.
#
# Accumulating gradients over several calls, and the gradients of a whole network, are in
# [00_ten_minutes](00_ten_minutes.ipynb); [memory](memory.ipynb) covers parts of different sizes.

# %% [markdown]
# ## Exercises
#
# The solution and what it prints are folded.

# %%
exercise("backward/rest_of_the_program")

# %%
exercise("backward/weighted_outputs")

# %% [markdown]
# ## What to take away
#
# - In JAX the arguments of the differentiated function take the place of `requires_grad`.
# - The gradient of an intermediate is the gradient of the rest of the program.
# - A value that is used twice gets the sum over both uses.
# - `backward(gradient=g)` is the function that `jax.vjp` returns, called with `g`.
