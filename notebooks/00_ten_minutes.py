# %% [markdown]
# # From torch to JAX gradients in ten minutes
#
# For a person who knows torch and has not yet written JAX.
#
# **The one difference.** torch *records* what tensors went through; `backward()` walks that record
# and leaves its results in `.grad`. JAX *transforms functions*: `jax.grad(f)` is another function,
# which returns the gradient. Nothing is recorded on an array, so an array has no `.grad`, no
# `requires_grad`, no `grad_fn`.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import optax
import torch

import jaxgrad
from parity_tests.notebook.show import network, show, without


# %% [markdown]
# ## 1. A gradient
#
# z = x² + y³ at (2, 3) (S4-01). torch: make leaves, compute, call `backward()`, read `.grad`.

# %%
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
z = x**2 + y**3
z.backward()
print(z.item(), x.grad.item(), y.grad.item())

# %% [markdown]
# JAX: write the function, transform it, call the result. `argnums` says by which arguments to
# differentiate; it takes the place of `requires_grad`.


# %%
def f(x, y):
    return x**2 + y**3


value, (dx, dy) = jax.value_and_grad(f, argnums=(0, 1))(2.0, 3.0)
print(value, dx, dy)

# %% [markdown]
# ## 2. Parameters are a tree
#
# A JAX model is a function of its parameters, and these are any nesting of dicts, lists and tuples
# of arrays. The gradient is a tree of the same shape: `for p in model.parameters(): f(p, p.grad)`
# becomes `jax.tree.map(f, params, grads)`.
#
# The programs in these notebooks share a small network. Here it is in both frameworks.

# %%
network()

# %% [markdown]
# Every lesson looks as the next one does: torch's program, the same in JAX, what each gave, the
# verdict. Both texts are taken from the functions that ran. `=` is the same bits, `~` the same to
# rounding, `≠` different. An ULP is the distance to the next floating-point number, here next to
# the largest element of an array.
#
# **Every gradient of a small network (S4-03).**

# %%
show("backward/simple_nn")

# %% [markdown]
# ## 3. Nothing adds up by itself
#
# torch adds every `backward()` to `.grad`, and you clear it. In JAX a gradient is a returned
# value: to add up, add; to clear, do nothing (S4-02).

# %%
show("backward/accumulate")

# %% [markdown]
# ## 4. None is not zero
#
# In torch a parameter that the loss does not reach has `.grad is None`, and an optimizer leaves it
# alone. `jax.grad` has zeros there, and zeros *are* a step for an optimizer with momentum or
# weight decay. `jaxgrad.grad` is `jax.grad` with torch's `None`.

# %%
params = {"used": jnp.array([1.0, 2.0]), "unused": jnp.array([3.0, 4.0])}


def loss(params):
    return jnp.sum(params["used"] ** 2)


print("jax.grad    ", jax.grad(loss)(params))
print("jaxgrad.grad", jaxgrad.grad(loss)(params))

# %% [markdown]
# ## 5. Stopping a gradient
#
# `h.detach()` is `lax.stop_gradient(h)` (S0-02). It has to stand *inside* the function that is
# differentiated, on a value that depends on what you differentiate by; anywhere else it does
# nothing.

# %%
show("grad_modes/detach")

# %% [markdown]
# The last column is the same program with its tool taken out. Every lesson about a tool has it,
# because a program that gives the same with and without `stop_gradient` shows nothing about
# `stop_gradient`. On its own:

# %%
without("grad_modes/detach")

# %% [markdown]
# ## 6. A training loop
#
# First torch, as always.

# %%
torch.manual_seed(0)
layers = torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
model = torch.nn.Sequential(*layers).double()
inputs = torch.randn(64, 4, dtype=torch.float64)
targets = torch.sin(inputs.sum(1, keepdim=True))

# Copies for JAX. `.numpy()` alone shares memory: torch's steps would move the JAX parameters too.
params = {name: jnp.array(p.detach().numpy().copy()) for name, p in model.named_parameters()}
batch = jnp.array(inputs.numpy().copy()), jnp.array(targets.numpy().copy())

sgd, torch_losses = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
for _ in range(60):
    sgd.zero_grad()
    error = torch.nn.functional.mse_loss(model(inputs), targets)
    error.backward()
    sgd.step()
    torch_losses.append(error.item())

# %% [markdown]
# In JAX the step is a function from parameters, optimizer state and batch to new ones. `jax.jit`
# compiles it once for each shape of its inputs. An optimizer is two functions, `init` and
# `update`.


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

apart = max(abs(a - b) for a, b in zip(torch_losses, jax_losses, strict=True))
plt.figure(figsize=(6, 2.5), dpi=90)
plt.plot(torch_losses, label="torch", color="#d95f02", linewidth=2)
plt.plot(jax_losses, "o", label="JAX", color="#1b6ca8", markersize=3)
plt.xlabel("step")
plt.title(f"loss; at no step more than {apart:.0e} apart")
plt.legend()
plt.tight_layout()
plt.show()

# %% [markdown]
# ## 7. What JAX asks of you
#
# - **No Python `if` on a traced value.** `lax.cond`, `lax.scan` and `jnp.where` decide on the
#   device (S3-03, in [control_flow](control_flow.ipynb)).
# - **No change in place.** `a[0] = 1` is `a = a.at[0].set(1)`. A whole class of torch's errors
#   cannot be written (S1-02, in [mutation](mutation.ipynb)).
# - **No side effects.** What you want out of a differentiated function, return: `has_aux=True`.
# - **Randomness is an argument**, a key. There is no hidden generator.
#
# ## The phrase book
#
# | torch | JAX |
# |---|---|
# | `loss.backward(); p.grad` | `jax.grad(loss)(params)` |
# | `.grad is None` | `jaxgrad.grad(loss)(params)` has `None` there |
# | `y.backward(gradient=g)` | `y, vjp = jax.vjp(f, x); vjp(g)` |
# | `h.detach()` | `lax.stop_gradient(h)` |
# | `with torch.no_grad():` around a layer | `jaxgrad.no_grad(layer)(params, x)` |
# | `layer.requires_grad_(False)` | differentiate by the others: `jaxgrad.partition` |
# | `h.retain_grad()` | `h = jaxgrad.retain_grad(h, "h")` |
# | `h.register_hook(fn)` | `h = jaxgrad.hook(h, fn)` |
# | `torch.autograd.Function` | `jaxgrad.from_function(cls)`, `jax.custom_jvp`, `jax.custom_vjp` |
# | `create_graph=True` | `jax.grad(jax.grad(f))` |
# | `retain_graph=True` | nothing: a `vjp` is a value and can be called again |
# | `checkpoint(block, h)` | `jax.checkpoint(block)(h)` |
# | `clip_grad_norm_(params, 1.0)` | `jaxgrad.clip_grad_norm(grads, 1.0)` |
# | `torch.func.vmap`, `torch.func.grad` | `jax.vmap`, `jax.grad` |
#
# The other notebooks take these one by one; [README.md](README.md) has the order.
