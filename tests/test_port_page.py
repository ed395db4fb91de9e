"""The page `docs/port.md` shows ports as they are written."""

import importlib.util
import re
from typing import Any

import numpy as np
import pytest
from torch import nn

from parity_tests.runner.settings import ROOT
from tests.jaxgrad.parity.port._ports import source


PAIRS = re.findall(
    r"```python\n([^`]*)```\n\nThe port, after its docstring:\n\n```python\n([^`]*)```",
    (ROOT / "docs" / "port.md").read_text(),
)
INPUTS: dict[str, tuple[Any, ...]] = {
    "attention": (np.ones((2, 3, 8), np.float32),),
    "gradients": (np.ones((3, 4), np.float32), np.array([True, False, False])),
    "modes": (np.ones((2, 2, 4, 4), np.float32),),
}


@pytest.mark.parametrize(("name", "pair"), [*zip(INPUTS, PAIRS, strict=True)], ids=INPUTS)
def test_the_port_of_each_module_is_the_one_on_the_page(name, pair, tmp_path):
    """The module on the page has the port on the page."""
    module, port = pair
    path = tmp_path / "models" / f"{name}.py"
    path.parent.mkdir()
    path.write_text(module)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    classes = [x for x in vars(made).values() if isinstance(x, type) and issubclass(x, nn.Module)]

    written = source(classes[-1](), *INPUTS[name])
    _, _, code = written.removeprefix('"""').partition('"""')

    assert code.strip() == port.strip()
