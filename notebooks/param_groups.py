# %% [markdown]
# # Parameter groups, freezing, and None versus zero
#
# The options and state that torch's optimizers keep for each parameter, and their counterparts in
# JAX.
#
# **You will be able to** port torch's parameter groups, freeze a group without moving it, and
# continue training from torch's optimizer state.
#
# **Time** 20 minutes · **Level** intermediate · **Read first:** [optim](optim.ipynb)

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
# ## torch's parameter groups with torch's option names
#
# `jaxgrad.optim` provides torch's optimizers with torch's arguments and defaults. `param_groups`
# gives each group its own options, including its own learning-rate schedule. Groups are selected by
# labels: a function of a parameter's path, or a tree.

# %%
# torch
import torch


a, b = (torch.nn.Parameter(torch.tensor(10.0)) for _ in range(2))
groups = [{"params": [a], "lr": 1.0}, {"params": [b], "lr": 2.0, "weight_decay": 0.5}]
optimizer = torch.optim.SGD(groups)
(a + b).backward()
optimizer.step()
print("a", a.item(), "b", b.item())

# %%
# JAX
import jax
import jax.numpy as jnp

from jaxgrad import optim


groups = {"slow": {"lr": 1.0}, "fast": {"lr": 2.0, "weight_decay": 0.5}}
tx = optim.param_groups(optim.sgd, groups, {"a": "slow", "b": "fast"})
params = {"a": jnp.array(10.0), "b": jnp.array(10.0)}
grads = jax.grad(lambda p: p["a"] + p["b"])(params)
params, state = tx.step(grads, tx.init(params), params)
print("a", params["a"], "b", params["b"])

# %%
# Try it: replace `"weight_decay": 0.5` by `"weight_decay": 0.0` in both cells. How much of the step
# of b was weight decay?

# %%
show("param_groups/group_schedules", only="params/0/* params/3/*", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# A group can be added during training. The existing groups keep their momentum.

# %%
show("param_groups/add_param_group", only="params/2/* params/4/*/bias", claim=False)

# %% [markdown]
# ## Freezing: why not `optax.masked`
#
# The label "frozen" corresponds to `requires_grad_(False)`: no step, no weight decay and no
# optimizer state. `optax.masked` applies the optimizer where the mask is True and passes the raw
# gradient through elsewhere, and that gradient is then *added* to the parameter: in the last column
# the frozen layer l1 moves uphill.

# %%
# torch
import torch


l1, l2 = (torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2))
l1.requires_grad_(False)
(3 * l1 + 5 * l2).backward()
torch.optim.SGD([l1, l2], lr=0.1, weight_decay=1.0).step()
print("l1", l1.item(), "l2", l2.item())

# %%
# JAX
import jax
import jax.numpy as jnp

from jaxgrad import optim


params = {"l1": jnp.array(1.0), "l2": jnp.array(1.0)}
labels = {"l1": "frozen", "l2": 0}
tx = optim.param_groups(optim.sgd, [{"lr": 0.1, "weight_decay": 1.0}], labels)
grads = jax.grad(lambda p: 3 * p["l1"] + 5 * p["l2"])(params)
params, state = tx.step(grads, tx.init(params), params)
print("l1", params["l1"], "l2", params["l2"])

# %%
# Try it: train both: delete `l1.requires_grad_(False)` in torch, and replace `"l1": "frozen"` by
# `"l1": 0` in JAX. Where does l1 go?

# %%
show("param_groups/frozen", only="params/*/bias", claim=False)

# %% [markdown]
# The distance of each layer from its initial parameters, step by step.

# %%
figure("frozen_group")

# %% [markdown]
# ## None versus zero
#
# An optimizer treats a parameter without a gradient differently from one whose gradient is zero.

# %%
question("param_groups/none_gradient")

# %%
show("param_groups/none_gradient", only="*/step */params/l1/bias", asked=True)

# %% [markdown]
# torch skips a parameter whose gradient is `None`: no weight decay, no update from old momentum,
# and no increment of its step count, which determines Adam's bias correction. A zero gradient
# triggers all three.
#
# Under `jit` a leaf that is `None` in one step and an array in another makes two compiled programs,
# and a `scan` refuses it. The `live` argument expresses the same with boolean arrays: here two
# heads are trained alternately.

# %%
show("param_groups/live", only="params/*/a/bias params/*/b/bias")

# %% [markdown]
# ## Same name, different optimizer
#
# In the last column optax's optimizer of the same name is used. The default weight decay of AdamW
# differs by a factor of 100. In the second example RMSprop adds eps outside the square root in
# torch and inside it in the last column.

# %%
show("optimizers/adamw", only="losses", claim=False)

# %%
show("optimizers/rmsprop_eps", only="losses", claim=False)

# %% [markdown]
# Training can also continue from the `state_dict` of a torch optimizer.

# %%
show("param_groups/resume", only="step params/2/*/bias", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("param_groups/biases_without_decay")

# %%
# Your answer
from jaxgrad import optim


tx = optim.sgd(lr=0.1, weight_decay=0.5)  # one setting for both parameters

# %%
check("param_groups/biases_without_decay", tx)

# %%
exercise("param_groups/frozen_but_moving")

# %%
# Your answer
from jaxgrad import optim


l1_of_colleague = ...  # a number
tx = ...

# %%
check("param_groups/frozen_but_moving", l1_of_colleague, tx)

# %% [markdown]
# ## What to take away
#
# - `jaxgrad.optim` takes torch's options, with torch's defaults, for each group.
# - `optax.masked` does not freeze: it adds the raw gradient to the parameter.
# - An optimizer of the same name may have other defaults.
