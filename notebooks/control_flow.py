# %% [markdown]
# # Data-dependent programs, and their costs
#
# In torch any Python `if` works. In a compiled JAX program, decisions that depend on *values* are
# written with `lax.cond`, `lax.scan` or `jnp.where`.
#
# **You will be able to** write programs whose path depends on data in JAX, and say what static and
# dynamic graphs cost.
#
# **Time** 20 minutes · **Level** intermediate ·
# **Read first:** [First steps](00_ten_minutes.ipynb)

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
from parity_tests.notebook.show import figure, graph, show


# %% [markdown]
# ## One condition for each element
#
# `where` computes both values and selects one of them; the gradient is that of the selected one. It
# works on arrays, under `jit` and under `vmap`. One trap is the same in both frameworks: the other
# value's backward pass runs too, with a gradient of zero. If its derivative is infinite there, 0 ·
# ∞ makes the gradient NaN, as in `where(x > 0, sqrt(x), 0)` at 0;
# [higher_order](higher_order.ipynb) shows the remedy.

# %%
# torch
import torch


x = torch.tensor([-3.0, 2.0], requires_grad=True)
y = torch.where(x > 0, x**2, -x)
y.sum().backward()
print(y.tolist(), x.grad)

# %%
# JAX
import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    return jnp.where(x > 0, x**2, -x)


x = jnp.array([-3.0, 2.0])
print(f(x), jax.grad(lambda x: jnp.sum(f(x)))(x))

# %%
# Try it: replace `x > 0` by `x < 0` in both cells. Work out the four numbers before you run.

# %% [markdown]
# ## A graph that depends on the data
#
# Samples above the batch mean go through the network twice; for the others the gradient is clipped
# to the mean magnitude of the batch.

# %%
show("control_flow/data_dependent", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# Below are the graph that torch built for this batch and the graph of JAX, which is the same for
# every batch.

# %%
graph("control_flow/data_dependent")

# %% [markdown]
# **A loop whose length depends on the data.** `lax.while_loop` has no reverse-mode derivative,
# because the number of values to save has no bound. A `scan` of bounded length that does nothing
# after its condition becomes false has one. Here x is doubled while it is less than 100:
# `scan` calls `step` ten times, each time with the y that the last call returned.

# %%
# torch
import torch


x = torch.tensor(3.0, requires_grad=True)
y = x
while y < 100:
    y = 2 * y
y.backward()
print(y.item(), x.grad)

# %%
# JAX
import jax
import jax.numpy as jnp
from jax import lax


def doubled(x):
    def step(y, _):
        return jnp.where(y < 100, 2 * y, y), None

    return lax.scan(step, x, length=10)[0]


print(*jax.jit(jax.value_and_grad(doubled))(3.0))

# %%
# Try it: replace `100` by `1000` in both cells. How many of the ten steps of the scan are used now?
# With 10000 they are not enough, and JAX is wrong without a message.

# %%
show("control_flow/data_dependent_depth")

# %% [markdown]
# ## Static and dynamic graphs
#
# The comparison counts how often the graph is built. The time per call is only measured, on the
# machine that ran this notebook; with such a small network it is almost entirely overhead, which is
# the point of the measurement.

# %%
question("control_flow/static_and_dynamic")

# %%
show(
    "control_flow/static_and_dynamic",
    only="built/* *refuses* */loss",
    prints="built static_refuses_branch",
    asked=True,
)

# %% [markdown]
# torch builds a graph at every call; `jax.jit` builds one for each combination of input shapes and
# dtypes, and so does `torch.compile` with `dynamic=False`. (By default `torch.compile` treats sizes
# as variables from the second shape on, so that a third needs no other graph.) In return a further
# call does not build anything.

# %% [markdown]
# ## Which way to stop a gradient is cheapest
#
# A common claim is that `no_grad` is faster because `detach` copies; it is wrong, because `detach`
# shares storage (the row `detach_shares_storage`). The cost of `detach` is the graph of L1, which
# is recorded and discarded; `no_grad` and `inference_mode` never record it. JAX saves no residuals
# for a stopped value, so all three keep the same number of bytes.
#
# The rows `bytes` and `seconds` are only measured. Layers of this size take less time than the
# calls around them, so the times are mostly overhead and noise: do not rank the three by them.

# %%
show(
    "checkpointing/cheapest_stop",
    only="*no_grad_* *as_no_grad *shares*",
    prints="*no_grad_* *as_no_grad",
    claim=False,
)

# %% [markdown]
# torch keeps L1's tensors under `detach` until the detached graph is dropped. JAX does not keep a
# stopped value in any of the three.

# %%
figure("stop_bytes")

# %% [markdown]
# For more about saved memory and ways to reduce it see [memory](memory.ipynb).

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("control_flow/branch_on_a_value")

# %%
# Your answer
from jax import lax


def f(x):
    return x**2 if x > 0 else -x


# %%
check("control_flow/branch_on_a_value", f)

# %%
exercise("control_flow/terms_until_small")

# %%
# Your answer
import jax.numpy as jnp
from jax import lax


def total(x):
    total, term = jnp.zeros_like(x), x
    while term > 0.5:  # a traced value has no truth value
        total, term = total + term, term / 2
    return total


# %%
check("control_flow/terms_until_small", total)

# %% [markdown]
# ## What to take away
#
# - Decisions that depend on values are made with `lax.cond`, `lax.scan` or `jnp.where`.
# - A loop that is differentiated in reverse needs a bounded length.
# - torch builds a graph at each call, `jax.jit` once for each combination of shapes and dtypes.
