"""Code in a table is broken after its separators, and words stay whole."""

import pytest

from parity_tests.site.breaks import with_breaks


def code(text: str) -> str:
    return f'<code class="docutils literal"><span class="pre">{text}</span></code>'


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("lax.stop_gradient(x)", "lax.|stop_|gradient(|x)"),
        ("grad(f)(x,y)", "grad(|f)(|x,|y)"),
        ("tests/test_x.py", "tests/|test_|x.|py"),
        ("create_graph=True", "create_|graph=|True"),
        ("requires_grad_(False)", "requires_|grad_(|False)"),
        ("params[&quot;w&quot;]", "params[|&quot;w&quot;]"),
        ("-1.429e+11", "-1.429e+11"),
        ("backward()", "backward()"),
        ("nn.BatchNorm2d", "nn.|BatchNorm2d"),
        ("CosineAnnealingWarmRestarts(o", "Cosine|Annealing|Warm|Restarts(|o"),
    ],
)
def test_code_is_broken_after_separators(text, marked):
    """Numbers, entities and short names stay whole; long names are broken before capitals."""
    cell = f"<table><tr><td><p>{code(text)}</p></td></tr></table>"
    assert with_breaks(cell) == cell.replace(text, marked.replace("|", "<wbr>"))


def test_only_long_words_of_prose_are_broken():
    """A path and a long link get breaks; sentences, listings and text outside of cells do not."""
    long = "<td>e.g. no_grad (torch/optim/sparse_adam.py)</td>"
    assert with_breaks(long) == (
        "<td>e.g. no_grad (torch/<wbr>optim/<wbr>sparse_<wbr>adam.<wbr>py)</td>"
    )
    assert with_breaks("<td><a href='#'>retain_grad</a></td>").count("retain_<wbr>grad") == 1
    for html in ("<p>lax.stop_gradient_of_this</p>", "<td><pre>lax.stop_gradient(x)</pre></td>"):
        assert with_breaks(html) == html
