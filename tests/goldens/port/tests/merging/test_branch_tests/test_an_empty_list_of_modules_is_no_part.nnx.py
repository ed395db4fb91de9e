"""JAX port of Stages (merging/test_branch_tests.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Stages(nnx.Module):
    """Stages (merging/test_branch_tests.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.stages = nnx.List(
            [
                Stage(rngs=rngs),
                Stage2(normalized_shape=4, out_features=6, rngs=rngs),
                Stage2(normalized_shape=6, out_features=8, rngs=rngs),
            ]
        )

    def __call__(self, x):
        x = self.stages[0](x)
        x = self.stages[1](x)
        return self.stages[2](x)


class Stage(nnx.Module):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.body(x))


class Stage2(nnx.Module):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0).
    """

    def __init__(self, normalized_shape, out_features, *, rngs: nnx.Rngs):
        self.down = nnx.List(
            [LayerNorm(normalized_shape), Linear(normalized_shape, out_features, rngs=rngs)]
        )
        self.body = Linear(out_features, out_features, rngs=rngs)

    def __call__(self, x):
        for layer in self.down:
            x = layer(x)
        return jnp.tanh(self.body(x))

# ---- the next port of this test ----
"""JAX port of Stages (merging/test_branch_tests.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Stages(nnx.Module):
    """Stages (merging/test_branch_tests.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.stages = nnx.List(
            [
                Stage(rngs=rngs),
                Stage2(normalized_shape=4, out_features=6, rngs=rngs),
                Stage2(normalized_shape=6, out_features=8, rngs=rngs),
            ]
        )

    def __call__(self, x):
        x = self.stages[0](x)
        x = self.stages[1](x)
        return self.stages[2](x)


class Stage(nnx.Module):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.body(x))


class Stage2(nnx.Module):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0).
    """

    def __init__(self, normalized_shape, out_features, *, rngs: nnx.Rngs):
        self.down = nnx.List(
            [LayerNorm(normalized_shape), Linear(normalized_shape, out_features, rngs=rngs)]
        )
        self.body = Linear(out_features, out_features, rngs=rngs)

    def __call__(self, x):
        for layer in self.down:
            x = layer(x)
        return jnp.tanh(self.body(x))
