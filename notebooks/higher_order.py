# %% [markdown]
# # Gradients of gradients
#
# torch records the backward pass only on request (`create_graph=True`). In JAX the gradient is a
# function, and a function can be differentiated again.
#
# **You will be able to** differentiate gradients, write a gradient penalty that trains, and avoid
# the NaN of a norm at zero.
#
# **Time** 20 minutes · **Level** advanced · **Read first:** [backward](backward.ipynb)

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
from parity_tests.notebook.show import figure, show, without


# %% [markdown]
# ## `create_graph`
#
# The second derivative of x³ at 2 is 12.

# %%
# torch
import torch


x = torch.tensor(2.0, requires_grad=True)
(first,) = torch.autograd.grad(x**3, x, create_graph=True)
(second,) = torch.autograd.grad(first, x)
print(first.item(), second.item())

# %%
# JAX
import jax


first = jax.grad(lambda x: x**3)
second = jax.grad(first)
print(first(2.0), second(2.0))

# %%
# Try it: replace `x**3` by `x**4` in both cells. Work out both numbers first.

# %% [markdown]
# Without `create_graph`, torch's first derivative is a constant.

# %%
show("higher_order/no_create_graph", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# **With `backward` instead of `autograd.grad`**, the second derivative is added to the first,
# because `.grad` accumulates.

# %%
show("higher_order/backward_twice", claim=False)

# %% [markdown]
# **A detached gradient** is a constant in the rest of the program.

# %%
show("higher_order/detached_gradient")

# %% [markdown]
# ## WGAN's gradient penalty
#
# The critic's loss contains the norm of a gradient, and is itself differentiated with respect to
# the parameters. First a critic with one weight: its value is w·x², so its slope is 2wx, and the
# penalty is the square of the slope minus 1.

# %%
# torch
import torch


w, x = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
(slope,) = torch.autograd.grad(w * x**2, x, create_graph=True)
penalty = (slope - 1) ** 2
penalty.backward()
print(penalty.item(), w.grad)

# %%
# JAX
import jax


def penalty(w, x):
    slope = jax.grad(lambda x: w * x**2)(x)
    return (slope - 1) ** 2


print(*jax.value_and_grad(penalty)(1.0, 1.0))

# %%
# Try it: replace `x**2` by `x` in both cells. The slope is then w itself: what are the penalty and
# its gradient at w = 1?

# %% [markdown]
# In the last column of the next table the penalty is treated as a constant: the loss is the same,
# but the gradients differ.

# %%
show("higher_order/gradient_penalty", claim=False)

# %%
without("higher_order/gradient_penalty")

# %% [markdown]
# **Its effect.** A critic learns to distinguish two point clouds. Without the penalty its slope
# keeps growing; with the penalty the slope stays near 1. Both frameworks train the same critic.

# %%
figure("critic_slope")

# %% [markdown]
# **Where the critic is flat** its gradient is zero, and the norm is not differentiable.

# %%
question("higher_order/gradient_penalty_flat")

# %%
show("higher_order/gradient_penalty_flat", asked=True)

# %% [markdown]
# torch's gradient there is 0; that of `jnp.linalg.norm` is NaN, and a single NaN can ruin a
# training run. The JAX program needs `jnp.where` inside and outside of the square root.

# %%
# torch
import torch


x = torch.tensor([0.0, 0.0], requires_grad=True)
torch.linalg.vector_norm(x).backward()
print(x.grad)

# %%
# JAX differs from torch
import jax
import jax.numpy as jnp


print(jax.grad(jnp.linalg.norm)(jnp.array([0.0, 0.0])))

# %%
# Try it: replace `[0.0, 0.0]` by `[3.0, 4.0]` in both cells. Do the frameworks agree there?

# %% [markdown]
# ## The Hessian, and its product with a vector
#
# `jax.hessian(f)` is the whole matrix. Its product with a vector v needs no matrix: it is the
# derivative of the gradient in the direction v, so in JAX it is a `jvp` of the gradient.

# %%
show("higher_order/hessian")

# %%
show("higher_order/hvp", claim=False)

# %% [markdown]
# ## Gradients of single samples
#
# The gradient is a function of one sample, and `vmap` applies it to every row of the batch.

# %%
show("higher_order/per_sample_gradients", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("higher_order/penalty_on_curvature")

# %%
# Your answer
import jax


def penalty(f, w, x):
    return jax.grad(f, argnums=1)(w, x) ** 2  # the square of the slope


# %%
check("higher_order/penalty_on_curvature", penalty)

# %%
exercise("higher_order/norm_at_zero")

# %%
# Your answer
import jax.numpy as jnp


def norm(x):
    square = jnp.sum(x**2)
    return jnp.where(square > 0, jnp.sqrt(square), 0.0)


# %%
check("higher_order/norm_at_zero", norm)

# %% [markdown]
# ## What to take away
#
# - `create_graph=True` needs no counterpart: in JAX a gradient is a function like any other, and
#   can be differentiated again.
# - A penalty that is treated as a constant leaves the loss unchanged and removes its gradient.
# - The gradient of a norm at zero is 0 in torch and NaN in `jnp.linalg.norm`.
