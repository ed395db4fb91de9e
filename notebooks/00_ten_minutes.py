# %% [markdown]
# # First steps (25 minutes)
#
# From torch's gradients to JAX's, for readers who know torch and have not used JAX yet.
#
# **The main difference.** torch *records* the operations that tensors go through; `backward()`
# walks that record and stores its results in `.grad`. JAX *transforms functions*: `jax.grad(f)` is
# a new function that returns the gradient. An array carries no record, so it has no `.grad`, no
# `requires_grad` and no `grad_fn`. [The stepper](../docs/stepper.md) shows both, one operation at a
# time.
#
# **You will be able to** translate a torch training loop to JAX, say which of torch's habits do not
# carry over, and read the comparisons in all other notebooks.
#
# **Time** 25 minutes · **Level** first steps · **Read first:** nothing, if you have used torch
#
# Reading takes about 15 minutes and the two exercises another 10.

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

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax
import torch

import jaxgrad
from parity_tests.notebook.check import check
from parity_tests.notebook.plain_jax import plain
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import graph, show, without


jax.config.update("jax_enable_x64", True)  # float64, explained at the end of section 1


# %% [markdown]
# ## 1. A gradient
#
# Differentiate z = x² + y³ at (2, 3). In torch you create leaf tensors, compute, call `backward()`
# and read `.grad`. Cells that begin with `# torch` or `# JAX` run in any Python session that has
# torch, JAX and jaxgrad: change them as the cell below them suggests.

# %%
# torch
import torch


x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
z = x**2 + y**3
z.backward()
print(z.item(), x.grad, y.grad)

# %% [markdown]
# In JAX you write the function, transform it and call the result. `argnums` selects the arguments
# to differentiate with respect to; it takes the place of `requires_grad`.

# %%
# JAX
import jax


def f(x, y):
    return x**2 + y**3


value, (dx, dy) = jax.value_and_grad(f, argnums=(0, 1))(2.0, 3.0)
print(value, dx, dy)

# %%
# Try it: replace `y**3` by `x * y` in both cells. Which of the two gradients now depends on both
# numbers? Work them out before you run the cells.

# %% [markdown]
# **float32 or float64.** Both frameworks create float32 arrays by default. An array that already is
# float64 stays float64 in torch, but JAX converts it to float32 without a warning, unless x64 is
# switched on. These notebooks switch it on when they start, so that a wrong gradient cannot hide in
# rounding. In your own session decide it first, before you create an array.

# %%
array = np.array([0.1, 0.2])
with jax.enable_x64(False):
    print("JAX by default", jnp.asarray(array).dtype)
print("JAX with x64  ", jnp.asarray(array).dtype)
print("torch         ", torch.tensor(array).dtype)

# %% [markdown]
# ## 2. Parameters are a tree
#
# A JAX model is a function of its parameters. The parameters are a *pytree*: dicts, lists and
# tuples of arrays, nested in any way. The gradient is a tree of the same structure, so `for p in
# model.parameters(): f(p, p.grad)` becomes `jax.tree.map(f, params, grads)`.
#
# Plain JAX needs nothing else: `jax.grad` of a loss of the parameters.

# %%
tree = {"l1": {"weight": jnp.array([[0.5, -1.0]]), "bias": jnp.zeros(1)}}


def squared(params, x):
    h = x @ params["l1"]["weight"].T + params["l1"]["bias"]
    return jnp.sum(h**2)


tree_grads = jax.grad(squared)(tree, jnp.array([[1.0, 2.0]]))
print(tree_grads)
print(jax.tree.map(lambda p, g: p - 0.1 * g, tree, tree_grads))

# %% [markdown]
# Every comparison in these notebooks has the same form as the next one: the lines of torch, the
# lines of JAX, a table of their results, and a verdict. The line to look at is marked. The lines
# are cut from the programs that actually ran. Below them *the whole script* is folded, with the
# network and its inputs: copy it into a file, or into a cell of a plain session with torch, or with
# JAX and jaxgrad, and it runs.
#
# `=` means bit-identical, `~` means equal up to rounding, and `≠` means different. Numbers have
# three digits; below the table all digits are folded. Each comparison draws its own inputs, unless
# the text says that several share them.
#
# JAX's side calls `jaxgrad.value_and_grad`, which works like `jax.value_and_grad`, but returns
# `None` where torch does (section 4).
#
# **Every gradient of a small network.** Two linear layers with a ReLU between them, and the mean
# squared error.

# %%
show("backward/simple_nn", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# **How to read the pictures.** The next one shows the graphs of this program. Read the headers from
# left to right as the forward pass, and the boxes from right to left as the backward pass. A box on
# torch's side is a node of the graph, named after the operation that it differentiates: `Addmm` is
# a linear layer. A box on JAX's side is an equation of the program that computes the gradients (the
# *VJP*, short for vector-Jacobian product): `dot` multiplies matrices, `reduce_sum` computes the
# gradient of a bias. The pills at the bottom are the parameters with the norms of their gradients.
# In later pictures scissors mark where a gradient is stopped, a dotted box stands for an operation
# that has no backward step here, and `0/None` means that `jax.grad` returns 0 and `jaxgrad.grad`
# returns `None`.

# %%
graph("backward/simple_nn")

# %% [markdown]
# ## 3. Gradients do not accumulate by themselves
#
# A training loop in torch calls `zero_grad()` at every step.

# %%
question("backward/accumulate")

# %%
show("backward/accumulate", asked=True)

# %% [markdown]
# torch adds the result of every `backward()` to `.grad`, and you have to clear it. In JAX a
# gradient is a return value: to accumulate gradients, add them; there is nothing to clear.

# %%
# torch
import torch


w = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(2):
    (w**2).sum().backward()
    print(w.grad)

# %%
# JAX
import jax
import jax.numpy as jnp


def loss(w):
    return jnp.sum(w**2)


w, total = jnp.array([1.0, 2.0]), 0
for _ in range(2):
    total = total + jax.grad(loss)(w)
    print(total)

# %%
# Try it: in both cells replace `range(2)` by `range(4)`. After which call is the second number 12?

# %% [markdown]
# Gradients of a whole network are trees, and a leaf is `None` if the parameter has no gradient (see
# section 4). `jaxgrad.accumulate` adds two such trees.

# %%
plain("accumulate")

# %% [markdown]
# ## 4. None is not zero
#
# In torch a parameter that the loss does not depend on has `.grad is None`, and optimizers skip it.
# `jax.grad` returns zeros there, and weight decay, or momentum from earlier gradients, still
# changes a parameter whose gradient is zero. `jaxgrad.grad` is `jax.grad` with torch's `None`. In
# rare cases it differs from torch: [none_or_zero](none_or_zero.ipynb) shows three.

# %%
# torch
import torch


used = torch.tensor([1.0, 2.0], requires_grad=True)
unused = torch.tensor([3.0, 4.0], requires_grad=True)
(used**2).sum().backward()
print("used", used.grad)
print("unused", unused.grad)

# %%
# JAX
import jax
import jax.numpy as jnp

import jaxgrad


def loss(params):
    return jnp.sum(params["used"] ** 2)


params = {"used": jnp.array([1.0, 2.0]), "unused": jnp.array([3.0, 4.0])}
grads = jaxgrad.grad(loss)(params)
print("used", grads["used"])
print("unused", grads["unused"])

# %%
# Try it: replace `jaxgrad.grad` by `jax.grad`. Which line differs from torch, and how?

# %% [markdown]
# ## 5. Stopping a gradient
#
# `h.detach()` becomes `lax.stop_gradient(h)`. The call must be *inside* the differentiated
# function, on a value that depends on the differentiated arguments; anywhere else it has no effect.

# %%
show("grad_modes/detach", prints="grads")

# %% [markdown]
# The last column shows the same program without `stop_gradient`. Every comparison about a
# particular function has such a column, because a program that gives the same results with and
# without `stop_gradient` shows nothing about `stop_gradient`. Here is that difference alone:

# %%
without("grad_modes/detach")

# %% [markdown]
# And the shortest such pair, to change: w² is w·w, and one factor is stopped.

# %%
# torch
import torch


w = torch.tensor(3.0, requires_grad=True)
square = w * w.detach()
square.backward()
print(square.item(), w.grad)

# %%
# JAX
import jax
from jax import lax


def square(w):
    return w * lax.stop_gradient(w)


value, grad = jax.value_and_grad(square)(3.0)
print(value, grad)

# %%
# Try it: delete `.detach()`, and replace `lax.stop_gradient(w)` by `w`. Which number
# changes, and to which value?

# %% [markdown]
# ## 6. A training loop
#
# First in torch.

# %%
torch.manual_seed(0)
layers = torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
model = torch.nn.Sequential(*layers).double()
inputs = torch.randn(64, 4, dtype=torch.float64)
targets = torch.sin(inputs.sum(1, keepdim=True))

# `jnp.array` copies. (`jnp.asarray` may share memory with torch, whose steps change it in place.)
params = {name: jnp.array(p.detach().numpy()) for name, p in model.named_parameters()}
batch = jnp.array(inputs.numpy()), jnp.array(targets.numpy())

sgd, torch_losses = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
for _ in range(60):
    sgd.zero_grad()
    error = torch.nn.functional.mse_loss(model(inputs), targets)
    error.backward()
    sgd.step()
    torch_losses.append(error.item())

# %% [markdown]
# In JAX a training step is a function that takes the parameters, the optimizer state and a batch,
# and returns new parameters and a new state. `jax.jit` compiles it once for each combination of
# input shapes and dtypes. The optimizers here come from optax: each is a pair of functions, `init`
# and `update`.


# %%
def apply(params, x):
    h = jnp.tanh(x @ params["0.weight"].T + params["0.bias"])
    return h @ params["2.weight"].T + params["2.bias"]


tx = optax.sgd(0.1, momentum=0.9)


@jax.jit
def step(params, state, batch):
    x, y = batch
    loss, grads = jax.value_and_grad(lambda params: jnp.mean((apply(params, x) - y) ** 2))(params)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


state, jax_losses = tx.init(params), []
for _ in range(60):
    params, state, error = step(params, state, batch)
    jax_losses.append(error.item())

difference = max(abs(a - b) for a, b in zip(torch_losses, jax_losses, strict=True))
plt.figure(figsize=(6, 2.5), dpi=90)
plt.plot(torch_losses, label="torch", color="#d95f02", linewidth=2)
plt.plot(jax_losses, "o", label="JAX", color="#2f81c7", markersize=3)
plt.xlabel("step")
plt.title(f"loss; largest difference {difference:.0e}")
plt.legend()
plot("losses of the training loop in torch and in JAX")

# %% [markdown]
# ## 7. What JAX asks of you
#
# - **No Python `if` on a traced value** under `jit`, `vmap` and `scan`: there a function is called
#   with tracers, which stand for arrays and have no numbers yet. `lax.cond`, `lax.scan` and
#   `jnp.where` decide on the device. `jax.grad` alone allows the `if`; see
#   [control_flow](control_flow.ipynb).
# - **No in-place changes.** `a[0] = 1` becomes `a = a.at[0].set(1)`. A whole class of torch errors
#   cannot occur; see [mutation](mutation.ipynb).
# - **No side effects.** Return every value that you need from a differentiated function, with
#   `has_aux=True`.
# - **Randomness is an argument**, called a key. There is no hidden generator.
#
# ## The phrase book
#
# | torch | JAX |
# |---|---|
# | `loss.backward(); p.grad` | `jax.grad(loss)(params)` |
# | `.grad is None` | `jaxgrad.grad(loss)(params)` returns `None` there |
# | `y.backward(gradient=g)` | `y, vjp = jax.vjp(f, x); vjp(g)` |
# | `h.detach()` | `lax.stop_gradient(h)` |
# | `with torch.no_grad():` around a layer | `jaxgrad.no_grad(layer)(params, x)` |
# | `layer.requires_grad_(False)` | `jaxgrad.partition`, then differentiate the trainable half |
# | `h.retain_grad()` | `h = jaxgrad.retain_grad(h, "h")` |
# | `h.register_hook(fn)` | `h = jaxgrad.hook(h, fn)` |
# | `torch.autograd.Function` | `jaxgrad.from_function(cls)`, `jax.custom_jvp`, `jax.custom_vjp` |
# | `create_graph=True` | `jax.grad(jax.grad(f))` |
# | `retain_graph=True` | not needed: the function that `jax.vjp` returns can be called repeatedly |
# | `checkpoint(block, h)` | `jax.checkpoint(block)(h)` |
# | `clip_grad_norm_(params, 1.0)` | `jaxgrad.clip_grad_norm(grads, 1.0)` |
# | `torch.func.vmap`, `torch.func.grad` | `jax.vmap`, `jax.grad` |
#
# The other notebooks explain these one by one; [README.md](README.md) lists them in reading order.

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("ten_minutes/two_batches")

# %%
# Your answer
import jax
import jax.numpy as jnp
import torch


w = torch.tensor([1.0, 2.0], requires_grad=True)
for x in (torch.tensor([1.0, 1.0]), torch.tensor([0.0, 3.0])):
    ((w * x).sum() ** 2).backward()

total = ...  # in JAX: the same as w.grad

# %%
check("ten_minutes/two_batches", total)

# %%
exercise("ten_minutes/bootstrapped_target")

# %%
# Your answer
import jax.numpy as jnp
from jax import lax


def value(w, x):
    return jnp.sum(w * x)


def loss(w, now, after):
    target = 1 + 0.9 * value(w, after)
    return (value(w, now) - target) ** 2


# %%
check("ten_minutes/bootstrapped_target", loss)

# %% [markdown]
# ## What to take away
#
# - JAX differentiates functions. A gradient is a return value with the structure of the parameters.
# - There is no `.grad`, so nothing accumulates and nothing has to be cleared.
# - `jax.grad` returns zeros where torch has `None`; `jaxgrad.grad` returns `None`.
# - `stop_gradient` has an effect only inside the function that is differentiated.
# - JAX computes in float32 until you switch on x64.
