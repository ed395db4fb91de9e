"""The figures of the page on tapes and transformations are drawn from a run."""

import re

import torch

from parity_tests.runner.settings import ROOT
from parity_tests.site import chain_figure


def test_the_figures_are_current():
    """The committed figures are what a run draws now, and the page shows each of them."""
    page = (ROOT / "docs" / "tape_or_transform.md").read_text()

    for name, svg in chain_figure.figures().items():
        assert (chain_figure.FOLDER / name).read_text() == svg, "run: make pages"
        assert f"](_static/{name})" in page


def test_the_numbers_are_torchs():
    """The values and cotangents in the figures are torch's; the last tangent is the gradient."""
    w = torch.tensor(chain_figure.W, requires_grad=True)
    chain = [w, w * chain_figure.X]
    chain.append(torch.tanh(chain[1]))
    chain.append(chain[2] ** 2)
    gradients = torch.autograd.grad(chain[3], chain)
    values, tangents, cotangents = chain_figure.numbers()

    assert [f"{v:.4g}" for v in values] == [f"{v.item():.4g}" for v in chain]
    assert [f"{v:.4g}" for v in cotangents] == [f"{v.item():.4g}" for v in gradients]
    assert f"{tangents[-1]:.4g}" == f"{cotangents[0]:.4g}"


def test_the_nodes_are_torchs():
    """The tape's figure names the nodes that torch records."""
    w = torch.tensor(2.0, requires_grad=True)
    node = (torch.tanh(w * 0.5) ** 2).grad_fn
    names = []
    while node is not None:
        names.append(node.name())
        node = next((parent for parent, _ in node.next_functions if parent is not None), None)

    assert names[:3] == list(reversed(chain_figure.NODES))
    assert re.findall(r">(\w+Backward0)<", chain_figure.figures()["tape.svg"]) == list(
        chain_figure.NODES
    )
