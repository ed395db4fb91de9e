# %% [markdown]
# # torch's optimizers, and the optax functions of the same name
#
# `jaxgrad.optim` provides torch's update rules, arguments and defaults. In the last column of each
# table the most similar optax optimizer, or a plausible mistake, takes its place: it trains
# differently, or does not raise where torch does.
#
# **You will be able to** recognize the optimizers that train differently in optax and torch under
# the same name.
#
# **Time** 20 minutes · **Level** reference · **Read first:** [optim](optim.ipynb)

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
from parity_tests.notebook.show import figure, show


# %% [markdown]
# ## One step of three optimizers
#
# The gradient is zero in the first program, so the step is weight decay alone. torch's AdamW
# decays by 0.01 times the learning rate, optax's by 0.0001 times.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.tensor(100.0))
w.grad = torch.tensor(0.0)
torch.optim.AdamW([w], lr=1.0).step()
print(w.item())

# %%
# JAX differs from torch
import jax.numpy as jnp
import optax


w, tx = jnp.array(100.0), optax.adamw(1.0)
updates, state = tx.update(jnp.array(0.0), tx.init(w), w)
print(optax.apply_updates(w, updates))

# %%
# Try it: replace `optax.adamw(1.0)` by `optax.adamw(1.0, weight_decay=0.01)`. Do the two agree now?

# %% [markdown]
# Adagrad divides by the root of the sum of all squared gradients. optax starts this sum at 0.1,
# torch at 0.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.tensor(10.0))
w.grad = torch.tensor(1.0)
torch.optim.Adagrad([w], lr=2.0).step()
print(w.item())

# %%
# JAX differs from torch
import jax.numpy as jnp
import optax


w, tx = jnp.array(10.0), optax.adagrad(2.0)
updates, state = tx.update(jnp.array(1.0), tx.init(w), w)
print(optax.apply_updates(w, updates))

# %%
# Try it: replace `optax.adagrad(2.0)` by `optax.adagrad(2.0, initial_accumulator_value=0.0)`. Do
# the two agree now?

# %% [markdown]
# Momentum of 1 with dampening of 0.5: the first step has the whole gradient, each later step adds
# half of it. `jaxgrad.optim.sgd` has torch's arguments.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.tensor(10.0))
optimizer = torch.optim.SGD([w], lr=1.0, momentum=1.0, dampening=0.5)
for _ in range(3):
    w.grad = torch.tensor(2.0)
    optimizer.step()
    print(w.item())

# %%
# JAX
import jax.numpy as jnp

import jaxgrad


w = jnp.array(10.0)
tx = jaxgrad.optim.sgd(lr=1.0, momentum=1.0, dampening=0.5)
state = tx.init(w)
for _ in range(3):
    w, state = tx.step(jnp.array(2.0), state, w)
    print(w)

# %%
# Try it: replace `dampening=0.5` by `dampening=0.0` in both cells. From which step on do the
# numbers change?

# %% [markdown]
# ## Momentum, second moments and signs
#
# SGD with dampening, AMSGrad, NAdam, RAdam, Adagrad and Rprop.

# %%
show("optimizers/sgd_dampening", only="losses")

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)

# %%
show("optimizers/adam_amsgrad", only="losses")

# %%
show("optimizers/nadam", only="losses")

# %%
show("optimizers/radam", only="losses")

# %%
show("optimizers/adagrad", only="losses")

# %%
show("optimizers/rprop", only="losses")

# %% [markdown]
# **The same losses as curves.** The dots of `jaxgrad.optim` are on torch's line; the dashed line is
# the optax choice of the last column.

# %%
figure("optimizer_losses")

# %% [markdown]
# ## Optimizers that optax does not provide, or defines differently
#
# ASGD, Adafactor, SparseAdam, Muon and L-BFGS.

# %%
show("optimizers/asgd", only="losses")

# %%
show("optim/adafactor", only="7/l2/*")

# %%
show("optim/sparse_adam", only="2")

# %%
show("optim/muon", only="2")

# %%
question("optim/muon_of_a_vector")

# %%
show("optim/muon_of_a_vector", asked=True)

# %% [markdown]
# **L-BFGS.** One step of torch's runs up to `max_iter` iterations, here 3, and may compute the loss
# several times in each. One update of `optax.lbfgs`, in the last column, is one iteration.

# %%
show("optim/lbfgs", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("optimizers/adamw_with_torchs_decay")

# %%
# Your answer
import optax


tx = optax.adamw(0.1)

# %%
check("optimizers/adamw_with_torchs_decay", tx)

# %%
exercise("optimizers/rmsprop_with_torchs_defaults")

# %%
# Your answer
import optax


tx = optax.rmsprop(0.1, eps=0.1)

# %%
check("optimizers/rmsprop_with_torchs_defaults", tx)

# %% [markdown]
# ## What to take away
#
# - The same name is not the same update rule. Compare the losses of a few steps before you train.
# - `jaxgrad.optim` has torch's rules, arguments and defaults.
