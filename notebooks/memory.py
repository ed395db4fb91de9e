# %% [markdown]
# # What is kept for the backward pass
#
# The backward pass needs values of the forward pass. torch calls them saved tensors, JAX residuals;
# they are most of the memory of a training step. How many are there, which operations made them,
# and how does one keep less?

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

import jaxgrad
from parity_tests.audits import networks
from parity_tests.audits.memory_growth import DEPTHS, arguments, in_segments, plain
from parity_tests.notebook.show import programs, show, without


# %% [markdown]
# ## Counting
#
# `jaxgrad.saved_bytes` is a number of bytes that knows which operations made them, and in which
# `jax.named_scope`. Parameters, inputs, and views of them (a transposed weight) are there anyway
# and do not count.


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
# The same block under three policies of `jax.checkpoint`. Every policy has the same gradient.

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
# **Beside torch, and beside what XLA returns.** The count is that of the compiled forward pass.
# torch keeps less where it has one kernel for what JAX does in several operations: the gates of an
# LSTM, softmax, GELU, norms; and for `tanh` it keeps y, where JAX before 0.11 keeps y and 1 - y.

# %%
lines = [f"{'':6}{'counted':>10}{'compiled':>10}{'torch':>10}{'JAX / torch':>14}"]
for name in ("MLP", "LSTM"):
    kept = networks.compared(name)
    row = "".join(f"{nbytes:>10,}" for nbytes in kept)
    lines.append(f"{name:6}{row}{kept.counted / kept.torch:>14.2f}")
print("\n".join(lines))

# %% [markdown]
# ## Keep less, compute again: checkpointing (S4-14)
#
# The gradients are the same, the bytes are not.

# %%
show("checkpointing/checkpoint", only="*keep* */loss")

# %%
without("checkpointing/checkpoint", only="*keep*")

# %%
kept = show("checkpointing/checkpoint").measured
ways = {"plain": "no checkpoint", "each": "each block", "whole": "the whole network"}
plt.figure(figsize=(6, 2.4), dpi=90)
for shift, side, color in ((0, "torch", "#d95f02"), (0.4, "JAX", "#1b6ca8")):
    bars = [kept[side]["bytes"][way] for way in ways]
    plt.bar([place + shift for place in range(3)], bars, width=0.38, color=color, label=side)
plt.xticks([0.2, 1.2, 2.2], list(ways.values()))
plt.title("bytes kept from forward to backward")
plt.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# **Segments.** `checkpoint_sequential` keeps the inputs of some segments, and everything of the one
# that is being computed again. With the root of the depth as many segments, memory grows as the
# root of the depth.

# %%
show("checkpointing/checkpoint_sequential", only="*keep* */loss")

# %%
plt.figure(figsize=(6, 2.8), dpi=90)
for fun, mark in ((plain, "o-"), (in_segments, "s-")):
    kept = [jaxgrad.saved_bytes(fun, *arguments(depth)) for depth in DEPTHS]
    plt.loglog(DEPTHS, kept, mark, label=fun.__name__.replace("_", " "))
plt.xticks(DEPTHS, [str(depth) for depth in DEPTHS])
plt.minorticks_off()
plt.xlabel("layers")
plt.title("bytes kept from forward to backward")
plt.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# **Which operations?** torch's selective checkpointing is a policy in JAX. Products are dear and
# are kept; all else is computed again.

# %%
show("checkpointing/selective_checkpoint", only="*/products */tanhs */loss")

# %% [markdown]
# **Dropout.** torch restores the state of its generator, so that the same mask is drawn again;
# without `preserve_rng_state` the gradient is silently that of another mask. A key in JAX cannot be
# lost.

# %%
show("checkpointing/checkpoint_forgets_the_generator")

# %% [markdown]
# ## Keep something else
#
# Hooks pack what is kept: into bfloat16 (the gradient is rounded, by the same bits in both
# frameworks), into integers, into the host's memory.

# %%
show("checkpointing/saved_in_bfloat16", only="grads/0 keeps_less")

# %%
programs("checkpointing/save_on_cpu")

# %% [markdown]
# ## Micro-batches
#
# A scan over micro-batches keeps what one of them needs. Sums add up; means do not, where the last
# micro-batch is smaller: `mean_of_means` differs from `at_once`, in both frameworks alike.

# %%
show("checkpointing/mean_of_means", only="*/l2/*")

# %% [markdown]
# An optimizer step of each parameter during the backward pass, so that one gradient is there at a
# time, and gradients sample by sample, some at a time:

# %%
show("checkpointing/step_by_layer", only="*/0/bias")

# %%
show("checkpointing/per_sample_in_chunks", only="*/l2/bias")
