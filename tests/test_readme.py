"""The README's programs run and print the output that the README shows."""

import collections
import json
import re
from typing import Any

import numpy as np
import pytest
import torch

from jaxgrad.parity import Report
from parity_tests.case import load
from parity_tests.pictures.draw_case import picture
from parity_tests.runner.settings import ROOT


README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
PRINTED = re.findall(r"```python\n([^`]*)```\n\n```text\n([^`]*)```", README)
NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?(?![\w:])")


def test_there_is_a_block():
    """The README has a Python block with `import jaxgrad`."""
    assert any("import jaxgrad" in block for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_python_block_runs(block):
    """A Python block of the README runs and its assertions hold."""
    _run(block)


def test_the_torch_comments_form_a_torch_program():
    """The `# torch:` comments form a torch program with the gradients of the JAX program."""
    block = next(block for block in BLOCKS if "# torch:" in block)
    jax_names = _run(block)
    tensors = {n: torch.tensor(np.asarray(p)) for n, p in jax_names["params"].items()}
    torch_names: dict[str, Any] = {n: t.requires_grad_() for n, t in tensors.items()}
    torch_names |= {"torch": torch, "clip_grad_norm_": torch.nn.utils.clip_grad_norm_}
    torch_names["x"] = torch.tensor(np.asarray(jax_names["x"]))

    _run("\n".join(re.findall(r"# torch: (.*)", block)), **torch_names)

    for name, tensor in tensors.items():
        gradient = None if tensor.grad is None else tensor.grad.numpy()
        assert (jax_names["clipped"][name] is None) == (gradient is None), name
        if gradient is not None:
            np.testing.assert_allclose(jax_names["clipped"][name], gradient, rtol=1e-5)


def test_every_torch_comment_is_in_the_ten_lines():
    """Only one block has `# torch:` comments, because the comments of others would be untested."""
    assert sum("# torch:" in block for block in BLOCKS) == 1
    scripts = [*(ROOT / "notebooks").glob("*.py"), *(ROOT / "docs").glob("*.md")]
    copy = ROOT / "docs" / "ten_lines.md"  # `make docs` writes it from the README
    others = [path for path in scripts if path != copy]
    assert [path.name for path in others if "# torch:" in path.read_text()] == []


@pytest.mark.parametrize("block, text", PRINTED, ids=range(len(PRINTED)))
def test_a_block_prints_the_text_under_it(block, text, capsys):
    """The text under a block is its output, except for digits and the running time."""
    _run(block)
    printed = re.sub(r"\n+[\d.]+ s: .*\n$", "\n", capsys.readouterr().out)

    assert NUMBER.sub("#", text) == NUMBER.sub("#", printed), f"copy into the README:\n{printed}"


def test_prove_finds_only_what_is_wrong():
    """`prove` passes for the README's example once it uses torch's epsilon."""
    (block,) = (block for block, _ in PRINTED if "prove(" in block)
    reports: list[Report] = []
    _run(block.replace("1e-6", "1e-5"), print=reports.append)

    assert [report.verdict for report in reports] == ["pass"], reports[0]


def test_the_cells_on_a_gpu_are_quoted_correctly():
    """The README and the page on GPUs quote the verdicts that a run on a GPU recorded."""
    folder = ROOT / "benchmarks" / "gpu"
    cells = json.loads((folder / "parity.json").read_text())["cells"]
    verdicts = collections.Counter(v for modes in cells.values() for v in modes.values())
    assert verdicts.keys() == {"bitwise", "close", "deviation"}
    total = f"{verdicts.total()} of {verdicts.total()} cells"
    assert total in README
    page = " ".join((folder / "README.md").read_text().split())
    assert (
        f"{total} pass: {verdicts['bitwise']} bit for bit, {verdicts['close']} within tolerance, "
        f"{verdicts['deviation']} as documented deviations" in page
    )


def test_the_kill_table_is_quoted_correctly():
    """The README quotes the figures of the table that `make kill-table` wrote."""
    table = (ROOT / "benchmarks" / "KILL_TABLE.md").read_text()
    figures = {
        r"(\d+) bugs, (\d+) leave": r"planted (\d+) porting mistakes in 34 pairs .*; (\d+) of",
        r"found (\d+) .*right surface and place (\d+)": r"finds (\d+), and for (\d+) it names",
        r"assert_close on gradients: (\d+)": r"finds (\d+) when it compares gradients",
        r"assert_close on outputs: (\d+)": r"and (\d+)\nwhen it compares outputs",
    }
    for there, here in figures.items():
        written, quoted = re.search(there, table), re.search(here, README)
        assert written and quoted, (there, here)
        assert written.groups() == quoted.groups()


def test_the_picture_is_current():
    """The README's picture is what `--picture` draws now, except for version numbers."""
    asked = re.search(r"`python -m parity_tests --picture (\S+) -o (\S+)`", README)
    assert asked, "README.md does not name the command that draws its picture"
    id, path = asked.groups()
    versions = re.compile(r'\b(torch|JAX) \d.*\n<text x="[\d.]+"|\bjaxgrad-[0-9a-f]{8}\b')

    assert f"]({path})" in README
    kept, drawn = (ROOT / path).read_text(), picture(load()[id])
    assert versions.sub("", kept) == versions.sub("", drawn), f"not current: {asked[0]}"


def _run(block: str, **names: Any) -> dict[str, Any]:
    """Run a block of code and return its namespace."""
    exec(compile(block, "README.md", "exec"), names)
    return names
