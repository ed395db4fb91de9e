"""Run one of several JAX processes that compute a gradient together.

    python -m parity_tests.audits.two_processes RANK COUNT ADDRESS FILE

As on a cluster, each process has one device and its own rows of the batch. It writes its gradients
to FILE.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def problem() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Return parameters and a batch that are the same in every process."""
    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((3, 5)), "b": rng.standard_normal(3)}
    return params, rng.standard_normal((8, 5)), rng.standard_normal((8, 3))


def main(rank: int, count: int, address: str, path: str) -> None:
    import jaxgrad

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_num_cpu_devices", 1)
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, count, rank, initialization_timeout=60)
    assert len(jax.devices()) == count and len(jax.local_devices()) == 1

    params, x, y = problem()
    mesh = jax.make_mesh((count,), ("ranks",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = NamedSharding(mesh, P("ranks"))
    own = slice(rank * len(x) // count, (rank + 1) * len(x) // count)
    x, y = (jax.make_array_from_process_local_data(rows, z[own]) for z in (x, y))

    @jax.jit
    def step(params, x, y):
        return jaxgrad.value_and_grad(lambda p: jnp.mean((x @ p["w"].T + p["b"] - y) ** 2))(params)

    loss, grads = step(jax.device_put(params, NamedSharding(mesh, P())), x, y)
    np.savez(path, loss=loss, **grads)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
