# %% [markdown]
# # Memory kept for the backward pass
#
# The backward pass needs values from the forward pass. torch calls them saved tensors, JAX
# residuals; they account for most of the memory of a training step. How large are they, which
# operations create them, and how can you keep less?
#
# **You will be able to** count what the backward pass keeps, and reduce it with checkpointing,
# saved-tensor hooks and micro-batches.
#
# **Time** 30 minutes · **Level** advanced · **Read first:** [control_flow](control_flow.ipynb)

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

import jaxgrad
from parity_tests.audits import networks
from parity_tests.audits.memory_growth import DEPTHS, arguments, in_segments, plain
from parity_tests.notebook.check import check
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, programs, show, without


# %% [markdown]
# ## Counting bytes
#
# `jaxgrad.saved_bytes` returns a number of bytes that also reports which operations created them,
# and in which `jax.named_scope`. Parameters, inputs and views of them (such as a transposed weight)
# exist anyway and are not counted.


# %%
def block(params, h):
    with jax.named_scope("attention"):
        scores = jax.nn.softmax(h @ h.T)
        h = h + scores @ (h @ params["v"].T)
    with jax.named_scope("mlp"):
        return h + jax.nn.gelu(h @ params["up"].T) @ params["down"].T


params = {"v": jnp.ones((16, 16)), "up": jnp.ones((64, 16)), "down": jnp.ones((16, 64))}
jaxgrad.saved_bytes(block, params, jnp.ones((32, 16)))

# %% [markdown]
# Here is the same block under three policies of `jax.checkpoint`. They give the same gradient, up
# to rounding.

# %%
policies = {
    "everything": jax.checkpoint_policies.everything_saveable,
    "products": jax.checkpoint_policies.dots_saveable,
    "nothing": jax.checkpoint_policies.nothing_saveable,
}
for name, policy in policies.items():
    kept = jaxgrad.saved_bytes(jax.checkpoint(block, policy=policy), params, jnp.ones((32, 16)))
    print(f"{name:12}{kept:>8,}  {kept.by_scope}")

# %% [markdown]
# **Compared with torch, and with the compiled program.** `compiled` is the size of the values that
# XLA's forward pass returns for the backward pass. torch keeps less where a single kernel does the
# work of several JAX operations: LSTM gates, softmax, GELU and norms. For `tanh` torch keeps only
# the result y; JAX before version 0.11 keeps y and 1 - y.

# %%
lines = [f"{'':6}{'counted':>10}{'compiled':>10}{'torch':>10}{'JAX / torch':>14}"]
for name in ("MLP", "LSTM"):
    kept = networks.compared(name)
    row = "".join(f"{nbytes:>10,}" for nbytes in kept)
    lines.append(f"{name:6}{row}{kept.counted / kept.torch:>14.2f}")
print("\n".join(lines))

# %% [markdown]
# ## Checkpointing: keep less, recompute more
#
# The gradients are the same, but fewer bytes are kept. The next cells differentiate (x²)² at 2.

# %%
# torch
import torch
from torch.utils.checkpoint import checkpoint


def block(x):
    print("forward")
    return (x**2) ** 2


x = torch.tensor(2.0, requires_grad=True)
y = checkpoint(block, x, use_reentrant=False)
y.backward()
print(y.item(), x.grad)

# %%
# JAX
import jax


def block(x):
    jax.debug.print("forward")
    return (x**2) ** 2


y, grad = jax.value_and_grad(jax.checkpoint(block))(2.0)
jax.effects_barrier()
print(y, grad)

# %%
# Try it: run the block without a checkpoint: replace `checkpoint(block, x, use_reentrant=False)` by
# `block(x)`, and `jax.checkpoint(block)` by `block`. How often does the block run, and do the
# numbers change?

# %% [markdown]
# A network of three blocks with two `tanh` each. The rows `bytes` are only measured, and the two
# frameworks need not agree in them. Without a checkpoint (`plain`) torch keeps the six results of
# `tanh`, of 384 bytes each. JAX keeps y and 1 - y for each of them, as above, and the error that
# the squared loss needs.

# %%
show("checkpointing/checkpoint", only="*keep* */loss")

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)

# %%
without("checkpointing/checkpoint", only="*keep*")

# %%
kept = show("checkpointing/checkpoint").measured
variants = {"plain": "no checkpoint", "each": "each block", "whole": "the whole network"}
plt.figure(figsize=(6, 2.4), dpi=90)
for shift, framework, color in ((0, "torch", "#d95f02"), (0.4, "JAX", "#2f81c7")):
    bars = [kept[framework]["bytes"][variant] for variant in variants]
    plt.bar([tick + shift for tick in range(3)], bars, width=0.38, color=color, label=framework)
plt.xticks([0.2, 1.2, 2.2], list(variants.values()))
plt.title("bytes kept from forward to backward")
plt.legend(fontsize=8)
plot("bytes that each kind of checkpointing keeps, torch beside JAX")

# %% [markdown]
# **Segments.** `checkpoint_sequential` keeps the inputs of a few segments and, during the backward
# pass, all residuals of the one segment that is being recomputed. With √depth segments of √depth
# layers both parts, and their sum, grow as √depth. The last segment is not checkpointed: its
# backward pass comes first. So with one segment nothing is recomputed.

# %%
show("checkpointing/checkpoint_sequential", only="*keep* */loss", claim=False)

# %% [markdown]
# **Where the bytes are.** Nine layers `sin(h @ w)`, each computed by a product and a sine. A
# checkpoint keeps its input, which the layer before it computed.

# %%
figure("checkpoint_depth")

# %%
plt.figure(figsize=(6, 2.8), dpi=90)
for fun, mark, color in ((plain, "o-", "#d95f02"), (in_segments, "s-", "#2f81c7")):
    kept = [int(jaxgrad.saved_bytes(fun, *arguments(depth))) for depth in DEPTHS]
    exponent = np.polyfit(np.log(DEPTHS), np.log(kept), 1)[0]
    label = f"{fun.__name__.replace('_', ' ')}: depth to the power {exponent:.2f}"
    plt.loglog(DEPTHS, kept, mark, color=color, label=label)
plt.xticks(DEPTHS, [str(depth) for depth in DEPTHS])
plt.minorticks_off()
plt.xlabel("layers")
plt.title("bytes kept from forward to backward")
plt.legend(fontsize=8)
plot("bytes kept by depth, with and without segments")

# %% [markdown]
# A segment here has √depth layers, rounded down, and the layers that are left over are not
# checkpointed. So the lower curve is not smooth: of 32 layers, six segments of five leave two over,
# which keep all their residuals; of 64 none is left over, and the curve falls. Over the whole range
# it follows √depth: the legend has the fitted exponents. (The project's page on costs gives an
# exponent a little above 1/2. It is that of the peak, with the residuals of the recomputed segment,
# over 8 to 64 layers, where the rounding weighs more; with more layers it approaches 1/2.)

# %% [markdown]
# **Selected operations.** torch's selective checkpointing corresponds to a policy in JAX. Here the
# matrix products, which are expensive, are kept, and everything else is recomputed.

# %%
show("checkpointing/selective_checkpoint", only="*/products */tanhs */loss")

# %% [markdown]
# **Dropout.** A recomputation is right only if it repeats the randomness of the first computation.

# %%
question("checkpointing/checkpoint_forgets_the_generator")

# %%
show("checkpointing/checkpoint_forgets_the_generator", asked=True)

# %% [markdown]
# By default torch restores the state of its random generator, so that recomputation draws the same
# mask; without `preserve_rng_state` the gradient silently belongs to a different mask. In JAX the
# key is an ordinary value, so recomputation uses the same one.

# %% [markdown]
# ## Storing residuals in another form
#
# Saved-tensor hooks convert residuals before they are stored: to bfloat16 (the rounded gradients
# are bit-identical in both frameworks), to integers, or to host memory.

# %%
show("checkpointing/saved_in_bfloat16", only="grads/0 keeps_less", claim=False)

# %%
programs("checkpointing/save_on_cpu")

# %% [markdown]
# ## Micro-batches
#
# If each micro-batch's gradient is computed before the next one begins, only the residuals of one
# micro-batch exist at a time. In torch call `backward()` in the loop; in JAX call `jax.grad` in the
# body of the scan. The gradient *of* a scan that adds up the losses keeps the residuals of all of
# them.


# %%
def loss(w, part):
    return jnp.mean(jnp.tanh(part @ w) ** 2)


def total(w, parts):  # the mean of the losses: jax.grad(total) keeps all residuals
    return jax.lax.scan(lambda sum, part: (sum + loss(w, part), None), 0.0, parts)[0] / len(parts)


def grad_by_parts(w, parts):  # the same gradient, from the residuals of one micro-batch at a time
    def body(sum, part):
        return sum + jax.grad(loss)(w, part) / len(parts), None

    return jax.lax.scan(body, jnp.zeros_like(w), parts)[0]


w, parts = jnp.ones((4, 4)), jnp.ones((16, 8, 4))
print("one micro-batch keeps", int(jaxgrad.saved_bytes(loss, w, parts[0])), "bytes")
print("a scan of 16 losses keeps", int(jaxgrad.saved_bytes(total, w, parts)), "bytes")
print("same gradient", bool(jnp.allclose(jax.grad(total)(w, parts), grad_by_parts(w, parts))))

# %% [markdown]
# The gradients of sums add up to the gradient of the whole sum. For means, divide each loss by the
# number of micro-batches: if all have the same size, the gradients add up to the gradient of the
# whole mean. Otherwise multiply each loss by its share of the rows instead. Both hold in torch and
# in JAX. The program has two micro-batches, of three and two rows.

# %%
# torch
import torch


w = torch.tensor(1.0, requires_grad=True)
x = torch.tensor([1.0, 2.0, 3.0, 4.0, 10.0])
for part in x.split(3):
    ((w * part).mean() / 2).backward()
print("at once", x.mean().item(), "mean of means", w.grad.item())

# %%
# JAX
import jax
import jax.numpy as jnp


grad, x = jax.grad(lambda w, x: jnp.mean(w * x)), jnp.array([1.0, 2.0, 3.0, 4.0, 10.0])
parts = jnp.split(x, [3])
total = sum(grad(1.0, part) / 2 for part in parts)
print("at once", grad(1.0, x), "mean of means", total)

# %%
# Try it: use six rows: replace `, 4.0, 10.0]` by `, 4.0, 5.0, 6.0]` in both cells. Why are the two
# means equal now?

# %% [markdown]
# The first example steps each parameter's optimizer during the backward pass, so that only one
# gradient exists at a time. The second computes per-sample gradients in chunks.

# %%
show("checkpointing/step_by_layer", only="*/0/bias")

# %%
show("checkpointing/per_sample_in_chunks", only="*/l2/bias", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("memory/two_segments")

# %%
# Your answer
import jax
import jax.numpy as jnp


def in_segments(w):
    h = jnp.ones((2, 3))
    for _ in range(8):  # one segment, and nothing is checkpointed
        h = jnp.tanh(h @ w)
    return jnp.sum(h)


# %%
check("memory/two_segments", in_segments)

# %%
exercise("memory/uneven_micro_batches")

# %%
# Your answer
weights = (1 / 2, 1 / 2)

# %%
check("memory/uneven_micro_batches", weights)

# %% [markdown]
# ## What to take away
#
# - `jaxgrad.saved_bytes` counts residuals before anything runs.
# - Checkpointing changes what is kept and not the gradient, except for rounding, provided that
#   randomness is repeated.
# - Divide the mean loss of each micro-batch by their number; if they differ in size, multiply it by
#   its share of the rows.
