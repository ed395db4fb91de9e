"""Gradients on many devices are correct, and compiled collectives are counted."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from jax.sharding import PartitionSpec as P

import jaxgrad
from jaxgrad.distributed import Collective, collectives, read_collectives
from parity_tests.audits import collectives as scaling
from parity_tests.audits.two_processes import problem
from parity_tests.cases import distributed as twins
from parity_tests.runner.settings import DEVICES, ROOT
from torch_ref import _ranks
from torch_ref import distributed as references


RANKS = twins.RANKS


def net_and_rows():
    rng = np.random.default_rng(0)
    shapes = {"l1": {"weight": (8, 12), "bias": (8,)}, "l2": {"weight": (8, 8), "bias": (8,)}}
    net = jax.tree.map(rng.standard_normal, shapes, is_leaf=lambda x: isinstance(x, tuple))
    return net, rng.standard_normal((8, 12)), rng.standard_normal((8, 8))


# ---- JAX: `jit` with shardings, and `shard_map`


@pytest.mark.parametrize("count", (2, 8))
def test_shard_map_and_shardings_agree(count):
    """`shard_map` and `jit` with shardings give the gradient of one device with the whole batch."""
    net, x, y = net_and_rows()
    mesh = twins.mesh_of(count)
    mean = jax.grad(lambda *args: twins.pmean(twins.mlp_loss(*args)))
    specs = (P(), P(RANKS), P(RANKS))
    mapped = jax.jit(jax.shard_map(mean, mesh=mesh, in_specs=specs, out_specs=P()))(net, x, y)
    placed = twins.sharded(count, net, P()), twins.sharded(count, x), twins.sharded(count, y)
    by_sharding = jax.jit(jax.grad(twins.mlp_loss))(*placed)
    alone = jax.jit(jax.grad(twins.mlp_loss))(net, x, y)

    for grads in (mapped, by_sharding):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), grads, alone)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("check_vma", (True, False))
def test_the_place_of_the_mean_depends_on_check_vma(check_vma):
    """With `check_vma` the mean belongs in the loss; without it, on the gradients, as in `pmap`."""
    w, x = jnp.float32(1), jnp.arange(1.0, 9.0)
    own = 2 * np.asarray(x) ** 2  # the gradient of each of eight devices, one row each

    def loss(w, x):
        return jnp.sum((w * x) ** 2)

    def program(w, x):
        of_the_loss = jax.grad(lambda w: twins.pmean(loss(w, x)))(w)
        return of_the_loss, twins.pmean(jax.grad(loss)(w, x))

    of_the_loss, of_the_gradients = twins.on_ranks(8, program, w, x, check_vma=check_vma)

    np.testing.assert_allclose(of_the_loss, own.mean() if check_vma else own)
    np.testing.assert_allclose(of_the_gradients, own.sum() if check_vma else own.mean())


def test_unused_parameters_of_sharded_functions_get_none():
    """`jaxgrad.grad` of or inside `shard_map` gives None for an unused parameter."""
    net, x, y = net_and_rows()
    net["spare"] = np.ones(3)
    mesh, specs = twins.mesh_of(2), (P(), P(RANKS), P(RANKS))
    loss = lambda net, x, y: twins.pmean(twins.mlp_loss(net, x, y))  # noqa: E731
    around = jaxgrad.grad(jax.shard_map(loss, mesh=mesh, in_specs=specs, out_specs=P()))
    inside = jax.shard_map(jaxgrad.grad(loss), mesh=mesh, in_specs=specs, out_specs=P())
    one, two = jax.jit(around)(net, x, y), jax.jit(inside)(net, x, y)

    assert one.pop("spare") is None and two.pop("spare") is None
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), one, two)


# ---- JAX: clipping sharded gradients


@pytest.mark.sampled(3)
@pytest.mark.parametrize("p", (0, 1, 2, 3, float("inf"), float("-inf")))
def test_the_norm_of_shards_is_that_of_the_whole(p):
    """The norm of sharded gradients equals the unsharded norm; replicated gradients count once."""
    grads = {"w": np.arange(-7.0, 9.0).reshape(8, 2), "b": np.array([3.0, -0.5]), "none": None}
    specs = {"w": P(RANKS), "b": P(), "none": None}
    clip = lambda g: jaxgrad.clip_grad_norm(g, 0.1, p, axis_name=RANKS)  # noqa: E731
    run = jax.shard_map(clip, mesh=twins.mesh_of(4), in_specs=(specs,), out_specs=(specs, P()))
    clipped, norm = jax.jit(run)(grads)
    expected, whole = jaxgrad.clip_grad_norm(jax.tree.map(jnp.asarray, grads), 0.1, p)

    np.testing.assert_allclose(norm, whole, rtol=1e-14)
    np.testing.assert_allclose(clipped["w"], expected["w"], rtol=1e-14)
    np.testing.assert_allclose(clipped["b"], expected["b"], rtol=1e-14)


def test_without_tracking_every_gradient_counts_as_sharded():
    """Under `check_vma=False`, where JAX does not track replication, gradients count as shards."""
    clip = lambda g: jaxgrad.clip_grad_norm(g, 1.0, axis_name=(RANKS,))[1]  # noqa: E731
    run = jax.shard_map(clip, mesh=twins.mesh_of(4), in_specs=P(), out_specs=P(), check_vma=False)

    assert jax.jit(run)(jnp.array([3.0, 4.0])) == 10.0


# ---- JAX: real processes


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def train_together(folder):
    """Run two JAX processes and return their results; retry if the port is taken meanwhile."""
    codes, log = [], folder / "0.log"
    for attempt in range(3):
        address = f"127.0.0.1:{free_port()}"
        paths = [folder / f"{attempt}-{rank}.npz" for rank in (0, 1)]
        command = [sys.executable, "-m", "parity_tests.audits.two_processes"]
        log = folder / f"{attempt}.log"
        with log.open("wb") as output:
            running = [
                subprocess.Popen(
                    [*command, str(rank), "2", address, str(path)],
                    cwd=ROOT, stdout=output, stderr=output,
                )
                for rank, path in enumerate(paths)
            ]  # fmt: skip
            try:
                codes = [process.wait(120) for process in running]
            finally:
                for process in running:
                    process.kill()
                    process.wait()
        if codes == [0, 0]:
            return [dict(np.load(path)) for path in paths]
    raise AssertionError(f"the processes ended with {codes}:\n{log.read_text()[-2000:]}")


def test_two_processes_have_the_gradients_of_torch(tmp_path):
    """Both of two real `jax.distributed` processes get torch's gradients of the whole batch."""
    params, x, y = problem()
    w, b, x, y = (torch.tensor(z) for z in (*params.values(), x, y))
    parameters = w.requires_grad_(), b.requires_grad_()
    loss = torch.nn.functional.mse_loss(torch.nn.functional.linear(x, w, b), y)
    grads = torch.autograd.grad(loss, parameters)

    for results in train_together(tmp_path):
        for name, expected in zip(("loss", "w", "b"), (loss, *grads), strict=True):
            np.testing.assert_allclose(results[name], expected.detach().numpy(), rtol=1e-12)


# ---- collectives


def module(*lines, header="HloModule m, num_partitions=8"):
    return "\n".join([header, "", "ENTRY %main (x: f32[8]) -> f32[8] {", *lines, "}"])


@pytest.mark.parametrize(
    "line, fields",
    (
        (
            "%r = (f32[8]{0}, bf16[2,3]{1,0}) all-reduce(%a, %b), replica_groups={{0,1},{2,3}}",
            ("all-reduce", 2, 1, 44),
        ),
        ("%r = f64[8]{0} all-gather(%a), replica_groups=[2,4]<=[8]", ("all-gather", 4, 1, 64)),
        (
            "%r = f32[2]{0} reduce-scatter(%a), replica_groups=[2,4]<=[4,2]T(1,0)",
            ("reduce-scatter", 4, 1, 32),
        ),
        (
            "%r = f32[2]{0} all-reduce(%a), replica_groups=mesh['x'=2,'y'=4] {'y'}",
            ("all-reduce", 4, 1, 8),
        ),
        (
            "%r = f32[2]{0} all-reduce(%a), replica_groups=mesh['x'=4,'y'=2] {'x':(1)2,'y'}",
            ("all-reduce", 4, 1, 8),
        ),
        ("%r = pred[4]{0} all-to-all(%a), replica_groups={}", ("all-to-all", 8, 1, 4)),
        (
            "%r = (f32[2]{0}, f32[8]{0}) all-gather-start(%a), replica_groups={{0,1,2,3}}",
            ("all-gather", 4, 1, 32),
        ),
        ("%r = f32[8]{0} all-reduce-start(%a), replica_groups={{0,1}}", ("all-reduce", 2, 1, 32)),
        (
            "%r = f32[8]{0} collective-permute(%a), source_target_pairs={{0,1},{1,0}}",
            ("collective-permute", 2, 1, 32),
        ),
    ),
)
def test_a_collective_is_read(line, fields):
    """A collective's kind, group size and bytes are parsed in every notation that XLA uses."""
    assert read_collectives(module(f"  {line}, channel_id=1")) == [Collective(*fields)]


def test_lines_without_communication_are_not_counted():
    """Groups of one device, `-done` operations and operand names are not counted."""
    text = module(
        "  %a = f32[8]{0} all-reduce(%x), replica_groups={{0},{1}}",
        "  %b = f32[8]{0} all-reduce-done(%a)",
        "  %c = f32[8]{0} add(%all-reduce.1, %b)",
    )

    assert read_collectives(text) == []


def test_groups_that_are_not_understood_are_an_error():
    """A replica_groups notation that cannot be parsed raises an error that quotes the line."""
    with pytest.raises(
        ValueError,
        match=r"cannot parse this.*size is unknown: %r = f32\[8\]\{0\} all-reduce\(%x\), groups",
    ):
        read_collectives(module("  %r = f32[8]{0} all-reduce(%x), groups=new"))


def test_a_loop_counts_its_iterations_and_a_condition_its_branches():
    """A sum in a scan of length 5 is counted five times, and one in a cond's branch once."""

    def program(x):
        x = lax.scan(lambda c, _: (c + lax.psum(c, RANKS) * 0.1, None), x, None, length=5)[0]
        big = lax.psum(jnp.sum(x), RANKS) > 0
        return lax.cond(big, lambda: lax.pmax(x, RANKS), lambda: 2 * x)

    run = jax.shard_map(
        program, mesh=twins.mesh_of(4), in_specs=P(RANKS), out_specs=P(RANKS), check_vma=False
    )
    (collective,) = collectives(run, jnp.ones(8, jnp.float32))

    assert collective == Collective("all-reduce", 4, 7, 5 * 8 + 4 + 8)


@pytest.mark.parametrize(
    "kind, sent",
    (("all-reduce", 150.0), ("all-gather", 75.0), ("reduce-scatter", 75.0), ("all-to-all", 75.0)),
)
def test_a_ring_sends_its_share(kind, sent):
    """Each device of a ring sends (n - 1) / n of the bytes, and twice that for an all-reduce."""
    assert Collective(kind, 4, 1, 100).sent == sent


def test_a_permutation_sends_all():
    """In a permutation, each device sends its whole array."""
    assert Collective("collective-permute", 2, 1, 100).sent == 100.0


# ---- docs/distributed.md


@pytest.mark.slow
def test_the_page_is_what_was_compiled():
    """docs/distributed.md lists the collectives that this JAX compiles.

    Under a JAX version other than the page's, only rows that do not depend on XLA's choices are
    compared: before JAX 0.11, XLA merges a repeated gather with the first one.
    """
    command = [sys.executable, "-m", "parity_tests.audits.collectives"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    written = (ROOT / "docs" / "distributed.md").read_text()
    remedy = f"run: {' '.join(command[1:])} --markdown docs/distributed.md"

    assert done.returncode == 0, done.stderr
    if f"(JAX {jax.__version__}," in written:
        assert done.stdout == written, remedy
    free = ("| FSDP, `jit`", "| FSDP, gathered again")
    lines = written.splitlines()
    rows = [row for row in lines if row.startswith("|") and not row.startswith(free)]
    assert len(rows) > 15 and not set(rows) - set(done.stdout.splitlines()), remedy


def test_three_points_on_a_line():
    """`_line` returns the line through three points, or None if they are not on one."""
    assert scaling._line([2, 4, 8]) == (0.0, 1.0)
    assert scaling._line([5, 5, 5]) == (5.0, 0.0)
    assert scaling._line([2, 4, 16]) is None


# ---- torch's ranks


@pytest.mark.slow
def test_torchs_sync_batch_norm_refuses_a_cpu():
    """torch's SyncBatchNorm still refuses CPU tensors, so torch_ref needs its own."""
    errors = references._torchs_sync_batch_norm(torch.ones(3, 2))

    assert [str(error)[:53] for error in errors] == [
        "SyncBatchNorm expected input tensor to be on GPU or X"
    ] * 2


def test_our_sync_batch_norm_is_that_of_the_whole_batch():
    """torch_ref's SyncBatchNorm on four ranks equals `nn.BatchNorm1d` on the whole batch."""
    rng = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    net = {
        "norm": {"weight": draw(6), "bias": draw(6)},
        "fc": {"weight": draw(2, 6), "bias": draw(2)},
    }
    x, y = draw(16, 6), draw(16, 2)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        results = references.sync_batch_norm(net, x, y)
        alone = references.Normed(net, torch.nn.BatchNorm1d(6))
        torch.nn.functional.mse_loss(alone(x), y).backward()
    finally:
        torch.set_default_dtype(before)

    for rank in range(4):
        torch.testing.assert_close(results["var"][rank], alone.norm.running_var)
        torch.testing.assert_close(results["grads"]["norm"]["weight"][rank], alone.norm.weight.grad)
        torch.testing.assert_close(results["grads"]["fc"]["weight"][rank], alone.fc.weight.grad)


def test_a_rank_that_raises_is_named_and_the_others_do_not_wait():
    """A rank's exception is raised without waiting for the others, and the next call works."""
    start = time.monotonic()
    with pytest.raises(_ranks.RankError, match=r"rank \d raised KeyError: 'l1'"):
        references.ddp({}, torch.ones(4, 12), torch.ones(4, 4))
    result = references.sum_in_the_loss(torch.tensor(1.0), torch.ones(4))

    assert time.monotonic() - start < _ranks.SECONDS
    assert result["grad"].tolist() == [8.0] * 4


def test_trees_of_ranks_are_stacked():
    """Tensors from all ranks are stacked, None stays None, and unequal shapes become a list."""
    one, two = torch.ones(2), torch.zeros(3)

    tree = _ranks.stacked([{"a": one, "b": None, "c": one}, {"a": one, "b": None, "c": two}])

    assert tree["a"].shape == (2, 2) and tree["b"] is None
    assert [len(x) for x in tree["c"]] == [2, 3]


@pytest.mark.slow
def test_no_rank_outlives_its_caller():
    """All rank processes exit even when their caller is killed."""
    program = (
        "import torch, os; from torch_ref import _ranks, distributed as d; "
        "d.sum_in_the_loss(torch.tensor(1.0), torch.ones(4)); "
        "print(_ranks._server().pid, flush=True); input()"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert caller.stdin is not None and caller.stdout is not None
    with caller.stdin, caller.stdout:
        server = int(caller.stdout.readline())
        group = [server, *children(server)]
        caller.kill()
        caller.wait()
        left = wait_until_gone(group)

    assert len(group) == 5 and not left


def children(pid):
    """Return a process's children from /proc, or from pgrep where /proc is missing."""
    task = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    if task.exists():
        return [int(child) for child in task.read_text().split()]
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(child) for child in done.stdout.split()]


def wait_until_gone(pids, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pids = [pid for pid in pids if alive(pid)]
        if not pids:
            break
        time.sleep(0.05)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return pids


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = pathlib.Path(f"/proc/{pid}/stat")  # a zombie counts as dead
    return not (stat.exists() and ") Z" in stat.read_text())


def test_the_suite_has_its_devices():
    """`settings.configure` gives JAX enough CPU devices, and asking for more raises an error."""
    assert len(jax.devices("cpu")) == DEVICES
    with pytest.raises(RuntimeError, match=r"9 CPU devices are needed, JAX has 8.*num_cpu_devices"):
        twins.mesh_of(9)
