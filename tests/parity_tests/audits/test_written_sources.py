"""What the ports of the collection hold as text is checked: numbers, format, ruff and pyright."""

import pytest

from jaxgrad.parity.port.port import port
from parity_tests.audits import port_collection, written_sources
from tests._helpers import ALL


NAMES = list(port_collection.entries())
if not ALL:  # `make test-all` writes every one
    NAMES = ["swin_block", "graph_attention", "vq_vae", "squeeze_excite", "perceiver"]


@pytest.fixture(scope="module")
def sources():
    modules = {name: port_collection.example(name) for name in NAMES}
    return {n: (m, x, port(m, x, prove=False).source) for n, (m, x, _) in modules.items()}


@pytest.mark.slow
def test_no_number_of_a_port_is_a_product_of_sizes(sources):
    """The sizes with which a port runs to find its shapes are not in its docstrings."""
    for name, (module, inputs, source) in sources.items():
        assert written_sources.large_numbers(module, inputs, source) == [], name


@pytest.mark.slow
def test_a_large_number_is_found(sources):
    """A docstring with a product of sizes does not pass."""
    module, inputs, source = sources["swin_block"]
    wrong = source.replace("(B_, 4, 4)", "(133052, 4, 4)")
    assert written_sources.large_numbers(module, inputs, wrong) == [133052]


@pytest.mark.slow
def test_ruff_and_pyright_find_nothing(sources):
    """The formatter leaves each file as it is, and no name is unused."""
    texts = {name: source for name, (_, _, source) in sources.items()}
    found = written_sources.findings(texts)
    assert not any(found.values()), found


def test_what_ruff_and_pyright_find_is_reported():
    """An unused name, a long line and a wrong type are findings."""
    source = '"""Add one."""\n\n\ndef add(x: str) -> int:\n    a, b = x.split()\n    return a\n'
    (found,) = written_sources.findings({"add": source}).values()
    assert any("RUF059" in text for text in found)
    assert any("pyright" in text for text in found)
    assert "ruff format changes it" in written_sources.findings({"x": "y = 'a'\n"})["x"]
