# %% [markdown]
# # Many devices
#
# torch runs on two or four processes here, with the gloo backend; JAX runs on the same number of
# CPU devices in one process. The results of all ranks are stacked, so the first axis of each result
# is the rank.
#
# **You will be able to** translate DDP, SyncBatchNorm and FSDP to `shard_map` and sharded arrays,
# and avoid three traps that scale gradients.
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
from jax import lax
from jax.sharding import PartitionSpec as P

from parity_tests.notebook.check import check
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, show, without


# %% [markdown]
# ## Words: rank, mesh, P, replicated
#
# - A *rank* is one of several processes in torch, with its own data and its own copy of the model.
#   In JAX one program runs on several *devices*; here they are parts of the CPU.
# - A *mesh* is an array of devices whose axes have names: `Mesh(devices, ("ranks",))` is a row of
#   devices along the axis `"ranks"`.
# - `P("ranks")`, short for `PartitionSpec`, says that the first axis of an array is cut along
#   `"ranks"`: each device holds a piece. `P()` says that nothing is cut: every device holds the
#   whole array, which is then called *replicated*.
# - `jax.shard_map(f, mesh=..., in_specs=..., out_specs=...)` runs `f` on every device, on the
#   pieces that `in_specs` gives it. Inside, `lax.pmean(x, "ranks")` is the mean over the devices
#   and `lax.psum` the sum. These two take the place of torch's `all_reduce`.
# - `check_vma=True`, the default of `shard_map`, lets JAX track which values are replicated and
#   which vary from device to device. A replicated parameter has one gradient, so JAX sums the
#   devices' gradients of it.
#
# Two ranks hold two rows each, x = [1, 3] and [5, 7], and the loss is the mean of w·x. Its gradient
# is 2 on the first rank and 6 on the second, and training needs their mean, 4. DDP needs a process
# for each rank; the loop below computes what it computes.

# %%
# torch
import torch


w = torch.tensor(1.0, requires_grad=True)
ranks = torch.tensor([1.0, 3.0]), torch.tensor([5.0, 7.0])
for x in ranks:
    (w * x).mean().backward()
w.grad /= len(ranks)  # DDP's all_reduce
print("w", w.grad)

# %%
# JAX
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P


jax.config.update("jax_num_cpu_devices", 8)  # before JAX first computes


def gradient(w, x):  # x: the two rows of one device
    return jax.grad(lambda w: lax.pmean(jnp.mean(w * x), "ranks"))(w)


mesh = Mesh(jax.devices()[:2], ("ranks",))
on_devices = jax.shard_map(gradient, mesh=mesh, in_specs=(P(), P("ranks")), out_specs=P())
print("w", on_devices(jnp.array(1.0), jnp.array([1.0, 3.0, 5.0, 7.0])))

# %%
# Try it: replace `lax.pmean(jnp.mean(w * x), "ranks")` by `jnp.mean(w * x)`. JAX and torch then
# differ: is the result a sum, a mean, or the gradient of one rank?

# %% [markdown]
# **Without `shard_map`.** Under `jit` an array carries its own sharding. The program is that of one
# device, and XLA inserts the communication.

# %%
# torch
import torch


w = torch.tensor(1.0, requires_grad=True)
x = torch.tensor([1.0, 3.0, 5.0, 7.0])  # all rows
(w * x).mean().backward()
print("w", w.grad)

# %%
# JAX
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


jax.config.update("jax_num_cpu_devices", 8)  # before JAX first computes
mesh = Mesh(jax.devices()[:2], ("ranks",))
rows = NamedSharding(mesh, P("ranks"))
x = jax.device_put(jnp.array([1.0, 3.0, 5.0, 7.0]), rows)  # two rows on each device
print("w", jax.jit(jax.grad(lambda w, x: jnp.mean(w * x)))(1.0, x))

# %%
# Try it: replace `.mean()` by `.sum()` in torch, and `jnp.mean` by `jnp.sum` in JAX. XLA now adds
# the two devices' sums: which number does w get?

# %% [markdown]
# ## The mean of the ranks' gradients
#
# `DistributedDataParallel` averages gradients during the backward pass. Inside `shard_map`,
# differentiating the mean of the losses does the same, because JAX sums the gradients of parameters
# that are replicated over the devices. The last column omits the `pmean`, and its gradients are
# four times as large.

# %%
show("distributed/ddp", only="loss */bias")

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# **How the mean reaches every rank.** Each rank sends a quarter of its gradient to the next rank.
# After three steps every quarter is summed somewhere, after three more it is everywhere. The
# picture follows the first element, in a ring written with `lax.ppermute`.

# %%
figure("ring")

# %% [markdown]
# ## Three traps
#
# **1. A mean of gradients that are summed already.** The usual `pmap` recipe is a `pmean` of the
# gradients. In `shard_map` with `check_vma=True`, its default, it changes nothing. JAX has already
# summed the gradients of replicated parameters, so every device has the same sum, and the mean of
# equal sums is that sum: on 4 devices, 4 times the mean. The last column shows the fix, the
# gradient of the `pmean` of the loss.
#
# With `check_vma=False` nothing is summed, and it is the other way round: the `pmean` of the
# gradients is right, and the gradient of the `pmean` of the loss is each device's own.

# %%
show("distributed/ddp_pmean_of_grads", claim=False)

# %% [markdown]
# **2. A sum over ranks inside the loss.** torch sums with the differentiable `all_reduce` of
# `torch.distributed.nn.functional`, JAX with `lax.psum` in a `vmap` over the ranks.

# %%
question("distributed/sum_in_the_loss")

# %%
show("distributed/sum_in_the_loss", asked=True)

# %% [markdown]
# The backward pass of this sum is a sum, too, so each rank's own gradient is multiplied by the
# number of ranks. In JAX it depends on where the program runs. `vmap`, and `shard_map` with
# `check_vma=False`, give the factor as torch does. `shard_map` with its default `check_vma=True`
# does not: a parameter that every device holds for itself gets its own gradient, and a replicated
# one gets the sum over the devices, which is the right gradient of the summed loss. Here are all of
# them, on four devices.

# %%
mesh = jax.sharding.Mesh(jax.devices("cpu")[:4], ("ranks",))
x = jnp.arange(1.0, 9.0).reshape(4, 2)  # two numbers for each rank


def gradient(w, x):
    return jax.grad(lambda w: lax.psum(jnp.sum((w * x) ** 2), "ranks"))(w)


def on_devices(w, where, check_vma):
    def program(w, x):
        return gradient(w.reshape(()), x).reshape(1)

    specs = dict(in_specs=(where, P("ranks")), out_specs=P("ranks"))
    return jax.shard_map(program, mesh=mesh, check_vma=check_vma, **specs)(w, x)


own, replicated = jnp.ones(4), jnp.ones(())
print("vmap                      ", jax.vmap(gradient, axis_name="ranks")(own, x))
print("check_vma=False           ", on_devices(own, P("ranks"), False))
print("check_vma=True, own w     ", on_devices(own, P("ranks"), True))
print("check_vma=True, replicated", on_devices(replicated, P(), True))

# %% [markdown]
# **3. Shards of different sizes, and ranks that run out of data.** The mean of the shards' means is
# not the mean over all rows; weighting by the number of rows makes it correct. In the second table
# a rank that has run out of data either still counts in the mean, as in torch's `Join`, or does
# not.

# %%
show("distributed/uneven_shards", claim=False)

# %%
without("distributed/join", only="*/bias")

# %% [markdown]
# ## Accumulating gradients without communication
#
# `no_sync` keeps gradients local until the last backward. In `shard_map`, a cast makes the
# parameters local to each device; without it the gradients are summed at every step.

# %%
show("distributed/no_sync", only="*/l2/bias", claim=False)

# %% [markdown]
# ## Parameters that a rank does not use
#
# With `find_unused_parameters`, a parameter that only some ranks use counts as zero on the others,
# and one that no rank uses keeps `None`. Without it, torch raises in the next step.

# %%
show("distributed/find_unused_parameters", only="*/bias", claim=False)

# %%
show("distributed/unused_parameters", claim=False)

# %% [markdown]
# ## Batch norm
#
# With DDP each rank normalizes by its own statistics, and the running statistics start from rank
# 0's. A plain batch norm of a sharded batch under `jit` is different: it is SyncBatchNorm.

# %%
show("distributed/batch_norm", only="mean */norm/*", claim=False)

# %%
show("distributed/sync_batch_norm_sharding", only="mean */norm/*", claim=False)

# %% [markdown]
# ## Sharded parameters
#
# FSDP's `clip_grad_norm_` uses the norm of the whole gradient. In `shard_map` you name the axis for
# that; under `jit` with sharded arrays the code does not change. [The page on
# distributed training](../docs/distributed.md) lists the communication of all of these, for several
# numbers of devices.

# %%
show("distributed/clip_sharded", only="norm */l2/bias", claim=False)

# %%
show("distributed/clip_sharding", only="norm */l2/bias", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("distributed/only_real_rows")

# %%
# Your answer
import jax.numpy as jnp
from jax import lax


def loss(w, x, real):  # x and real hold the two rows of one device
    return lax.pmean(jnp.mean((w * x) ** 2), "ranks")


# %%
check("distributed/only_real_rows", loss)

# %%
exercise("distributed/norm_of_a_sharded_gradient")

# %%
# Your answer
import jax.numpy as jnp
from jax import lax


def norm(half):
    return lax.psum(jnp.sqrt(jnp.sum(half**2)), "ranks")


# %%
check("distributed/norm_of_a_sharded_gradient", norm)

# %% [markdown]
# ## What to take away
#
# - In `shard_map` the gradients of replicated parameters are summed already: average the loss, not
#   the gradients.
# - A sum over ranks in the loss multiplies every gradient by the number of ranks in torch, in
#   `vmap` and with `check_vma=False`. In `shard_map` with its defaults it does not.
# - Under `jit` with sharded arrays, one program is written as for one device.
