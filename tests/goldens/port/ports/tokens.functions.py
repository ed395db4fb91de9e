"""JAX port of Model (ports/tokens.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- ids.shape[0] <= 4 (tokens.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")

SMOOTHING = 0.1


def model(p, ids, labels):
    """Model (ports/tokens.py:0): ids (3, 5) int, labels (3, 5) int -> ()."""
    h = F.embedding(ids, **p["embedding"], padding_idx=0) + p["position"]["weight"][: ids.shape[1]]
    valid = (ids != 0)[..., None]
    mean = jnp.clip(valid.sum(axis=1, keepdims=True), min=1)
    mean = (h * valid).sum(axis=1, keepdims=True) / mean
    h = jnp.tanh(F.linear(h + mean, **p["mix"]))
    # large batches are averaged, to save memory
    assert ids.shape[0] <= 4, (
        "this port holds for ids.shape[0] <= 4: torch takes another branch otherwise (tokens.py:0)"
    )
    logits = F.linear(h, p["embedding"]["weight"])  # tied
    y = logits.reshape(-1, logits.shape[2])
    return F.cross_entropy(y, labels.reshape(-1), label_smoothing=SMOOTHING)
