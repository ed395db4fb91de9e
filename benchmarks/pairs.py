"""The twin implementations of `parity_tests.ports`, in float32 and in the sizes of small networks.

The parity tests use them in float64 and with widths of 5 to 16. There a count of flops shows little
but the shapes of tiny programs.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np


# The constants of each module that differ from those in its file.
SIZES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "mlp": dict(FEATURES=256, CONTEXT=16, WIDTH=512, BATCH=64),
        "gpt2": dict(VOCABULARY=1000, WIDTH=128, TOKENS=64),
        "vit": dict(IMAGE=32, COUNT=64, WIDTH=128, BATCH=8),
        "bert": dict(VOCABULARY=1000, WIDTH=128, SIZE=32, TOKENS=64),
        "t5": dict(VOCABULARY=1000, WIDTH=128, SIZE=64),
        "unet": dict(IMAGE=64, WIDTH=16, BATCH=4),
        "lstm": dict(FEATURES=64, HIDDEN=64, BATCH=16, STEPS=32),
        "gru": dict(VOCABULARY=1000, WIDTH=128, TOKENS=32),
        "mamba": dict(WIDTH=64, INNER=128, STATE=16, BATCH=4, TOKENS=32),
        "vae": dict(PIXELS=784, WIDTH=256, LATENT=16, BATCH=64),
        "clip": dict(PIXELS=256, VOCABULARY=1000, TOKENS=32, WIDTH=128, BATCH=16),
    }
)


@contextlib.contextmanager
def opened(name: str) -> Iterator[dict[str, Any]]:
    """Yield a pair in float32; its sizes hold until the context ends, so trace it inside."""
    file = importlib.import_module(f"parity_tests.ports.{name}")
    constants: dict[str, Any] = {**SIZES[name]}
    with mock.patch.multiple(file, **constants):
        pair = file.pair()
        narrow = {key: jax.tree.map(_float32, pair[key]) for key in ("params", "inputs")}
        yield {**pair, **narrow, "module": pair["module"].float()}


def _float32(x: Any) -> Any:
    if not isinstance(x, np.ndarray | jax.Array):
        return x
    return x.astype(np.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x
