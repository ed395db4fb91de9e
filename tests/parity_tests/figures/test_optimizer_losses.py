"""The figure of the optimizers shows losses that agree with torch, and some that do not."""

import numpy as np
import torch

from parity_tests.figures import optimizer_losses
from parity_tests.figures.run import tensors
from tests.parity_tests.figures.reading import words


def test_the_losses_are_those_of_a_plain_run(monkeypatch):
    """torch's SGD with dampening, written out in the test, has the losses of the figure."""
    name = "SGD, dampening"
    monkeypatch.setattr(optimizer_losses, "CASES", {name: optimizer_losses.CASES[name]})
    given = tensors(optimizer_losses.CASES[name])
    params = [w.requires_grad_() for layer in given["net"].values() for w in layer.values()]
    layers = given["net"]["l1"], given["net"]["l2"]
    sgd, fresh = torch.optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5), []
    for _ in range(8):
        h = given["x"]
        for layer in layers:
            h = torch.nn.functional.linear(h, layer["weight"], layer["bias"])
        loss = torch.nn.functional.mse_loss(h, given["y"])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        fresh.append(loss.item())
    record = optimizer_losses.record()
    losses = record[name]

    np.testing.assert_allclose(losses.torch, fresh, rtol=1e-12)
    np.testing.assert_allclose(losses.jax, fresh, rtol=1e-9)
    assert np.abs(np.subtract(losses.optax, fresh)).max() > 1e-3
    (words_,) = (w for w in words(optimizer_losses.draw(record)) if "differs" in w)
    assert float(words_.split()[-1]) == round(
        float(np.abs(np.subtract(losses.optax, fresh)).max()), 4
    )
