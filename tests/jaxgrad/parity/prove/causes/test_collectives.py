"""Ports that run on eight devices are proved as they are, and a wrong sum over them is named."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.causes import collectives


torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2)).eval()
_STATE = {name: x.numpy() for name, x in NET.state_dict().items()}
PARAMS = {
    "w1": _STATE["0.weight"].T,
    "b1": _STATE["0.bias"],
    "w2": _STATE["2.weight"].T,
    "b2": _STATE["2.bias"],
}
X = np.random.default_rng(0).standard_normal((8, 3))
SPLIT = {"w1": P(None, "d"), "b1": P("d"), "w2": P("d", None), "b2": P()}


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = NET

    def forward(self, x):
        return (self.net(x) ** 2).mean()


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:8]), ("d",))


def plain(p, x):
    return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def sharded(*spec):
    return NamedSharding(mesh(), P(*spec))


def constrained(p, x):
    h = lax.with_sharding_constraint(jnp.tanh(x @ p["w1"] + p["b1"]), sharded("d", None))
    return h @ p["w2"] + p["b2"]


def given_shardings(p, x):
    specs = jax.tree.map(lambda spec: NamedSharding(mesh(), spec), SPLIT)
    return jax.jit(plain, in_shardings=(specs, sharded("d")), donate_argnums=(0, 1))(p, x)


def by_rows(p, x):
    fun = jax.shard_map(plain, mesh=mesh(), in_specs=(P(), P("d")), out_specs=P("d"))
    return fun(p, x)


def by_hidden(p, x, reduce=lax.psum, **options):
    def shard(p, x):
        return reduce(jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"], "d") + p["b2"]

    specs = {"in_specs": (SPLIT, P()), "out_specs": P()}
    return jax.shard_map(shard, mesh=mesh(), **specs, **options)(p, x)


def gathered(p, x, divisor=1):
    def shard(p, x):
        h = jnp.tanh(lax.all_gather(x, "d", tiled=True) @ p["w1"] + p["b1"])
        return lax.psum_scatter(h @ p["w2"], "d", tiled=True) / divisor + p["b2"]

    specs = {"in_specs": (SPLIT, P("d")), "out_specs": P("d")}
    return jax.jit(jax.shard_map(shard, mesh=mesh(), **specs))(p, x)


def ring(p, x):
    """Pass blocks of hidden units around a ring, under remat inside a scan."""

    def shard(p, x):
        @jax.checkpoint
        def step(carry, _):
            block, total = carry
            h = jnp.tanh(x @ block["w1"] + block["b1"])
            send = functools.partial(lax.ppermute, axis_name="d", perm=AROUND)
            return (jax.tree.map(send, block), total + h @ block["w2"]), None

        block = {name: p[name] for name in ("w1", "b1", "w2")}
        start = lax.pcast(jnp.zeros((len(x), 2)), ("d",), to="varying")
        (_, total), _ = lax.scan(step, (block, start), None, length=8)
        return total + p["b2"]

    specs = {"in_specs": (SPLIT, P("d")), "out_specs": P("d")}
    return jax.shard_map(shard, mesh=mesh(), **specs)(p, x)


AROUND = [(i, (i + 1) % 8) for i in range(8)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "port",
    [constrained, given_shardings, by_rows, by_hidden, gathered, ring],
    ids=lambda f: f.__name__,
)
def test_a_port_for_eight_devices_passes(port):
    """Shardings, donated arguments and all collectives are traced, run and differentiated."""
    assert prove(NET, port, PARAMS, (X,)).check().verdict == "pass"


def mean_loss(p, x, reduce=lax.pmean):
    def shard(p, x):
        return reduce(jnp.mean(plain(p, x) ** 2), "d")

    return jax.shard_map(shard, mesh=mesh(), in_specs=(P(), P("d")), out_specs=P())(p, x)


def test_a_mean_over_devices_passes():
    """The mean of the devices' losses is the loss of the whole batch."""
    assert prove(Loss(), mean_loss, PARAMS, (X,)).verdict == "pass"


def test_a_sum_of_losses_is_named():
    """A loss that is summed over eight devices is named, with the line of the psum."""
    first = prove(Loss(), functools.partial(mean_loss, reduce=lax.psum), PARAMS, (X,)).first

    assert first is not None and "psum" in first.jax and "test_collectives.py" in first.jax
    assert first.cause == (
        "this psum adds the values of 8 devices (mesh axis 'd'); with their mean (pmean), the "
        "outputs are torch's"
    )


@pytest.mark.parametrize(
    "port",
    [functools.partial(by_hidden, reduce=lax.pmean), functools.partial(gathered, divisor=8)],
    ids=["pmean", "psum_scatter"],
)
def test_a_mean_in_place_of_a_sum_is_named(port):
    """A layer whose parts are averaged over the devices, not added, is named."""
    first = prove(NET, port, PARAMS, (X,)).first

    assert first is not None and first.torch == "2"
    assert first.cause == (
        "this mean divides by 8, the number of devices (mesh axis 'd'); without that, the outputs "
        "are torch's"
    )


def test_another_error_is_not_blamed_on_a_sum():
    """A wrong activation beside a right psum is not explained by the number of devices."""

    def port(p, x):
        return by_hidden({**p, "b1": p["b1"] + 0.5}, x)

    first = prove(NET, port, PARAMS, (X,)).first

    assert first is not None and "devices" not in first.cause


def test_a_gradient_that_lacks_a_sum_is_named():
    """A custom derivative that sums over the devices once too seldom is eight times too small."""

    @jax.custom_vjp
    def total(x):
        return lax.psum(x, "d")

    total.defvjp(lambda x: (total(x), None), lambda _, g: (g,))
    port = functools.partial(by_hidden, reduce=lambda x, _: total(x), check_vma=False)
    first = prove(NET, port, PARAMS, (X,)).first

    assert first is not None and first.surface == "gradients"
    assert "8 is the size of mesh axis 'd', which may be averaged over, not summed" in first.cause


def test_a_multiple_must_equal_a_product_of_mesh_axes():
    """On a mesh of 2 by 4 a factor of 8 is both axes, and a factor of 3 is neither."""
    grid = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("a", "b"))
    fun = jax.shard_map(lambda x: x, mesh=grid, in_specs=P(), out_specs=P())
    program = collectives_program(fun)
    x = np.array([1.0, 2.0])

    assert collectives.multiple(program, x, 8 * x).startswith("8 is the size of mesh axes 'a' and")
    assert collectives.multiple(program, x, x / 4).startswith("4 is the size of mesh axis 'b'")
    assert collectives.multiple(program, x, 2 * x).startswith("2 is the size of mesh axis 'a', wh")
    for other in (3 * x, 0 * x, x, -8 * x, 8 * x[::-1], None):
        assert collectives.multiple(program, x, other) == ""
    assert collectives.multiple(program, None, x) == ""
    assert collectives.multiple(program, x[:1], 8 * x[:1]) == ""  # two numbers have any ratio


def collectives_program(fun):
    from jaxgrad.parity.prove.record.jax_side import program

    return program.program(lambda _, x: fun(x), {}, (np.ones(2),))


def explicit():
    return jax.make_mesh((8,), ("d",))


def by_explicit_rows(p, x):
    return jax.shard_map(plain, mesh=explicit(), in_specs=(P(), P("d")), out_specs=P("d"))(p, x)


def resharded(p, x, mesh=None):
    x = jax.sharding.reshard(x, P("d") if mesh is None else NamedSharding(mesh, P("d")))
    return plain(p, x)


def by_auto_rows(p, x):
    auto = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,) * 1)
    return jax.shard_map(plain, mesh=auto, in_specs=(P(), P("d")), out_specs=P("d"))(p, x)


@pytest.mark.parametrize("port", [by_explicit_rows, lambda p, x: resharded(p, x, explicit())])
def test_a_mesh_with_explicit_axes_is_explained(port):
    """An error about Explicit axes says how to make the mesh, or where to call prove."""
    text = str(prove(NET, port, PARAMS, (X,)))

    assert (
        "prove passes arrays on one device. If the mesh has Explicit axes, as jax.make_mesh" in text
    )
    assert "axis_types=(jax.sharding.AxisType.Auto,) * n" in text and "jax.set_mesh(mesh)" in text


def test_both_remedies_for_explicit_axes_work():
    """A mesh with Auto axes passes, and so does a port that reshards inside `jax.set_mesh`."""
    assert prove(NET, by_auto_rows, PARAMS, (X,)).verdict == "pass"
    with jax.set_mesh(explicit()):
        assert prove(NET, resharded, PARAMS, (X,)).verdict == "pass"


def test_a_shard_map_that_is_the_port_itself_has_a_line():
    """A `shard_map` that prove calls directly is placed at the function that it maps."""
    specs = {"in_specs": (P(), P("d")), "out_specs": P("d")}
    port = jax.shard_map(lambda p, x: -plain(p, x), mesh=mesh(), **specs)
    report = prove(NET, port, PARAMS, (X,))

    assert report.first is not None and "test_collectives.py" in report.first.jax
    assert "(no line)" not in str(report)
