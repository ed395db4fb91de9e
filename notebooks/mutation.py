# %% [markdown]
# # In-place changes, and the lifetime of a graph
#
# Two classes of errors of torch do not exist in JAX. JAX arrays are immutable, so a value needed by
# the backward pass cannot be overwritten. The function that `jax.vjp` returns owns its saved
# values, so they are not freed while you hold it. In return JAX has an error that torch does not
# have.
#
# **You will be able to** explain torch's errors about in-place changes and freed graphs, and avoid
# the leaked tracers of JAX.
#
# **Time** 50 minutes · **Level** intermediate · **Read first:** [backward](backward.ipynb)

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
# ## Changing a tensor after its use
#
# The integers a = (1, 2, 3) are used in a·b + b, and then a[0] is changed. torch saved `a` itself
# and detects the change through its version counter: `backward` raises. JAX saved the value of `a`
# at the time of its use.

# %%
show("mutation/inplace_after_use", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# ## Changing a tensor before its use
#
# It may look as if the gradient (1, 3, 4) were wrong here. It is right: `a` is an integer tensor,
# so 0.1 was truncated to 0, and the gradient of the sum of a·b + b with respect to b is a + 1 for
# the value of a at the time of its use, (0, 2, 3).

# %%
show("mutation/inplace_before_use", claim=False)

# %% [markdown]
# ## Two programs that differ in one operation
#
# `c += 1` runs between forward and backward, first after `e = c * d`.

# %%
question("mutation/inplace_saved")

# %%
show("mutation/inplace_saved", asked=True)

# %% [markdown]
# A product saves its factors, so the change is an error. In JAX `c += 1` creates a new array, and
# the saved one is still there.

# %% [markdown]
# **The version counter, line by line.** The node of `e = c * d` does not copy c. It holds c itself
# and the version that c had then. `backward` compares that number with c's version now.

# %%
figure("version_counter")

# %% [markdown]
# **The other operation.** Everything else stays as it is.

# %%
question("mutation/inplace_not_saved")

# %%
show("mutation/inplace_not_saved", asked=True)

# %% [markdown]
# A sum saves nothing, so nothing was overwritten, and every gradient is right. Whether an in-place
# change of an intermediate value raises depends on what the backward pass has saved.
#
# A parameter is different: torch refuses to change it in place outside of `no_grad` ("a leaf
# Variable that requires grad is being used in an in-place operation"). Under `no_grad`, as in an
# optimizer's step, the change is allowed and counted: if a graph has saved the parameter, its
# `backward` raises.
#
# Both programs with numbers:

# %%
# torch
import torch


a, d = (torch.tensor(value, requires_grad=True) for value in (2.0, 5.0))
c = 3 * a
e = c * d
c += 1
try:
    e.backward()
except RuntimeError as error:
    print("torch raises:", str(error)[:60])
print("a", a.grad, "d", d.grad)

# %%
# JAX differs from torch
import jax


def e(a, d):
    c = 3 * a
    e = c * d
    c += 1
    return e


da, dd = jax.grad(e, (0, 1))(2.0, 5.0)
print("a", da, "d", dd)

# %%
# Try it: replace `c * d` by `c + d` in both cells. Does the in-place change still matter?

# %% [markdown]
# **A change through `.data`** writes into the same memory in another way.

# %%
question("mutation/data")

# %%
show("mutation/data", asked=True)

# %% [markdown]
# It bypasses the version counter, and torch's gradient is silently wrong. A JAX array has no
# `.data` to write to.

# %%
# torch
import torch


x = torch.tensor(1.0, requires_grad=True)
y = x**2
x.data.fill_(10.0)
y.backward()
print(y.item(), x.grad)

# %%
# JAX differs from torch
import jax


def y(x):
    result = x**2
    x = 10.0  # a new value for the name, not for the array
    return result


print(*jax.value_and_grad(y)(1.0))

# %%
# Try it: replace `x**2` by `3 * x` in both cells. Why is torch right again?

# %% [markdown]
# ## An error of JAX: a leaked tracer
#
# The program stores an intermediate outside the function. In torch it is an ordinary tensor. In
# JAX, inside a transformation, it is a tracer and becomes invalid when the transformation ends;
# return it with `has_aux=True` instead.
#
# The last column of the table calls the function without `value_and_grad`. Nothing leaks there, and
# its row `w` has the parameter itself, not a gradient.

# %%
show("mutation/leaked_activation")

# %%
show("mutation/kept_activation")

# %% [markdown]
# ## A second `backward()`
#
# torch frees the saved values during the first one. The nodes remain (the rows `nodes`), but the
# tensors that they need are gone. After the error `.grad` keeps the value of the first call. A
# graph that has saved nothing, as that of `x + 3`, can run twice. Two losses that share a trunk
# share its saved values, so the second `backward()` raises too: add the losses, or keep the graph.

# %%
show("retain_graph/second_backward", claim=False)

# %% [markdown]
# **`retain_graph=True`** keeps them, and `.grad` accumulates unless it is cleared. In JAX nothing
# has to be requested.

# %%
# torch
import torch


x = torch.tensor(3.0, requires_grad=True)
y = x**2
y.backward(retain_graph=True)
try:
    y.backward()
except RuntimeError as error:
    print("torch raises:", str(error)[:48])
print(x.grad)

# %%
# JAX
import jax


y, pull_back = jax.vjp(lambda x: x**2, 3.0)
(first,) = pull_back(1.0)
(second,) = pull_back(1.0)
print(first + second)

# %%
# Try it: delete `retain_graph=True`. Then torch raises: what does `.grad` hold after the error?

# %%
show("retain_graph/retain_graph", claim=False)

# %% [markdown]
# **What the nodes hold.** Only the product saves a tensor. The first `backward` frees it, so the
# second one runs until it reaches the product, and raises there.

# %%
figure("freed_buffers")

# %% [markdown]
# **Or run the forward pass again**, which builds a new graph.

# %%
show("retain_graph/rebuild", claim=False)

# %% [markdown]
# ## Graphs in a loop
#
# A graph that is rebuilt in each iteration trains. If the operation is moved out of the loop, the
# second `backward` raises.

# %%
show("retain_graph/loop", claim=False)

# %%
show("retain_graph/loop_outside", claim=False)

# %% [markdown]
# ## Several slices of one tensor
#
# A separate backward for each slice works if the graph is rebuilt inside the loop. If it is built
# once outside, the slices share saved tensors that the first backward frees. In JAX one function
# from `jax.vjp` can be called for every slice.

# %%
show("retain_graph/slices", claim=False)

# %%
show("retain_graph/slices_outside", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("mutation/which_one_raises")

# %%
# Your answer
sin_raises = ...  # True or False
exp_raises = ...
square_raises = ...

# %%
check("mutation/which_one_raises", sin_raises, exp_raises, square_raises)

# %%
exercise("mutation/keep_the_activation")

# %%
# Your answer
import jax.numpy as jnp


kept = []


def loss(w):
    h = 2 * w
    kept.append(h)
    return jnp.sum(h**2)


# %%
check("mutation/keep_the_activation", loss)

# %% [markdown]
# ## What to take away
#
# - Whether an in-place change of an intermediate value raises depends on what the backward pass has
#   saved. torch refuses to change a parameter in place outside of `no_grad`.
# - A change through `.data` is not noticed, and the gradient is silently wrong.
# - A JAX array cannot be changed, and a `vjp` function can be called as often as you like.
# - A tracer must not leave the function: return the value instead.
