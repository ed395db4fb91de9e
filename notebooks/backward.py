# %% [markdown]
# # Calling backward: outputs, inputs, and the contents of `.grad`
#
# `backward()` fills the `.grad` of the leaves. In JAX you choose the arguments to differentiate
# with respect to, and the gradients are returned in the same tree structure.
# `jaxgrad.value_and_grad` works like `jax.value_and_grad`, but returns `None` where torch's `.grad`
# is `None` (for the exceptions see [none_or_zero](none_or_zero.ipynb)).
#
# **You will be able to** compute gradients with respect to any value of a program, of outputs that
# are not scalars, and predict what `.grad` holds afterwards.
#
# **Time** 50 minutes · **Level** first steps ·
# **Read first:** [First steps](00_ten_minutes.ipynb)

# %%
# Setup: this notebook runs anywhere in a checkout of jaxgrad.
import pathlib
import sys


folders = [pathlib.Path.cwd(), *pathlib.Path.cwd().parents]
checkout = next((path for path in folders if (path / "parity_tests").is_dir()), None)
if checkout is None:
    sys.exit(
        "Open this notebook in a checkout of jaxgrad, whose programs it runs; without one, "
        "the cells that begin with '# torch' and '# JAX' still run on their own."
    )
sys.path.insert(0, str(checkout))

from parity_tests.notebook.check import check
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, graph, show


# %% [markdown]
# ## One input, then two
#
# The derivative of x³ - 4x + 2 at 3 is 23. The partial derivatives of x² + y³ at (2, 3) are 4 and
# 27.

# %%
show("backward/cubic", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)

# %%
figure("tangent")

# %%
show("backward/two_inputs")

# %% [markdown]
# ## The chain rule
#
# e = c·d with c = a·b at (a, b, d) = (2, 3, 4).

# %%
question("backward/chain_rule")

# %%
show("backward/chain_rule", asked=True)

# %% [markdown]
# The leaves a, b and d get the gradients 12, 8 and 6. The intermediate c gets no `.grad`, although
# its gradient was computed on the way.
#
# **The numbers on the edges.** Each operation multiplies the gradient that arrives by its own
# derivative. The gradient of a is the product on the path from e to a: 4 · 3.

# %%
figure("chain_rule")

# %% [markdown]
# **The gradient of an intermediate.** Its `.grad` is `None`; `autograd.grad(d, c)` returns it. In
# JAX you differentiate the rest of the program with respect to c.

# %%
show("backward/grad_of_intermediate", claim=False)

# %% [markdown]
# ## A longer example
#
# All inputs are 2. Neither a nor b requires a gradient, so c = a·b is a leaf, and
# `c.requires_grad = True` in the middle of the program starts the graph there: the values before c
# get no gradient. (On a tensor that is not a leaf this line would raise.)

# %%
show("backward/long_example", claim=False)

# %%
graph("backward/long_example")

# %% [markdown]
# **A value that is used twice.** h is used in g/h and in i + h.

# %%
question("backward/several_uses")

# %%
show("backward/several_uses", asked=True)

# %% [markdown]
# The gradient of h is the sum over both uses. At x = 1 the next cells use h = 2x twice, in 3h and
# in h².

# %%
# torch
import torch


x = torch.tensor(1.0, requires_grad=True)
h = 2 * x
(3 * h + h**2).backward()
print(x.grad)

# %%
# JAX
import jax
from jax import lax


def loss(x):
    h = 2 * x
    return 3 * h + h**2


print(jax.grad(loss)(1.0))

# %%
# Try it: stop one of the two uses: replace `h**2` by `h.detach() ** 2` in torch, and `h**2` by
# `lax.stop_gradient(h) ** 2` in JAX. What is left of the gradient?

# %% [markdown]
# **`retain_grad()`** keeps the gradient of an intermediate, which torch would otherwise discard. A
# JAX intermediate has no attribute to keep it in: `jaxgrad.retain_grad(i, "i")` names it, and its
# gradient is returned together with the others. On a detached value torch's `retain_grad()` raises,
# because that value has no gradient.

# %%
# torch
import torch


a, b, d = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 4.0))
c = a * b
c.retain_grad()
(c * d).backward()
print("a", a.grad, "b", b.grad, "d", d.grad)
print("c", c.grad)

# %%
# JAX
import jaxgrad


def e(a, b, d):
    c = jaxgrad.retain_grad(a * b, "c")
    return c * d


_, (da, db, dd), kept = jaxgrad.value_and_retained_grads(e, (0, 1, 2))(2.0, 3.0, 4.0)
print("a", da, "b", db, "d", dd)
print("c", kept["c"])

# %%
# Try it: replace `4.0` by `0.0` in both cells. Which gradient is left?

# %%
show("backward/retain_grad", claim=False)

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
show("backward/requires_grad", claim=False)

# %% [markdown]
# ## The cotangent: `backward(gradient=...)`
#
# A *cotangent* is the gradient of the loss with respect to an output. In torch it is the argument
# `gradient` of `backward`, in JAX the argument of the function that `jax.vjp` returns. For x² at 3
# and a cotangent of 0.05 the result is 0.05 · 6 = 0.3.

# %%
show("backward/cotangent", claim=False)

# %% [markdown]
# To differentiate an output that is not a scalar, sum it first or pass a cotangent of its shape.
# Without either, both frameworks raise.

# %%
# torch
import torch


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
y.backward(gradient=torch.tensor([1.0, 10.0]))
print(x.grad)

# %%
# JAX
import jax
import jax.numpy as jnp


x = jnp.array([1.0, 2.0])
y, pull_back = jax.vjp(lambda x: x**2, x)
(grad,) = pull_back(jnp.array([1.0, 10.0]))
print(grad)

# %%
# Try it: replace `[1.0, 10.0]` by `[0.0, 1.0]` in both cells. Which output does this
# cotangent select?

# %%
show("backward/non_scalar_without_cotangent", claim=False)

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
show("backward/fgsm", claim=False)

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
# [First steps](00_ten_minutes.ipynb); [memory](memory.ipynb) covers parts of different sizes.

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("backward/rest_of_the_program")

# %%
# Your answer
import jax


grad = ...  # call jax.grad once

# %%
check("backward/rest_of_the_program", grad)

# %%
exercise("backward/jacobian_by_rows")

# %%
# Your answer
import jax
import jax.numpy as jnp


def rows(f, x):
    y, pull_back = jax.vjp(f, x)
    return jnp.stack([pull_back(y)[0] for _ in y])


# %%
check("backward/jacobian_by_rows", rows)

# %% [markdown]
# ## What to take away
#
# - In JAX the arguments of the differentiated function take the place of `requires_grad`.
# - The gradient of an intermediate is the gradient of the rest of the program.
# - A value that is used twice gets the sum over both uses.
# - `backward(gradient=g)` is the function that `jax.vjp` returns, called with `g`.
