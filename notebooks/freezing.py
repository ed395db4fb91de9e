# %% [markdown]
# # Training part of a network
#
# You can restrict training in three places: which parameters get gradients, which parameters the
# optimizer updates, and which paths gradients take. In torch these are `requires_grad`, the
# optimizer's parameter list and `detach`. In JAX they are the argument of `grad`, the tree given to
# the optimizer and `stop_gradient`.
#
# **You will be able to** train part of a network, choose the right one of three places to restrict
# training, and see why `eval()` is none of them.
#
# **Time** 25 minutes · **Level** intermediate · **Read first:** [grad_modes](grad_modes.ipynb)

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
from parity_tests.notebook.plain_jax import plain
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import graph, programs, show


# %% [markdown]
# ## `requires_grad_(False)` on a module
#
# It freezes the module's parameters. A common claim is that `no_grad` around the module is
# equivalent.

# %%
question("grad_modes/requires_grad")

# %%
show("grad_modes/requires_grad", asked=True)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# The claim is wrong: `requires_grad_(False)` still propagates the gradient to the module's input,
# and `no_grad` cuts that gradient too. In JAX, split the parameters with `jaxgrad.partition` and
# differentiate with respect to the trainable half; `jaxgrad.combine` joins the halves in the loss.
#
# If you freeze a layer during training, clear its `.grad` too. `requires_grad_(False)` leaves the
# last gradient there, and the optimizer goes on applying it.

# %%
# torch
import torch


x = torch.tensor(1.0, requires_grad=True)
w1 = torch.tensor(2.0).requires_grad_(False)
w2 = torch.tensor(3.0, requires_grad=True)
loss = w2 * (w1 * x)
loss.backward()
print("x", x.grad, "w1", w1.grad, "w2", w2.grad)

# %%
# JAX
from jax import lax

import jaxgrad


def loss(trained, x):
    p = jaxgrad.combine(trained, frozen)
    return p["w2"] * (p["w1"] * x)


params = {"w1": 2.0, "w2": 3.0}
trained, frozen = jaxgrad.partition(params, lambda name, _: name == "w2")
grads, dx = jaxgrad.grad(loss, (0, 1))(trained, 1.0)
print("x", dx, "w1", grads["w1"], "w2", grads["w2"])

# %%
# Try it: freeze by stopping the output instead: replace `(w1 * x)` by `(w1 * x).detach()` in torch,
# `(p["w1"] * x)` by `lax.stop_gradient(p["w1"] * x)` in JAX. Which gradient is lost?

# %%
plain("partition")

# %%
graph("grad_modes/requires_grad")

# %% [markdown]
# ## An optimizer that is given only the head
#
# L1's gradient is computed anyway. The optimizer does not update L1, and its `zero_grad()` does not
# clear L1's gradient, so L1's `.grad` accumulates. In JAX nothing accumulates unless you add it.

# %%
show("freezing/optimizer_subset", only="grads/*/bias losses/*", claim=False)

# %%
values = show("freezing/optimizer_subset").values
steps = range(1, 4)
plt.figure(figsize=(6, 2.4), dpi=90)
for layer, color in (("l1", "#d95f02"), ("l2", "#2f81c7")):
    for framework, mark in (("torch", "-"), ("JAX", "o")):
        history = values[framework]["grads"]
        norms = [(grads[layer]["weight"] ** 2).sum() ** 0.5 for grads in history]
        plt.plot(steps, norms, mark, color=color, label=f"{layer}, {framework}")
plt.xticks(steps)
plt.xlabel("step")
plt.title("norm of .grad; l1 is not in the optimizer, so zero_grad() skips it")
plt.legend(fontsize=8)
plot("norm of the gradients of both layers at each step, torch and JAX")

# %% [markdown]
# **Only the parameters that require grad.** An optimizer that is given the filtered list trains
# exactly like one that is given all parameters. Only the indices in its state differ, which matters
# when you load that state.

# %%
show(
    "freezing/filter_requires_grad",
    only="*/losses/* */given */state_indices* */params/l2/bias",
    claim=False,
)

# %% [markdown]
# ## Two paths through one trunk
#
# Two modules use the same trunk, and its gradient is the sum over the paths that are not stopped. A
# module whose *input* is stopped still gets its own gradients.

# %%
# torch
import torch


trunk, a, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 5.0))
h = trunk * 10
loss = a * h + b * h.detach()
loss.backward()
print("trunk", trunk.grad, "a", a.grad, "b", b.grad)

# %%
# JAX
import jax
from jax import lax


def loss(trunk, a, b):
    h = trunk * 10
    return a * h + b * lax.stop_gradient(h)


grads = jax.grad(loss, (0, 1, 2))(2.0, 3.0, 5.0)
print("trunk", grads[0], "a", grads[1], "b", grads[2])

# %%
# Try it: delete `.detach()`, and replace `lax.stop_gradient(h)` by `h`. The gradients of a and b
# stay: what is added to that of the trunk?

# %%
graph("freezing/single_headed")

# %% [markdown]
# **One loss per head.** When one head's gradient into the trunk is stopped, the trunk gets only the
# other head's gradient.

# %%
show("freezing/multi_headed", only="*/losses/* */trunk/weight */grads/b/weight", claim=False)

# %%
graph("freezing/multi_headed")

# %% [markdown]
# [actor_critic](actor_critic.ipynb) covers a larger example, an actor and its critic.
#
# ## MobileNetV2 with a new classifier
#
# All parameters are frozen with `requires_grad = False`, the classifier is replaced, and SGD is
# given *all* parameters. Only the classifier changes, because the other parameters' `.grad` is
# `None` and the optimizer skips them. The batch-norm buffers change as well: they are not
# parameters, and the model is in train mode. In JAX the new buffers are return values, so every
# change is visible.
#
# The same with two numbers: the optimizer is given both, and one is frozen.

# %%
# torch
import torch


trunk = torch.nn.Parameter(torch.tensor(2.0)).requires_grad_(False)
head = torch.nn.Parameter(torch.tensor(3.0))
optimizer = torch.optim.SGD([trunk, head], lr=1.0, weight_decay=1.0)
(trunk * head).backward()
optimizer.step()
print("trunk", trunk.item(), "head", head.item())

# %%
# JAX
import jax.numpy as jnp

import jaxgrad


def loss(trained):
    p = jaxgrad.combine(trained, frozen)
    return p["trunk"] * p["head"]


params = {"trunk": jnp.array(2.0), "head": jnp.array(3.0)}
trained, frozen = jaxgrad.partition(params, lambda name, _: name == "head")
grads = jaxgrad.grad(loss)(trained)  # None for the trunk
tx = jaxgrad.optim.sgd(lr=1.0, weight_decay=1.0)
params, state = tx.step(grads, tx.init(params), params)
print("trunk", params["trunk"], "head", params["head"])

# %%
# Try it: train both: delete `.requires_grad_(False)` in torch, and replace `name == "head"` by
# `True` in JAX. How much of the change of the trunk is its gradient, and how much is weight decay?

# %% [markdown]
# MobileNetV2 takes too long to run in a notebook. Here are the two programs and the command that
# compares them.

# %%
programs("mobilenet/freeze")

# %% [markdown]
# ## `eval()` freezes no parameter
#
# `eval()` turns dropout off and makes batch norm use its running statistics. The graph is still
# built, and every parameter still gets its gradient. In JAX `training=False` is an ordinary
# argument.
#
# Of `eval()`, `no_grad` and `detach`, only `eval()` stops the update of the running statistics. In
# train mode batch norm updates them under `no_grad` and before a `detach` too, so a frozen trunk
# needs `trunk.eval()` as well.

# %%
show(
    "grad_modes/eval_mode",
    only="*/loss */requires_grad */grads/*/weight */stats/running_mean",
    claim=False,
)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("freezing/only_biases")

# %%
# Your answer
import jax
import jax.numpy as jnp

import jaxgrad


net = {
    "l1": {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(3)},
    "l2": {"weight": jnp.ones((1, 3)), "bias": jnp.zeros(1)},
}


def loss(net, x):
    h = x @ net["l1"]["weight"].T + net["l1"]["bias"]
    return jnp.mean((h @ net["l2"]["weight"].T + net["l2"]["bias"]) ** 2)


grads = jax.grad(loss)(net, jnp.array([[1.0, 2.0]]))  # differentiates everything

# %%
check("freezing/only_biases", grads)

# %%
exercise("freezing/frozen_is_not_stopped")

# %%
# Your answer
import jax
import jax.numpy as jnp


w = jnp.array([2.0, 3.0])


def frozen(x):
    return ...


def stopped(x):
    return ...


# %%
check("freezing/frozen_is_not_stopped", frozen, stopped)

# %% [markdown]
# ## What to take away
#
# - Freezing parameters, stopping a path and leaving a parameter out of the optimizer are three
#   different things.
# - A frozen layer passes the gradient on to its input.
# - A gradient that no optimizer clears accumulates in torch. In JAX there is no `.grad` to clear.
# - `eval()` changes what layers compute, not which parameters get gradients. It is also what stops
#   the running statistics of a frozen trunk.
