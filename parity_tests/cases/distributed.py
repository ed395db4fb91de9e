"""Many devices: data parallel training, what it averages, and sharded parameters.

Each program runs on several of JAX's CPU devices, with `shard_map` or with `jit` and shardings. The
results of the devices are stacked, as those of torch's ranks are. The programs are always compiled.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jaxgrad
from jaxgrad import functional, optim
from jaxgrad._core import compat
from parity_tests.case import Deviation, Raises, case, identity
from parity_tests.cases._net import linear, mlp, mse
from parity_tests.inputs import document, normal, uniform
from parity_tests.inputs import linear as draw_linear


NET = {"l1": draw_linear(12, 8), "l2": draw_linear(8, 4)}
BRANCHES = {name: draw_linear(6, 2) for name in ("even", "odd", "spare")}
NORMED = {
    "norm": {"weight": uniform(6, low=0.5, high=1.5), "bias": normal(6)},
    "fc": draw_linear(6, 2),
}
RANKS = "ranks"
ROWS = P(RANKS)
compiled = functools.partial(case, modes=("jit",), devices=("cpu",))


def mesh_of(count):
    """Return a mesh of `count` CPU devices."""
    devices = jax.devices("cpu")[:count]
    if len(devices) < count:
        raise RuntimeError(
            f"{count} CPU devices are needed, JAX has {len(devices)}; before JAX starts, call "
            f'jax.config.update("jax_num_cpu_devices", {count})'
        )
    kinds = (jax.sharding.AxisType.Auto,)
    return jax.sharding.Mesh(devices, (RANKS,), axis_types=kinds)


def on_ranks(count, program, replicated, *rows, check_vma=True):
    """Run `program(replicated, *local_rows)` on every device and stack the results."""

    def stacked(*args):
        return jax.tree.map(lambda x: jnp.asarray(x)[None], program(*args))

    specs = (P(), *[P(RANKS)] * len(rows))
    run = jax.shard_map(
        stacked, mesh=mesh_of(count), in_specs=specs, out_specs=P(RANKS), check_vma=check_vma
    )
    return run(replicated, *rows)


def sharded(count, tree, spec=ROWS):
    """Shard rows, or parameters, over `count` devices."""
    return jax.device_put(tree, NamedSharding(mesh_of(count), spec))


def everywhere(count, tree):
    """Stack a replicated value as if each device had returned it."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), tree)


def pmean(x):
    return lax.pmean(x, RANKS)


def psum(x):
    return lax.psum(x, RANKS)


def local(tree):
    """Return parameters that vary by device, so that their gradients are not summed."""
    return jax.tree.map(lambda x: compat.vary(x, frozenset([RANKS])), tree)


def mlp_loss(net, x, y):
    return mse(mlp(net, x), y)


@compiled(
    source="P194",
    inputs=dict(net=NET, x=normal(8, 12), y=normal(8, 4)),
    idiom=("DistributedDataParallel(model)", 'grad of lax.pmean(loss, "ranks"), in shard_map'),
    control=dict(pmean=identity),
)
def ddp(net, x, y, *, pmean=pmean):
    """Under DDP each rank has its own loss and the mean of the ranks' gradients."""

    def program(net, x, y):
        def loss(net):
            own = mlp_loss(net, x, y)
            return pmean(own), own

        (_, own), grads = jaxgrad.value_and_grad(loss, has_aux=True)(net)
        return {"loss": own, "grads": grads}

    return on_ranks(4, program, net, x, y)


def own_mean(out, y):
    """Return the sum over the devices of each device's mean."""
    return sum(mse(a, b) for a, b in zip(jnp.split(out, 4), jnp.split(y, 4), strict=True))


@compiled(
    source="P197",
    inputs=dict(net=NET, x=normal(8, 12), y=normal(8, 4)),
    idiom=("DistributedDataParallel(model)", "jit of a grad; the batch by NamedSharding"),
    control=dict(mse=own_mean),
)
def ddp_sharding(net, x, y, *, mse=mse):
    """With a sharded batch under `jit`, the mean loss is already the mean over all ranks."""
    net, x, y = sharded(4, net, P()), sharded(4, x), sharded(4, y)
    loss, grads = jaxgrad.value_and_grad(lambda net: mse(mlp(net, x), y))(net)
    return everywhere(4, {"loss": loss, "grads": grads})


@compiled(
    source="P194",
    inputs=dict(w=document(1.0), x=document([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])),
    idiom=(
        "DistributedDataParallel(model)",
        "lax.pmean(jax.grad(loss)(w)), in shard_map(check_vma=True)",
    ),
    control=dict(in_the_loss=pmean),
    deviation=Deviation(
        why="With `check_vma=True`, the default of `shard_map`, JAX sums the gradients of "
        "replicated parameters over the devices. The `pmean` then averages equal sums and "
        "changes nothing: differentiate the `pmean` of the loss instead. With "
        "`check_vma=False` JAX sums nothing; there the `pmean` of the gradients is right, "
        "as in `pmap`, and the gradient of the `pmean` of the loss is each device's own.",
        torch_is=lambda w, x: {"grad": np.full(4, (2 * w * x**2).sum() / 4)},
        jax_is=lambda w, x: {"grad": np.full(4, (2 * w * x**2).sum())},
    ),
)
def ddp_pmean_of_grads(w, x, *, in_the_loss=identity):
    """`pmean` of the gradients, right under `pmap`, is too large by the device count in `shard_map`
    with `check_vma=True`, its default.
    """

    def program(w, x):
        return {"grad": pmean(jax.grad(lambda w: in_the_loss(jnp.sum((w * x) ** 2)))(w))}

    return on_ranks(4, program, w, x)


@compiled(
    source="P195",
    inputs=dict(w=document(1.0), x=document([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])),
    idiom=("all_reduce(loss).backward()", 'vmap(grad(psum(loss)), axis_name="ranks")'),
    control=dict(psum=identity),
    expect={"grad": [40.0, 200.0, 488.0, 904.0]},
)
def sum_in_the_loss(w, x, *, psum=psum):
    """A sum over ranks inside the loss multiplies each rank's own gradient by the number of
    ranks.
    """

    def program(x):
        loss, grad = jax.value_and_grad(lambda w: psum(jnp.sum((w * x) ** 2)))(w)
        return {"loss": loss, "grad": grad}

    return jax.vmap(program, axis_name=RANKS)(jnp.reshape(x, (4, 2)))


@compiled(
    source="P194",
    inputs=dict(net=NET, x=normal(8, 12), y=normal(8, 4)),
    idiom=("with model.no_sync(): loss.backward()", "accumulate local grads; lax.pmean once"),
    control=dict(local=identity),
)
def no_sync(net, x, y, *, local=local):
    """Under `no_sync` gradients stay local; the next backward averages the accumulated
    gradients.
    """

    def program(net, x, y):
        (x1, x2), (y1, y2) = jnp.split(x, 2), jnp.split(y, 2)
        first = jaxgrad.grad(mlp_loss)(local(net), x1, y1)
        both = jaxgrad.accumulate(first, jaxgrad.grad(mlp_loss)(local(net), x2, y2))
        return {"local": first, "grads": jax.tree.map(pmean, both)}

    return on_ranks(2, program, net, x, y)


def over_all(total, count):
    """Return the mean over the rows of all ranks."""
    return psum(total) / psum(count)


def of_means(total, count):
    """Return the mean of the ranks' means."""
    return pmean(total / count)


@compiled(
    source="P196",
    inputs=dict(w=document(1.0), x=document([2.0, 2.0, 2.0, 10.0])),
    idiom=("(len(rows) / mean_rows * loss).backward()", "psum(sum of rows) / psum(count)"),
    control=dict(weighted=of_means),
    expect={"mean_of_means": [6.0, 6.0], "weighted": [4.0, 4.0]},
)
def uneven_shards(w, x, *, weighted=over_all):
    """For shards of 3 rows and 1, DDP gives the mean of means; the true mean weights by rows."""
    rows = jnp.concatenate([x, jnp.zeros_like(x, shape=(2,))])
    there = jnp.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], x.dtype)

    def program(w, x, there):
        def mean(combine):
            return jax.grad(lambda w: combine(jnp.sum(w * x * there), jnp.sum(there)))(w)

        return {"mean_of_means": mean(of_means), "weighted": mean(weighted)}

    return on_ranks(2, program, w, rows, there)


def of_all(active):
    """Divide by the number of all ranks."""
    return psum(jnp.ones_like(active))


@compiled(
    source="P196",
    inputs=dict(net=NET, x=normal(4, 3, 12), y=normal(4, 3, 4)),
    idiom=("with Join([model]): ...", "lax.psum(active * loss) / ranks"),
    control=dict(counted=psum),
)
def join(net, x, y, *, counted=of_all):
    """Under `Join`, a rank without batches contributes zeros and still counts in the mean."""
    active = jnp.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], x.dtype)
    x, y = (jnp.concatenate([z, jnp.zeros_like(z[:2])]) for z in (x, y))

    def program(net, x, y, active):
        def step(net, batch):
            def loss(net):
                x, y, active = batch
                return psum(active * mlp_loss(net, x, y)) / counted(active)

            return jax.tree.map(lambda p, g: p - 0.1 * g, net, jaxgrad.grad(loss)(net)), None

        return {"params": lax.scan(step, net, (x, y, active))[0]}

    return on_ranks(2, program, net, x, y, active)


def branch_loss(net, x, y):
    """Make the values local first: a sum over ranks inside a branch would wait for the other
    ranks.
    """
    net = local(net)
    odd = lax.axis_index(RANKS) % 2 == 1
    out = lax.cond(odd, lambda: linear(net["odd"], x), lambda: linear(net["even"], x))
    return mse(out, y)


@compiled(
    source="P194",
    inputs=dict(net=BRANCHES, x=normal(8, 6), y=normal(8, 2)),
    idiom=("DDP(model, find_unused_parameters=True)", "jaxgrad.grad of lax.pmean(loss)"),
    control=dict(pmean=identity),
)
def find_unused_parameters(net, x, y, *, pmean=pmean):
    """A parameter that only some ranks use counts as zeros on the others; one used by none is
    None.
    """

    def program(net, x, y):
        return {"grads": jaxgrad.grad(lambda net: pmean(branch_loss(net, x, y)))(net)}

    return on_ranks(2, program, net, x, y)


def branch_losses(net, x, y):
    """Return the losses of both ranks, in numpy."""
    parts = zip(("even", "odd"), np.split(x, 2), np.split(y, 2), strict=True)
    return np.array(
        [((a @ net[name]["weight"].T + net[name]["bias"] - b) ** 2).mean() for name, a, b in parts]
    )


@compiled(
    source="P194",
    inputs=dict(net=BRANCHES, x=normal(8, 6), y=normal(8, 2)),
    idiom=(
        "DistributedDataParallel(model), second step  # raises",
        "jaxgrad.grad of lax.pmean(loss), two steps",
    ),
    control=dict(grad=jax.value_and_grad),
    deviation=Deviation(
        why="A torch rank waits for the gradient of every parameter unless "
        "`find_unused_parameters=True`. A JAX program is traced before it runs, so the "
        "unused parameters are known.",
        torch_is=lambda net, x, y: {
            "loss": branch_losses(net, x, y),
            "grads": {"weight": None, "bias": None},
            "next_step": [Raises(RuntimeError, "finished reduction in the prior iteration")] * 2,
        },
        jax_is=lambda net, x, y: {
            "loss": branch_losses(net, x, y),
            "grads": {"weight": None, "bias": None},
            "next_step": None,
        },
    ),
)
def unused_parameters(net, x, y, *, grad=jaxgrad.value_and_grad):
    """Without `find_unused_parameters`, the step after an unused parameter raises."""

    def program(net, x, y):
        def loss(net):
            own = branch_loss(net, x, y)
            return pmean(own), own

        (_, own), grads = grad(loss, has_aux=True)(net)
        return {"loss": own, "grads": grads["spare"]}

    return on_ranks(2, program, net, x, y) | {"next_step": None}


def normed_loss(net, x, y, running, axis):
    """Apply BatchNorm and a layer; with `axis`, the statistics are means over that mesh axis
    too.
    """
    mean = x.mean(0) if axis is None else lax.pmean(x.mean(0), axis)
    square = (x - mean) ** 2
    var = square.mean(0) if axis is None else lax.pmean(square.mean(0), axis)
    count = len(x) if axis is None else len(x) * lax.axis_size(axis)
    normed = (x - mean) * lax.rsqrt(var + 1e-5)
    new = {"mean": mean, "var": var * count / (count - 1)}
    running = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, new)
    h = normed * net["norm"]["weight"] + net["norm"]["bias"]
    return mse(linear(net["fc"], h), y), running


def from_rank_0(tree):
    """Copy the first rank's value to all ranks."""
    first = lax.axis_index(RANKS) == 0
    return jax.tree.map(lambda x: lax.psum(jnp.where(first, x, 0), RANKS), tree)


@compiled(
    source="P197",
    inputs=dict(net=NORMED, x=normal(16, 6), y=normal(16, 2)),
    idiom=("DDP(net with BatchNorm1d)", "BatchNorm of its own rows, in shard_map"),
    control=dict(broadcast=identity),
)
def batch_norm(net, x, y, *, broadcast=from_rank_0):
    """In DDP each rank normalizes by its own rows, and its buffers start as copies of rank 0's."""

    def program(net, x, y):
        running = {"mean": jnp.zeros_like(x[0]), "var": jnp.ones_like(x[0])}
        grads = None
        for rows, labels in zip(jnp.split(x, 2), jnp.split(y, 2), strict=True):

            def loss(net, rows=rows, labels=labels, running=running):
                own, new = normed_loss(net, rows, labels, broadcast(running), None)
                return pmean(own), new

            grads, running = jaxgrad.grad(loss, has_aux=True)(net)
        return {"grads": grads, **running}

    return on_ranks(4, program, net, x, y)


@compiled(
    source="P197",
    inputs=dict(net=NORMED, x=normal(16, 6), y=normal(16, 2)),
    idiom=("SyncBatchNorm.convert_sync_batchnorm(net)", "statistics by lax.pmean, in shard_map"),
    control=dict(axis=None),
)
def sync_batch_norm(net, x, y, *, axis=RANKS):
    """SyncBatchNorm normalizes by the rows of all ranks, and gradients flow through the
    statistics.
    """

    def program(net, x, y):
        running = {"mean": jnp.zeros_like(x[0]), "var": jnp.ones_like(x[0])}

        def loss(net):
            own, new = normed_loss(net, x, y, running, axis)
            return pmean(own), new

        grads, new = jaxgrad.grad(loss, has_aux=True)(net)
        return {"grads": grads, **new}

    return on_ranks(4, program, net, x, y)


def of_own_rows(net, x, y, running):
    """Normalize by each device's own statistics, as DDP does without SyncBatchNorm."""
    parts = zip(jnp.split(x, 4), jnp.split(y, 4), strict=True)
    losses = [batch_norm_loss(net, *part, running) for part in parts]
    return jax.tree.map(lambda *leaves: sum(leaves) / 4, *losses)


def batch_norm_loss(net, x, y, running):
    h, mean, var = functional.batch_norm(
        x, running["mean"], running["var"], **net["norm"], training=True
    )
    return mse(linear(net["fc"], h), y), {"mean": mean, "var": var}


@compiled(
    source="P197",
    inputs=dict(net=NORMED, x=normal(16, 6), y=normal(16, 2)),
    idiom=("SyncBatchNorm.convert_sync_batchnorm(net)", "batch_norm of a sharded batch, in jit"),
    control=dict(loss_of=of_own_rows),
)
def sync_batch_norm_sharding(net, x, y, *, loss_of=batch_norm_loss):
    """With a sharded batch under `jit`, a plain batch norm is SyncBatchNorm."""
    net, x, y = sharded(4, net, P()), sharded(4, x), sharded(4, y)
    running = {"mean": jnp.zeros_like(x[0]), "var": jnp.ones_like(x[0])}
    grads, new = jaxgrad.grad(lambda net: loss_of(net, x, y, running), has_aux=True)(net)
    return everywhere(4, {"grads": grads, **new})


def gathered(shards):
    """Gather parameters whose rows are spread over the devices."""
    return jax.tree.map(lambda w: lax.all_gather(w, RANKS, tiled=True), shards)


SGD = optim.sgd(lr=0.1)


@compiled(
    source="P194",
    inputs=dict(net=NET, x=normal(8, 12), y=normal(8, 4)),
    idiom=(
        "fully_shard(net); clip_grad_norm_(params, 0.1)",
        'clip_grad_norm(.., axis_name="ranks")',
    ),
    control=dict(axis=None),
)
def clip_sharded(net, x, y, *, axis=RANKS):
    """Sharded parameters are clipped by the norm of the whole gradient and stepped where they
    are.
    """

    def program(_, net, x, y):
        loss = lambda net: mlp_loss(gathered(net), x, y) / 4  # noqa: E731
        grads = jaxgrad.grad(loss)(net)
        clipped, norm = jaxgrad.clip_grad_norm(grads, 0.1, axis_name=axis)
        stepped, _ = SGD.step(clipped, SGD.init(net), net)
        return {"norm": norm, "grads": gathered(clipped), "params": gathered(stepped)}

    return on_ranks(4, program, None, net, x, y)


def first_rows(grads, max_norm):
    """Clip by the norm of one device's rows alone."""
    own = jax.tree.map(lambda g: g[: len(g) // 4], grads)
    norm = jaxgrad.clip_grad_norm(own, max_norm)[1]
    return jax.tree.map(lambda g: g * max_norm / norm, grads), norm


@compiled(
    source="P197",
    inputs=dict(net=NET, x=normal(8, 12), y=normal(8, 4)),
    idiom=(
        "fully_shard(net); clip_grad_norm_(params, 0.1)",
        "clip_grad_norm of sharded grads, in jit",
    ),
    control=dict(clip=first_rows),
)
def clip_sharding(net, x, y, *, clip=jaxgrad.clip_grad_norm):
    """With sharded parameters under `jit`, `clip_grad_norm` and the optimizers work unchanged."""
    net, x, y = sharded(4, net), sharded(4, x), sharded(4, y)
    clipped, norm = clip(jaxgrad.grad(mlp_loss)(net, x, y), 0.1)
    stepped, _ = SGD.step(clipped, SGD.init(net), net)
    return everywhere(4, {"norm": norm, "grads": clipped, "params": stepped})
