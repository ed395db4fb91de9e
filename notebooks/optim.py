# %% [markdown]
# # Controlling the optimizer step
#
# An optimizer in JAX is a pair of optax functions: `init(params)` and `update(grads, state,
# params)`. A tree of labels next to the tree of parameters assigns the settings to the parameters.
#
# **You will be able to** give groups of parameters their own settings, change gradients by hand,
# and skip steps without changing a parameter by accident.
#
# **Time** 20 minutes · **Level** intermediate · **Read first:** [none_or_zero](none_or_zero.ipynb)

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

import matplotlib.pyplot as plt

from parity_tests.notebook.check import check
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import show, without


# %% [markdown]
# ## Parameter groups
#
# Each group has its own learning rate, momentum and weight decay. The last column uses one setting
# for all parameters.

# %%
show("optim/param_groups", only="losses/* params/3/*", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# ## A step by hand
#
# Subtracting the gradient times the learning rate is exactly plain SGD. torch needs `no_grad`
# around it: a leaf that requires grad must not be changed in place, and torch raises if it is. JAX
# creates new parameters outside any differentiated function, so it needs nothing similar.

# %%
# torch
import torch


w = torch.tensor(4.0, requires_grad=True)
for _ in range(2):
    (w**2).backward()
    with torch.no_grad():
        w -= 0.25 * w.grad
    w.grad = None
    print(w.item())

# %%
# JAX
import jax


w = 4.0
for _ in range(2):
    w = w - 0.25 * jax.grad(lambda w: w**2)(w)
    print(w)

# %%
# Try it: replace `0.25` by `1.0` in both cells. Does w come closer to the minimum?

# %%
show(
    "optim/by_hand",
    only="losses/* same/* by_hand/l2/* sgd/l2/*",
    prints="losses by_hand sgd",
    claim=False,
)

# %% [markdown]
# ## Skipping every other step: zero is not None
#
# L1's gradient is removed in steps 1 and 3: it is either set to zero or to `None`. In optax
# `conditionally_mask` selects the steps in which a leaf is updated.

# %%
question("optim/every_other_step")

# %%
show("optim/every_other_step", only="*/params/*/l1/bias", asked=True)

# %% [markdown]
# If the gradient is set to zero, momentum and weight decay still change the layer; if it is `None`,
# torch's optimizer skips the layer. A momentum buffer of 1 stays 1 when the gradient is `None`, and
# becomes 0.9 when it is zero (momentum 0.9). `zero_grad(set_to_none=False)` writes zeros into
# existing gradients only: a `None` stays `None`.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.tensor(8.0))
optimizer = torch.optim.SGD([w], lr=1.0, momentum=0.5)
for grad in (torch.tensor(4.0), torch.tensor(0.0)):
    w.grad = grad
    optimizer.step()
    print(w.item())

# %%
# JAX
import jax.numpy as jnp

import jaxgrad


w = jnp.array(8.0)
tx = jaxgrad.optim.sgd(lr=1.0, momentum=0.5)
state = tx.init(w)
for grad in (jnp.array(4.0), jnp.array(0.0)):
    w, state = tx.step(grad, state, w)
    print(w)

# %%
# Try it: replace `torch.tensor(0.0)` by `None` in torch, and `jnp.array(0.0)` by `None` in JAX.
# Does the second step move w?

# %%
values = show("optim/every_other_step").values
plt.figure(figsize=(6, 2.5), dpi=90)
for silenced, color in (("zero", "#d95f02"), ("none", "#2f81c7")):
    for framework, mark in (("torch", "-"), ("JAX", "o")):
        history = values[framework][silenced]["params"]
        norms = [(net["l1"]["weight"] ** 2).sum() ** 0.5 for net in history]
        plt.plot(range(4), norms, mark, color=color, label=f"{silenced}, {framework}")
plt.xticks(range(4))
plt.xlabel("step; L1's gradient is removed in steps 1 and 3")
plt.title("norm of L1's weight")
plt.legend(fontsize=8)
plot("norm of L1's weight when its gradient is zero and when it is None")

# %% [markdown]
# ## Changing a gradient under a condition
#
# L1's gradient is scaled when its norm is larger than 1. In torch this is a Python `if`, which
# waits for the device. In JAX `lax.cond` decides on the device, inside one compiled program.

# %%
# torch
import torch


w = torch.tensor([3.0, 4.0], requires_grad=True)
(w**2).sum().backward()
if w.grad.norm() > 1:
    w.grad /= 2
print(w.grad)

# %%
# JAX
import jax
import jax.numpy as jnp
from jax import lax


@jax.jit
def gradient(w):
    grad = jax.grad(lambda w: jnp.sum(w**2))(w)
    return lax.cond(jnp.linalg.norm(grad) > 1, lambda grad: grad / 2, lambda grad: grad, grad)


print(gradient(jnp.array([3.0, 4.0])))

# %%
# Try it: replace `> 1` by `> 10` in both cells. The norm of the gradient is 10: which branch
# is taken?

# %% [markdown]
# The same for a network; the table has only the results that change without the condition.

# %%
without("optim/scale_under_condition")

# %% [markdown]
# For an optimizer that is given only some of the parameters see [freezing](freezing.ipynb).

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("optim/momentum_by_hand")

# %%
# Your answer
import jax


def step(param, momentum):  # the loss is w**2, the learning rate 0.1
    return param - 0.1 * jax.grad(lambda w: w**2)(param), momentum


# %%
check("optim/momentum_by_hand", step)

# %%
exercise("optim/skip_a_step")

# %%
# Your answer
import jax
import jax.numpy as jnp
import optax


tx = optax.adam(0.1)


def step(param, state, grad):
    updates, state = tx.update(grad, state)
    return optax.apply_updates(param, updates), state


# %%
check("optim/skip_a_step", step)

# %% [markdown]
# ## What to take away
#
# - An optimizer in JAX is a pair of functions; its state is an argument and a return value.
# - Plain SGD is a subtraction. Nothing like `no_grad` is needed for it.
# - To skip a parameter, skip its update. A zero gradient is not enough.
