# %% [markdown]
# # None or zero, and other corner cases of autograd
#
# An optimizer treats a gradient of `None` and a gradient of zero differently: weight decay,
# or momentum from earlier gradients, changes a parameter whose gradient is zero and skips one whose
# gradient is `None`. So you
# need to know which of the two a parameter gets, in torch and in JAX.
#
# **You will be able to** predict whether a gradient is `None`, zero or a number, say why the
# difference matters to an optimizer, keep it in JAX, and build a backward pass from JAX's linear
# part and its transpose.
#
# **Time** 60 minutes · **Level** intermediate · **Read first:** [grad_modes](grad_modes.ipynb)

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
# ## Ways to lose a gradient
#
# A loss is a sum with one line for each of seven parameters; an eighth, `p["unused"]`, has no line.
# Most of these lines lose the gradient, each in its own way.

# %%
question("none_or_zero/none_or_zero")

# %%
show("none_or_zero/none_or_zero", asked=True)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# Multiplying by zero, masking and rounding down give zeros. Detaching, casting to integers,
# comparing and not using a value give `None`.
#
# `None` means that there is no path from the loss to the parameter. Zero means that there is a path
# and its derivative is zero. `jax.grad` returns zeros for both; `jaxgrad.grad` finds the missing
# paths in the program and returns `None`, as torch does.

# %%
# torch
import torch


p = {name: torch.tensor(2.0, requires_grad=True) for name in "abcd"}
loss = p["a"] ** 2 + 0 * p["b"] + p["c"].detach()  # d has no term
loss.backward()
for name, tensor in p.items():
    print(name, tensor.grad)

# %%
# JAX
import jax.numpy as jnp
from jax import lax

import jaxgrad


def loss(p):
    return p["a"] ** 2 + 0 * p["b"] + lax.stop_gradient(p["c"])  # d has no term


p = {name: jnp.array(2.0) for name in "abcd"}
grads = jaxgrad.grad(loss)(p)
for name in "abcd":
    print(name, grads[name])

# %%
# Try it: replace `0 * p["b"]` by `(p["b"] > 1)` in both cells. Near 2 the comparison is constant,
# as the product with 0 is. Is the gradient of b still zero?

# %% [markdown]
# **The same eight ways as a matrix.** `jax.grad` fills every cell, so a missing path and a
# derivative of zero look the same.

# %%
figure("none_or_zero")

# %%
without("none_or_zero/none_or_zero")

# %% [markdown]
# **Where the frameworks must differ.** The parameter `other` is used only in the branch that was
# not taken. The condition depends on the data. In JAX the branch is a
# `lax.cond(condition, if_true, if_false)`: the program contains both functions, and calls one.

# %%
question("none_or_zero/branch_not_taken")

# %%
show("none_or_zero/branch_not_taken", asked=True)

# %% [markdown]
# torch never saw the branch that was not taken. A compiled `cond` has one gradient structure for
# both branches, so JAX returns zeros.

# %%
# torch
import torch


x = torch.tensor(2.0, requires_grad=True)
other = torch.tensor(5.0, requires_grad=True)
loss = x**2 if x > 0 else other * x
loss.backward()
print("x", x.grad)
print("other", other.grad)

# %%
# JAX differs from torch
from jax import lax

import jaxgrad


def loss(x, other):
    return lax.cond(x > 0, lambda: x**2, lambda: other * x)


dx, dother = jaxgrad.grad(loss, (0, 1))(2.0, 5.0)
print("x", dx)
print("other", dother)

# %%
# Try it: replace `2.0` by `-2.0` in both cells. Which branch runs now, and what do the frameworks
# agree on?

# %% [markdown]
# ## What an optimizer does with each
#
# SGD with weight decay, where one gradient is zero and the other is `None`. `jaxgrad.optim.sgd` has
# torch's arguments; `init` returns its state, and `step` new parameters and a new state.
#
# optax needs an array for each parameter: with a `None` its optimizers or `apply_updates` raise,
# with words such as "pytree structure error". For optax keep the zeros of `jax.grad`, and name the
# parameters that must not move with `optax.partition`; see [param_groups](param_groups.ipynb).

# %%
# torch
import torch


zero = torch.nn.Parameter(torch.tensor(8.0))
none = torch.nn.Parameter(torch.tensor(8.0))
zero.grad = torch.tensor(0.0)
torch.optim.SGD([zero, none], lr=0.5, weight_decay=0.5).step()
print(zero.item(), none.item())

# %%
# JAX
import jax.numpy as jnp

import jaxgrad


params = {"zero": jnp.array(8.0), "none": jnp.array(8.0)}
grads = {"zero": jnp.array(0.0), "none": None}
tx = jaxgrad.optim.sgd(lr=0.5, weight_decay=0.5)
params, state = tx.step(grads, tx.init(params), params)
print(params["zero"], params["none"])

# %%
# Try it: replace `weight_decay=0.5` by `weight_decay=0.0`. (Momentum would move `zero` only if an
# earlier gradient was not zero.) Does the difference between zero and `None` still matter?

# %% [markdown]
# ## Through control flow, and through a gradient
#
# The rules are the same. torch sees only the operations that ran; JAX compiles `scan`, `cond` and
# `vmap`, and `jaxgrad` follows the paths through them. The second example differentiates a
# gradient.

# %%
show("none_or_zero/through_loop")

# %%
show("none_or_zero/through_gradient")

# %% [markdown]
# ## More places where the frameworks differ
#
# **A rule that returns `None`.** Besides the branch that is not taken, `jaxgrad.grad` returns zeros
# for torch's `None` at a raw `jax.custom_vjp`, a function with a backward pass of its own. JAX
# replaces a `None` that its rule returns by zeros before `jaxgrad` can see it.
# (`jaxgrad.from_function` keeps the `None`; see [custom](custom.ipynb).)

# %%
show("none_or_zero/rule_returns_none", claim=False)

# %% [markdown]
# **A random draw.** Here it is the other way round. torch records `torch.bernoulli(p)`,
# `torch.poisson(p)` and `torch.normal(p, 1)`, and gives `p` zeros. In JAX there is no path from
# `jax.random.bernoulli(key, p)` or `jax.random.poisson(key, p)` to `p`, because the results are
# booleans and integers, so `jaxgrad.grad` returns `None`. A sum with a draw does have a path:
# `p + torch.randn(())` and `p + jax.random.normal(key)` give `p` the gradient 1. To port
# `torch.normal(p, 1)`, write `lax.stop_gradient(p) + jax.random.normal(key)`; for this line too,
# `jaxgrad.grad` returns `None` and `jax.grad` returns zeros. Where torch's zeros matter, as with
# weight decay, add `0 * p`: then there is a path, and `jaxgrad.grad` returns zeros as well.

# %% [markdown]
# ## `allow_unused`, and raising an error
#
# `unused="none"`, `"zeros"` and `"error"` correspond to `autograd.grad` with `allow_unused=True`,
# with `materialize_grads=True` and with its defaults.

# %%
show("none_or_zero/allow_unused", claim=False)

# %%
show("none_or_zero/unused_raises", claim=False)

# %% [markdown]
# ## A loss of shape (1,)
#
# torch accepts any loss that has one element. `jax.grad` requires a scalar; `jaxgrad.grad` accepts
# the same losses as torch.

# %%
show("autograd/loss_of_size_1", claim=False)

# %% [markdown]
# ## Integers, buffers, tied weights
#
# Integer inputs and buffers get `None`. A weight that is used in two places gets one gradient, the
# sum over both.

# %%
show("autograd/integer_input")

# %%
show("autograd/buffers")

# %%
show("autograd/tied_weights", claim=False)

# %% [markdown]
# ## Gradients of single samples
#
# Per-sample gradients are a `vmap` over a gradient. torch's random generator is hidden state, so
# its `vmap` needs `randomness=` for dropout. In JAX the mask, or a key, is an argument of each
# sample.

# %%
show("autograd/per_sample", only="*weight", claim=False)

# %%
show("autograd/per_sample_dropout", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("none_or_zero/transposed")

# %%
# Your answer
import jax
import jax.numpy as jnp


def f(x):
    return jnp.stack([x[0] * x[1], 3 * x[0], x[1] ** 2])


forward = ...  # at x = [2, 5], for the tangent [1, 0] of x: a list
backward = ...  # at x = [2, 5], for the gradient [1, 1, 0] of f(x): a list


def pull_back(f, x, g):
    return ...


# %%
check("none_or_zero/transposed", forward, backward, pull_back)

# %%
exercise("none_or_zero/decay_that_skips_none")


# %%
# Your answer
def step(p, g):  # a parameter, its gradient or None; learning rate 0.1, weight decay 0.5
    return ...


# %%
check("none_or_zero/decay_that_skips_none", step)

# %%
exercise("none_or_zero/one_of_each")


# %%
# Your answer
def loss(params):
    return params["a"] + params["b"] + params["c"]


# %%
check("none_or_zero/one_of_each", loss)

# %% [markdown]
# ## What to take away
#
# - `None` says that there is no path, zero that there is a path with derivative zero.
# - Momentum and weight decay change a parameter whose gradient is zero, and skip one whose gradient
#   is `None`.
# - `jax.grad` returns zeros for both; `jaxgrad.grad` finds out whether there is a path.
# - In rare cases `jaxgrad.grad` differs from torch. In a branch of `lax.cond` that is not taken,
#   and where a raw `custom_vjp` returns `None`, it returns zeros. For the parameter of
#   `jax.random.bernoulli` or `poisson` it returns `None`, where torch gives zeros.
# - A backward pass in JAX is the transpose of the function's linear part: `jax.linearize`, then
#   `jax.linear_transpose`.
