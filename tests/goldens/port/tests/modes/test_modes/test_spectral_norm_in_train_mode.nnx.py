"""JAX port of Normalized (modes/test_modes.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


class Normalized(nnx.Module):
    """A weight that is divided by its spectral norm, of which train mode makes an estimate.

    Normalized (modes/test_modes.py:0).
    """

    def __init__(self):
        self.fc = ParametrizedLinear()

    def __call__(self, x):
        return jax.nn.relu(self.fc(x))


class ParametrizedLinear(nnx.Module):
    """torch.nn.utils.parametrize.ParametrizedLinear.

    `jaxgrad.nnx.load_state_dict` sets `bias`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.bias = nnx.Param(jnp.empty(4, jnp.float64))
        self.parametrizations = nnx.Dict({"weight": ParametrizationList()})

    def __call__(self, x):
        y = getattr(self.parametrizations["weight"], "0")(
            self.parametrizations["weight"].original[...]
        )
        return F.linear(x, y, self.bias[...])


class ParametrizationList(nnx.Module):
    """torch.nn.utils.parametrize.ParametrizationList.

    `jaxgrad.nnx.load_state_dict` sets `original`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.original = nnx.Param(jnp.empty((4, 3), jnp.float64))
        setattr(self, "0", _SpectralNorm())


class _SpectralNorm(nnx.Module):
    """torch.nn.utils.parametrizations._SpectralNorm.

    `jaxgrad.nnx.load_state_dict` sets `_u` and `_v`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self._u = nnx.BatchStat(jnp.empty(4, jnp.float64))
        self._v = nnx.BatchStat(jnp.empty(3, jnp.float64))
        self.deterministic = False

    def __call__(self, weight):
        weight_mat = weight
        if not self.deterministic:
            self._power_method(weight_mat)
        u = self._u[...]
        v = self._v[...]
        sigma = F.vdot(u, weight_mat @ v)
        return weight / sigma

    def _power_method(self, weight_mat):
        power_method(self, weight_mat)


def power_method(module, weight_mat):
    """_power_method (utils/parametrizations.py:0)."""
    module._u[...] = lax.stop_gradient(F.normalize(weight_mat @ module._v[...], dim=0))
    module._v[...] = lax.stop_gradient(F.normalize(weight_mat.T @ module._u[...], dim=0))
