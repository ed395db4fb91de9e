"""Compare the dtypes in which the two optimizers store their states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import paths
from jaxgrad.parity.prove.record.jax_side.native import LOW
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram
from jaxgrad.parity.prove.report import Finding


def of_optax(program: JaxProgram, tx: Any) -> dict[str, str]:
    """Return the dtype of each floating array in the state of an optax transformation."""
    scalars = any(not np.ndim(x) for x in program.params)  # or else it is a setting, such as a rate
    with jax.enable_x64(False):
        leaves = [
            jax.ShapeDtypeStruct(x.shape, jax.dtypes.canonicalize_dtype(dtype))
            if jnp.issubdtype(dtype, jnp.inexact)
            else None
            for x, dtype in zip(program.params, program.dtypes, strict=True)
        ]
        params = program.fill(leaves)
        try:
            state = jax.eval_shape(tx.init, params)
        except Exception:  # the updates surface reports it
            return {}
    return {
        path: str(x.dtype)
        for path, x in paths.named(state)
        if jnp.issubdtype(x.dtype, jnp.inexact) and (x.ndim or scalars)
    }


def findings(torch: Mapping[str, str], jax: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return a finding if only one optimizer stores its state below float32."""
    low = {path: dtype for path, dtype in jax.items() if dtype in LOW}
    torch_low = {name: dtype for name, dtype in torch.items() if dtype in LOW}
    if not torch or not jax or set(low.values()) == set(torch_low.values()):
        return ()
    if low and not set(low.values()) <= set(torch_low.values()):
        path, dtype = next(iter(low.items()))
        name, kept = next(iter(torch.items()))
        text = f"optax stores its state in {dtype}, and torch stores its state in {kept}"
        return (Finding("precision", name, path, text, op="optimizer"),)
    name, dtype = next(iter(torch_low.items()))
    path, kept = next((p, d) for p, d in jax.items() if d not in LOW)
    text = f"torch stores its state in {dtype}, and optax stores its state in {kept}"
    return (Finding("precision", name, path, text, op="optimizer"),)
