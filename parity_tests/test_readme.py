"""What the README shows runs."""

import re

import pytest

from parity_tests.settings import ROOT


BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_python_block_runs(block):
    """A block of Python in the README runs, and its assertions hold."""
    exec(compile(block, "README.md", "exec"), {})


def test_there_is_a_block():
    """The README shows `import jaxgrad`."""
    assert any("import jaxgrad" in block for block in BLOCKS)
