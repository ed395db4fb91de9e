"""The cells of torch and JAX that a reader pastes print the same, also after the change to try."""

import os
import re
import subprocess
import sys
import warnings

import pytest

from parity_tests.notebook.pairs import Pair, agree, length, pairs, printed, values
from parity_tests.runner.settings import ROOT
from tests._helpers import sampled
from tests.parity_tests.notebook._lessons import cells


PAIRS = [
    (f"{name}-{number}", pair)
    for name, texts in cells().items()
    for number, pair in enumerate(pairs(texts), 1)
]
EVERY = [pytest.param(name, pair, id=name) for name, pair in PAIRS]
REAL = {"prove_your_port": 0, "port_a_model": 0}  # these are real code already
LINES = 12
ALONE = ("import torch", "from torch", "import jax", "import optax", "import jaxgrad", "from jax")


def run(code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return printed(code)


@pytest.mark.parametrize("name", cells())
def test_each_notebook_has_code_to_change(name):
    """Each notebook has at least two pairs."""
    count = sum(each.rpartition("-")[0] == name for each, _ in PAIRS)

    assert count >= REAL.get(name, 2)


@pytest.mark.parametrize(("name", "pair"), EVERY)
def test_a_cell_is_short_and_needs_nothing_else(name, pair):
    """A cell has few lines, imports what it needs, and says what to change and to look for."""
    for cell in (pair.torch, pair.jax):
        imports = [line for line in cell.splitlines() if line.startswith(("import", "from"))]
        assert length(cell) <= LINES
        assert imports and all(line.startswith(ALONE) for line in imports)
    assert "import jax" not in pair.torch and "import torch" not in pair.jax
    assert pair.changed() != pair and pair.change.rstrip().endswith(("?", "."))


# `make test-all` runs all of them; `make notebooks` runs the cells, and their outputs are compared.
@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "pair"), EVERY)
def test_both_cells_print_the_same_before_and_after_the_change(name, pair):
    """Each cell runs in a fresh namespace, and the suggested change changes what it prints."""
    torch, jax = run(pair.torch), run(pair.jax)
    changed = pair.changed()
    torch_after, jax_after = run(changed.torch), run(changed.jax)
    apart = re.search(r"\bdiffers?\b|\braises\b", pair.change) is not None

    assert values(torch) and agree(torch, jax) != pair.differs, (torch, jax)
    assert agree(torch_after, jax_after) != apart, (torch_after, jax_after)
    assert (torch_after, jax_after) != (torch, jax)
    for text in (torch, jax, jax_after):
        assert "Error" not in text, text


@pytest.mark.slow
def test_the_cells_run_without_the_checkout(tmp_path):
    """Torch, JAX and an installed jaxgrad are enough; JAX computes in float32 there."""
    chosen = [pair for _, pair in sampled(PAIRS, 13)]
    chosen.sort(key=lambda pair: "jax_num_cpu_devices" not in pair.jax)  # before JAX computes
    blocks = [cell for pair in chosen for cell in (pair.torch, pair.jax)]
    end = "import sys\nassert 'parity_tests' not in sys.modules and not jax.config.jax_enable_x64\n"
    (tmp_path / "cells.py").write_text("\n\n".join([*blocks, end]))
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "jaxgrad").symlink_to(ROOT / "jaxgrad")
    changed = {"PYTHONPATH": str(tmp_path / "packages"), "JAX_ENABLE_X64": "0"}
    process = subprocess.run(
        [sys.executable, "cells.py"],
        cwd=tmp_path,
        env=os.environ | changed,
        capture_output=True,
        text=True,
    )

    assert process.returncode == 0, process.stderr


def test_values_are_read_from_what_both_frameworks_print():
    """Numbers in names do not count, nor does a line about an exception of torch."""
    assert values("w1 tensor([ 1., -2.5000])") == values("w1 [ 1.  -2.5]") == [1, -2.5]
    assert values("c None nan 2.6e-01") == ["None", pytest.approx(float("nan"), nan_ok=True), 0.26]
    assert values("torch raises: element 0 of tensors\nx None") == ["None"]
    assert agree("tensor([0.6000, nan])", "[0.5999999 nan]")
    assert not agree("0.", "None") and not agree("1", "1 1") and not agree("1.0", "1.01")


def test_the_change_is_read_from_the_sentence():
    """Each suggested edit is applied to the cells that contain its text."""
    pair = Pair("a = b", "a == b", "Replace `=` by `+`, and delete ` b` in JAX. What is printed?")

    assert pair.changed() == Pair("a + b", "a ++")
    with pytest.raises(AssertionError, match="no zzz there"):
        Pair("a", "b", "Delete `zzz`.").changed()
    with pytest.raises(AssertionError, match="no change is named"):
        Pair("a", "b", "Change something.").changed()


def test_a_cell_of_torch_needs_its_counterpart():
    """A cell of torch without JAX, or without a sentence below it, is an error."""
    assert pairs(["x", "# torch\n1", "# JAX\n2", "# Try it: delete `1`.\n# Why?"]) == [
        Pair("# torch\n1", "# JAX\n2", "Try it: delete `1`. Why?")
    ]
    with pytest.raises(AssertionError, match="no cell of JAX follows"):
        pairs(["# torch\n1", "x"])
    with pytest.raises(AssertionError, match="no sentence follows"):
        pairs(["# torch\n1", "# JAX\n2"])
    with pytest.raises(AssertionError, match="join the lines"):
        pairs(["# torch\n1", "# JAX\n2", "# Try it: delete `1`. Do they\nagree?"])


def test_a_cell_that_raises_prints_the_exception():
    """The lines before the exception stay."""
    assert printed("print(1)\nraise ValueError('no')") == "1\nValueError: no\n"
    assert length("# torch\nimport torch\n\n\nx = 1\n") == 1
