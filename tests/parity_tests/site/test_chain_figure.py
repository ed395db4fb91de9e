"""The figures of the page on tapes and transformations are drawn from a run."""

import math

import jax
import jax.numpy as jnp
import torch

from parity_tests.runner.settings import ROOT
from parity_tests.site import chain_figure
from tests.parity_tests.figures.reading import words


def test_the_figures_are_current():
    """The committed figures are what a run draws now, and the page shows each of them.

    Other versions of JAX keep other residuals, so that residuals.svg names its version.
    """
    page = (ROOT / "docs" / "tape_or_transform.md").read_text()

    for name, svg in chain_figure.figures().items():
        committed = (chain_figure.FOLDER / name).read_text()
        same_version = f">JAX {jax.__version__}<" in committed
        assert committed == svg or ("residuals" in name and not same_version), "run: make pages"
        assert f'="_static/{name}"' in page  # both variants, so that a phone shows the narrow one
        assert ("residuals" in name) == (">JAX " in committed)


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

    *nodes, last = names
    assert nodes == list(reversed(chain_figure.NODES)) and last.endswith("AccumulateGrad")
    for name in ("tape.svg", "tape-narrow.svg"):
        drawn = words(chain_figure.figures()[name])
        assert [each for each in drawn if each.endswith("Backward0")] == list(chain_figure.NODES)
        assert "AccumulateGrad" in drawn


def test_the_kept_values_are_those_of_a_run():
    """torch's nodes keep x, h and h; the residuals of `jax.vjp` are the values in the figure."""
    assert chain_figure.saved() == ["x = 0.5", "h = 0.7616", "h = 0.7616"]
    leaves = jax.tree.leaves(
        jax.vjp(lambda w: jnp.tanh(w * jnp.float32(0.5)) ** 2, jnp.float32(2))[1]
    )
    shown = [line.split(" = ")[1] for each in chain_figure.kept() for line in each.split("\n")]

    assert sorted(shown) == sorted({f"{float(leaf):.4g}" for leaf in leaves})
    assert set(chain_figure.saved()) <= set(words(chain_figure.figures()["tape.svg"]))


def test_each_step_multiplies_by_the_factor_in_its_box():
    """A cotangent is the next one times the factor of the node between the two.

    The box also has the formula of the factor, in the values of the figure.
    """
    (_, _, h, _), tangents, cotangents = chain_figure.numbers()
    drawn = words(chain_figure.figures()["tape.svg"])

    formulas = {"x": chain_figure.X, "1−h²": 1 - h**2, "2h": 2 * h}
    assert tuple(formulas) == chain_figure.SLOPES
    for i, (factor, formula) in enumerate(zip(chain_figure._local(), formulas, strict=True)):
        assert f"× {factor:.4g} ({formula})" in drawn
        assert math.isclose(factor, formulas[formula], rel_tol=1e-6)
        assert math.isclose(cotangents[i], cotangents[i + 1] * factor, rel_tol=1e-6)
        assert math.isclose(tangents[i + 1], tangents[i] * factor, rel_tol=1e-6)


def test_the_figures_name_the_loss_as_the_text_does():
    """The page writes ℓ, and so do the figures."""
    for svg in chain_figure.figures().values():
        assert not any("∂L" in word or word.startswith("L ") for word in words(svg))
