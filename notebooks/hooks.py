# %% [markdown]
# # Hooks: observing and changing a gradient during the backward pass
#
# torch calls what is registered on a tensor or a module. In JAX you wrap the value and use the
# result: `h = jaxgrad.hook(h, fn)` is the identity in the forward pass and calls `fn` with the
# gradient in the backward pass.
#
# **You will be able to** watch, keep and change gradients in the middle of a program, also under
# `jit`.
#
# **Time** 25 minutes · **Level** intermediate · **Read first:** [backward](backward.ipynb)

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

import jaxgrad
from parity_tests.notebook.check import check
from parity_tests.notebook.plain_jax import plain
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, show, without


# %% [markdown]
# ## A hook that changes a gradient
#
# The hook of the next cells receives the gradient of h and returns another one in its place.

# %%
# torch
import torch


x = torch.tensor(1.0, requires_grad=True)
h = 2 * x
h.register_hook(lambda grad: grad.clamp(-1, 1))
loss = 3 * h
loss.backward()
print(x.grad)

# %%
# JAX
import jax
import jax.numpy as jnp

import jaxgrad


def loss(x):
    h = jaxgrad.hook(2 * x, lambda grad: jnp.clip(grad, -1, 1))
    return 3 * h


print(jax.grad(loss)(1.0))

# %%
# Try it: replace `-1, 1` by `-10, 10` in both cells. What is the gradient of x without the clamp?

# %% [markdown]
# In plain JAX the hook is a function with a backward pass of its own. `jax.custom_vjp` marks such a
# function, and `defvjp` gives it two rules: the first runs in the forward pass and returns the
# result with whatever the backward pass needs (here nothing); the second turns this and the
# gradient of the result into the gradients of the arguments.

# %%
plain("hook")

# %% [markdown]
# The same on a parameter of a network:

# %%
show("hooks/register_hook")

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)

# %%
without("hooks/register_hook")

# %% [markdown]
# **Where to apply it.** The next program uses a value twice and hooks it once.

# %%
question("hooks/tensor_hook")

# %%
show("hooks/tensor_hook", asked=True)

# %%
figure("hook_uses")

# %% [markdown]
# A hook sees the sum over all uses in this backward pass. A parameter's hook sees it before it is
# added to `.grad`. The same holds in JAX if you apply the hook once and use its result everywhere.
# Applied at each use separately, it sees each use's gradient separately; in the last column of the
# next table the gradient of fc1 differs (the rows `seen` there are the sums of both calls). For
# that in torch, give each use its own tensor: `a, b = h.clone(), h.clone()`, and register a hook on
# each. A hook that only multiplies by a number (it doubles or reverses the
# gradient) gives the same result in both places, because 2a + 2b = 2(a + b). Clipping, clamping and
# rounding do not.

# %%
show("hooks/register_hook_sum", claim=False)

# %% [markdown]
# ## Observing a gradient
#
# torch's `h.register_hook(print)` prints a gradient. Under `jit` the counterpart is a hook that
# calls `jax.debug.print`. It prints the numbers at every call, and leaves the gradient unchanged,
# because it returns `None`.

# %%
# torch
import torch


for numbers in ([1.0, 2.0], [3.0, 4.0]):
    w = torch.tensor(numbers, requires_grad=True)
    h = 2 * w
    h.register_hook(lambda grad: print("gradient of h:", grad))
    (h**2).sum().backward()
    print("gradient of w:", w.grad)

# %%
# JAX
import jax
import jax.numpy as jnp

import jaxgrad


def loss(w):
    h = jaxgrad.hook(2 * w, lambda grad: jax.debug.print("gradient of h: {grad}", grad=grad))
    return jnp.sum(h**2)


compiled = jax.jit(jax.grad(loss))
for numbers in ([1.0, 2.0], [3.0, 4.0]):
    grad = compiled(jnp.array(numbers))
    jax.effects_barrier()  # waits for what the compiled program prints
    print("gradient of w:", grad)

# %%
# Try it: replace `2 * w` by `5 * w` in both cells. By which factor does each of the two
# gradients grow?

# %% [markdown]
# A plain `print` in the hook would run once, while the program is traced, and show shapes instead
# of numbers. For the same reason a hook that appends to a list collects shapes, as below, but not
# numbers. To use the numbers outside of the program, return them with `retain_grad`.

# %%
show("hooks/hook_watch")

# %% [markdown]
# `retain_grad` gets the gradient of h without a hook: it differentiates with respect to a zero that
# is added to h.

# %%
plain("retain_grad")

# %% [markdown]
# **Order.** torch runs hooks in the order of registration. In JAX the hook applied last runs first,
# because the backward pass traverses the program in reverse.

# %%
# torch
import torch


x = torch.tensor(1.0, requires_grad=True)
h = 5 * x
h.register_hook(lambda grad: grad + 1)
h.register_hook(lambda grad: grad * 2)
h.backward()
print(x.grad)

# %%
# JAX
import jax

import jaxgrad


def loss(x):
    h = 5 * x
    h = jaxgrad.hook(h, lambda grad: grad * 2)  # runs second
    return jaxgrad.hook(h, lambda grad: grad + 1)  # runs first


print(jax.grad(loss)(1.0))

# %%
# Try it: replace `grad + 1` by `grad + 10` in both cells. Is the gradient of x now (1 + 10) · 2 · 5
# or (1 · 2 + 10) · 5?

# %% [markdown]
# **In a recurrent network** the gradients kept by `retain_grad` inside a `scan` are stacked over
# the steps, and a hook in the loop body changes the gradient between steps.

# %%
show("hooks/retain_grad", claim=False)

# %% [markdown]
# The kept gradients shrink from the last hidden state, which the loss reads, to the first.

# %%
figure("kept_gradients")

# %%
show("hooks/hook_every_step")

# %% [markdown]
# ## Module hooks
#
# A module's full backward hook receives the gradients of the module's inputs and outputs; what it
# returns takes the place of the inputs' gradients. In JAX it is a hook on that input, applied
# before the layer.

# %%
# torch
import torch


layer = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.constant_(layer.weight, 2.0)
layer.register_full_backward_hook(lambda module, grads, outputs: (10 * grads[0],))
x = torch.tensor([3.0], requires_grad=True)
layer(x).sum().backward()
print("x", x.grad.item(), "weight", layer.weight.grad.item())

# %%
# JAX
import jax
import jax.numpy as jnp

import jaxgrad


def loss(x, weight):
    x = jaxgrad.hook(x, lambda grad: 10 * grad)
    return jnp.sum(weight @ x)


dx, dweight = jax.grad(loss, (0, 1))(jnp.array([3.0]), jnp.array([[2.0]]))
print("x", dx.item(), "weight", dweight.item())

# %%
# Try it: replace `10 * grad` by `0 * grad` in both cells. Which gradient stays, and why?

# %% [markdown]
# A *pre*-hook receives the gradient of the module's output. What it returns takes the place of that
# gradient, so it reaches the module's parameters too.

# %%
show("hooks/full_backward_pre_hook", claim=False)

# %% [markdown]
# **After accumulation.** torch's post-accumulate hook sees `.grad`, the sum over all batches so
# far. JAX does not need a hook for that, because your own code computes the sum.

# %%
show("hooks/post_accumulate_grad_hook", claim=False)

# %% [markdown]
# ## The norm of each layer's gradient during training
#
# The network has five sigmoid layers. The gradient shrinks towards the input, with the same numbers
# in both frameworks.

# %%
show("hooks/gradient_norms", claim=False)

# %%
values = show("hooks/gradient_norms").values
plt.figure(figsize=(7, 3), dpi=90)
for index, name in enumerate(sorted(values["torch"]["norms"])):
    color = f"C{index}"
    plt.plot(values["torch"]["norms"][name], color=color, label=name)
    plt.plot(values["JAX"]["norms"][name], "o", color=color, markersize=4)
plt.yscale("log")
plt.xlabel("step")
plt.title("norm of the gradient of each weight; lines are torch, dots are JAX")
plt.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), title="from input to output")
plot("norm of the gradient of each weight during training, torch and JAX")

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("hooks/unit_gradient")

# %%
# Your answer
import jax.numpy as jnp

import jaxgrad


def loss(w):
    h = 2 * w
    return jnp.sum(h**2)


# %%
check("hooks/unit_gradient", loss)

# %%
exercise("hooks/once_or_per_use")

# %%
# Your answer
once = ...  # numbers, without running anything
per_use = ...

# %%
check("hooks/once_or_per_use", once, per_use)

# %% [markdown]
# ## What to take away
#
# - torch calls what is registered; in JAX you wrap the value and use the result:
#   `h = jaxgrad.hook(h, fn)`.
# - Applied once it sees the sum over all uses, as in torch. Applied at each use it sees one use.
# - Under `jit`, print numbers with `jax.debug.print`, and return them with `retain_grad`.
