"""The README's programs run and print the output that the README shows."""

import collections
import json
import linecache
import pathlib
import re
import tomllib
from typing import Any

import jax
import numpy as np
import pytest
import torch

from jaxgrad.parity import Report
from jaxgrad.parity.prove.dtypes.single_precision import NOTEWORTHY, Float32Error
from parity_tests.__main__ import main
from parity_tests.audits.common_checks import RULES
from parity_tests.case import load
from parity_tests.runner.settings import ROOT
from parity_tests.site.printed import of_any_torch
from tests._helpers import has_page_release


README = (ROOT / "README.md").read_text()
FIRST = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)[0]
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
PRINTED = re.findall(r"```python\n([^`]*)```\n\n```text\n([^`]*)```", README)
NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?(?![\w:])")


def test_the_readme_is_short():
    """The README has at most 250 lines; what does not fit is on a page of docs/."""
    assert len(README.splitlines()) <= 250


def test_the_cpu_build_of_torch_is_named_under_install():
    """A reader without a GPU learns how to avoid the CUDA build before the first command."""
    install = README.partition("\n## Install\n")[2].partition("\n## ")[0]

    commands = re.findall(r"^pip install .*$", install, re.MULTILINE)

    assert commands[0].startswith(
        "pip install torch --index-url https://download.pytorch.org/whl/cpu"
    )


def test_the_install_block_can_be_pasted_whole():
    """The block installs the package once; each alternative stands in a row of its own."""
    install = README.partition("\n## Install\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```bash\n(.*?)```", install, re.DOTALL)
    alternatives = re.findall(r"^\| `(pip install .*?)` \|", install, re.MULTILINE)

    assert re.findall(r"^pip install [.\"].*$", block, re.MULTILINE) == [
        'pip install ".[parity,nnx]"  # all that this page shows'
    ]
    assert alternatives == [
        "pip install .",
        'pip install ".[torch]"',
        'pip install ".[notebooks]" jupyterlab',
    ]


def test_the_training_step_fails_without_the_clipping(tmp_path):
    """The negative control of the block with a training step."""
    (block,) = (block for block in BLOCKS if "Training(" in block)
    clipped = "optax.chain(optim.clip_grad_norm(max_norm=1.0), optim.adamw(lr=1e-3))"
    assert block.count(clipped) == 1
    wrong = block.replace(clipped, "optim.adamw(lr=1e-3)").replace(".check()", "")

    names = _run(wrong.replace("\nprove(", "\nreport = prove("), tmp_path)

    report = names["report"]
    assert report.verdict == "fail" and report.first is not None
    assert report.first.cause.startswith("the gradients are not clipped")


def test_the_notebooks_are_installed_with_a_program_that_opens_them():
    """The extra has no notebook program; the README and the course install and start the same."""
    install = README.partition("\n## Install\n")[2].partition("\n## ")[0]
    course = (ROOT / "docs" / "course.md").read_text()
    command = 'pip install ".[notebooks]" jupyterlab'

    assert command in install and command in course
    assert "cd notebooks && jupyter lab" in install and "cd notebooks && jupyter lab" in course


def test_the_picture_is_drawn_with_the_pinned_torch():
    """The README says which torch drew its picture, and the picture has that version on it."""
    (pin,) = re.findall(r"^torch==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    minor = pin.rpartition(".")[0]
    picture = (ROOT / "docs" / "_static" / "critic.svg").read_text()

    assert f"the notebooks and the picture are of torch {minor}." in " ".join(README.split())
    assert f"torch {pin}" in picture


def test_the_first_example_says_what_it_needs():
    """A reader learns before the first program that it needs torch."""
    assert "(to run it, [install jaxgrad](#install))" in README.partition("```python\n")[0]


def test_an_environment_is_made_before_the_first_install():
    """The first line of Install makes an environment, on Windows too, and each extra exists."""
    install = README.partition("\n## Install\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```bash\n(.*?)```", install, re.DOTALL)
    first = block.splitlines()[0]

    assert first.startswith("python3 -m venv .venv && . .venv/bin/activate")
    assert "Windows: py -m venv .venv" in first
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = re.findall(r'pip install "\.\[([\w,]+)\]"', install)
    extras = [extra for names in found for extra in names.split(",")]
    assert extras == ["parity", "nnx", "torch", "notebooks"]
    assert set(extras) <= set(project["optional-dependencies"])


def test_a_report_names_the_file_that_the_reader_is_told_to_save():
    """The README says under which name to save its first program, because the report has it."""
    before, _, report = README.partition("```text\n")

    assert "Save it as `example.py`. `python example.py` prints" in before
    assert set(re.findall(r"\w+\.py", report.partition("```")[0])) == {"example.py"}


def test_there_is_a_block():
    """The README has a Python block with `import jaxgrad`."""
    assert any("import jaxgrad" in block for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_python_block_runs(block, tmp_path):
    """A Python block of the README runs and its assertions hold."""
    _run(block, tmp_path)


def test_the_torch_comments_form_a_torch_program(tmp_path):
    """The `# torch:` comments form a torch program with the gradients of the JAX program."""
    block = next(block for block in BLOCKS if "# torch:" in block)
    jax_names = _run(block, tmp_path)
    tensors = {n: torch.tensor(np.asarray(p)) for n, p in jax_names["params"].items()}
    torch_names: dict[str, Any] = {n: t.requires_grad_() for n, t in tensors.items()}
    torch_names |= {"torch": torch, "clip_grad_norm_": torch.nn.utils.clip_grad_norm_}
    torch_names["x"] = torch.tensor(np.asarray(jax_names["x"]))

    _run("\n".join(re.findall(r"# torch: (.*)", block)), tmp_path, **torch_names)

    for name, tensor in tensors.items():
        gradient = None if tensor.grad is None else tensor.grad.numpy()
        assert (jax_names["clipped"][name] is None) == (gradient is None), name
        if gradient is not None:
            np.testing.assert_allclose(jax_names["clipped"][name], gradient, rtol=1e-5)


def test_every_torch_comment_is_in_the_ten_lines():
    """Only one block has `# torch:` comments, because the comments of others would be untested."""
    assert sum("# torch:" in block for block in BLOCKS) == 1
    scripts = [*(ROOT / "notebooks").glob("*.py"), *(ROOT / "docs").glob("*.md")]
    copy = ROOT / "docs" / "ten_lines.md"  # `make docs` writes this page from the README
    others = [path for path in scripts if path != copy]
    assert [path.name for path in others if "# torch:" in path.read_text()] == []


@pytest.mark.parametrize("block, text", PRINTED, ids=range(len(PRINTED)))
def test_a_block_prints_the_text_under_it(block, text, capsys, tmp_path):
    """The text under a block is its output, except for digits and the running time."""
    _run(block, tmp_path)
    printed = re.sub(r"\n+[\d.]+ s(: .*)?\n$", "\n", capsys.readouterr().out)

    shown, run = (NUMBER.sub("#", of_any_torch(x)) for x in (text, printed))

    assert shown == run, f"copy into the README:\n{printed}"


@pytest.fixture(scope="module")
def critic(tmp_path_factory):
    """Return the names of the README's first block: a wrong port that trains."""
    return _run(FIRST, tmp_path_factory.mktemp("critic"), print=lambda _: None)


def test_the_fix_of_the_first_port_is_all_that_it_needs(critic, tmp_path):
    """With the change that the README's report suggests, `prove` passes."""
    (fix,) = re.findall(r"^    \+ (.*)$", README, re.MULTILINE)
    wrong = "    target = reward + 0.9 * q(p, next_state)\n"
    assert FIRST.count(wrong) == 1
    reports: list[Report] = []
    _run(FIRST.replace(wrong, f"    {fix}\n"), tmp_path, print=reports.append)

    assert [report.verdict for report in reports] == ["pass"], reports[0]
    assert "With the suggested change, `prove` prints PASS" in " ".join(README.split())
    assert str(reports[0]).startswith("PASS")


def test_the_first_port_has_the_loss_of_torch_and_trains(critic):
    """The loss is torch's, the gradients that the README names differ, and the loss falls."""
    model, params, inputs = critic["model"], critic["params"], {}
    for name, value in (("state", critic["state"]), ("reward", np.ones((5, 1)))):
        inputs[name] = np.asarray(value, np.float32)
    inputs["next_state"] = np.asarray(critic["next_state"], np.float32)
    tensors = {name: torch.tensor(value).requires_grad_() for name, value in inputs.items()}
    loss = model(**tensors)
    loss.backward()

    def port_loss(params, inputs):
        return critic["critic"](params, **inputs)

    start, (grads, of_inputs) = jax.value_and_grad(port_loss, (0, 1))(params, inputs)
    np.testing.assert_allclose(start, loss.item(), rtol=1e-6)
    for name, parameter in model.named_parameters():
        assert not np.allclose(grads[name], parameter.grad.numpy(), rtol=1e-2), name
    in_torch = {name: tensor.grad for name, tensor in tensors.items()}
    for name in ("state", "reward"):
        np.testing.assert_allclose(of_inputs[name], np.asarray(in_torch[name]), rtol=1e-4)
    assert in_torch["next_state"] is None and np.any(of_inputs["next_state"])
    step = jax.jit(
        lambda p: jax.tree.map(lambda x, g: x - 0.1 * g, p, jax.grad(port_loss)(p, inputs))
    )
    for _ in range(200):
        params = step(params)
    assert port_loss(params, inputs) < start / 2


def test_the_cells_on_a_gpu_are_quoted_correctly():
    """The pages on versions and on GPUs quote the verdicts that a run on a GPU recorded."""
    folder = ROOT / "benchmarks" / "gpu"
    cells = json.loads((folder / "parity.json").read_text())
    verdicts = collections.Counter(v for modes in cells.values() for v in modes.values())
    assert verdicts.keys() == {"bitwise", "close", "deviation"}
    total = f"{verdicts.total()} of {verdicts.total()} cells"
    versions = (ROOT / "docs" / "versions.md").read_text()
    assert f"{total} pass" in versions
    (operators,) = (
        record
        for record in json.loads((folder / "records.json").read_text())
        if record["target"] == "operators"
    )
    counts = f"{operators['passed']} of {operators['of']} operators pass"
    assert counts in versions
    page = " ".join((folder / "README.md").read_text().split())
    assert (
        f"{total} pass: {verdicts['bitwise']} bit for bit, {verdicts['close']} within tolerance, "
        f"{verdicts['deviation']} as documented deviations" in page
    )


def test_the_tests_on_a_gpu_are_quoted_correctly():
    """The page on GPUs gives each record's counts and names every operator that failed."""
    folder = ROOT / "benchmarks" / "gpu"
    page = (folder / "README.md").read_text()
    records = {r["target"]: r for r in json.loads((folder / "records.json").read_text())}
    for part in ("operators", "layers", "ports", "prove"):
        assert f"{records[part]['passed']:,} of {records[part]['of']:,}" in page, part
    failed = {re.findall(r"\[(.*)\]", name)[0] for name in records["operators"]["failed"]}
    fft = {name for name in failed if name.startswith("fft.")}
    assert f"{len(fft)} of the 18 of `fft`" in page and f"The {len(failed)} operators" in page
    for name in failed - fft:
        assert f"`{name.removeprefix('linalg.')}`" in page, name


def test_the_kill_table_is_quoted_correctly():
    """The README quotes the figures of the table that `make kill-table` wrote."""
    table = (ROOT / "benchmarks" / "KILL_TABLE.md").read_text()
    figures = {
        r"found (\d+) .*right surface and place (\d+)": (
            r"All (\d+) that we put into 34 pairs of models, (\d+) with the place"
        ),
        r"(\d+) bugs, \d+ leave": r"All (\d+) that we put into 34 pairs",
        r"gradients and one step: (\d+)": r"gradients and one optimizer step finds (\d+)",
    }
    readme = " ".join(README.split())
    for there, here in figures.items():
        written, quoted = re.search(there, table), re.search(here, readme)
        assert written and quoted, (there, here)
        assert written.groups() == quoted.groups()


def test_the_page_on_prove_has_every_common_check():
    """docs/prove.md gives the count of each check in the table of planted bugs."""
    table = (ROOT / "benchmarks" / "KILL_TABLE.md").read_text()
    page = (ROOT / "docs" / "prove.md").read_text()
    counts = dict(re.findall(r"^(.+): (\d+) \(\d+%\)$", table, re.MULTILINE))
    found = re.search(r"found (\d+) .*right surface and place (\d+)", table)

    assert set(counts) == set(RULES) and found
    shown = dict(re.findall(r"^\| (.+) \| (\d+) \|$", page, re.MULTILINE))
    assert sorted(shown.values()) == sorted(counts.values())
    assert f"| `prove` | {found[1]}, and for {found[2]} it names both" in page


def test_the_page_on_prove_quotes_the_pairs_of_mistakes():
    """docs/prove.md gives the counts of the pairs that `make kill-pairs` planted."""
    table = (ROOT / "benchmarks" / "KILL_PAIRS.md").read_text()
    pairs, both, turn = re.findall(
        r"^(\d+) pairs of bugs, .*\n.* both bugs of (\d+) pairs .*\n.* both bugs of (\d+) pairs",
        table,
    )[0]
    page = " ".join((ROOT / "docs" / "prove.md").read_text().split())

    assert turn == pairs
    assert (
        f"Of {pairs} drawn pairs of these mistakes, planted together, one report names both in "
        f"{both}." in page
    )


def test_the_wider_bounds_are_named():
    """The page of behaviours names those whose comparison has a tolerance of its own."""
    wider = [case for case in load().values() if case.tolerance is not None]

    assert {case.theme for case in wider} == {"mobilenet"} and len(wider) == 2
    assert all(case.tolerance is not None and case.tolerance.dtype == "float32" for case in wider)
    page = " ".join((ROOT / "docs" / "behaviours.md").read_text().split())
    assert "two behaviours of `mobilenet` have a wider bound in float32" in page


def test_the_shared_bits_are_quoted_correctly():
    """The page on costs names the optimizers with all of torch's bits, and both units."""
    record = (ROOT / "benchmarks" / "OPTIM_BITS.md").read_text()
    lines = [re.split(r" *\| *", line)[1:] for line in record.splitlines() if line[:2] == "| "]
    after = [(name, hundred) for name, _, _, _, hundred, *_ in lines if name != "optimizer"]
    lossy = {name for name, hundred in after if hundred != "all"}
    exact = [f"`{name}`" for name in dict.fromkeys(name for name, _ in after) if name not in lossy]
    parts = [
        re.fullmatch(r"([\d.]+) %, ([\d.]+), (\d+)", text) for _, text in after if text != "all"
    ]
    shares = [float(part[1]) for part in parts if part]
    array = max(float(part[2]) for part in parts if part)
    element = max(int(part[3]) for part in parts if part)

    assert record.splitlines()[2].startswith("torch 2.13.0+cpu on ")
    assert len(shares) == len(parts)
    costs = " ".join((ROOT / "docs" / "costs.md").read_text().split())
    assert "The square root of torch 2.13 on an x86 CPU is not" in costs
    assert f"{', '.join(exact[:-1])} and {exact[-1]} still have all" in costs
    assert f"{min(shares):.0f} to {max(shares):.0f} % of the numbers" in costs
    assert f"at most {array:g} units in the last place of the array's largest element" in costs
    assert f"in the last place of each number itself it is up to {element:,}," in costs


def test_the_note_on_float32_is_quoted_correctly():
    """docs/prove.md says which error gives a passing report a note, and that it still passes."""
    page = " ".join((ROOT / "docs" / "prove.md").read_text().split())
    error = Float32Error("the output", 1e-6, 1e-6 * NOTEWORTHY)

    assert f"More than {NOTEWORTHY} times gets a note and still passes" in page
    assert not error.note and error._replace(jax=1.1 * error.jax).note
    stated = Float32Error("the output", 1e-6, 1.5e-5).clause
    assert stated.partition(", ")[2] in page


def test_the_output_of_the_runner_is_quoted_correctly(capsys):
    """The command that the runner's page shows prints the lines under it."""
    page = (ROOT / "parity_tests" / "README.md").read_text()
    (id, shown) = re.findall(r"\$ make parity ARGS='(\S+)'\n(.*?)```", page, flags=re.DOTALL)[0]

    assert main([id]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert any(line.startswith("verdicts: ") for line in printed)
    for line in shown.splitlines():
        # Another release of JAX or torch may round to the same bits where this one is close.
        known = line == "..." or (line.startswith("verdicts: ") and not has_page_release())
        assert known or line in printed, f"{line!r} is not printed:\n{printed}"


def _run(block: str, folder: pathlib.Path, **names: Any) -> dict[str, Any]:
    """Run a block of code as the file example.py, and return its namespace."""
    path = folder / "example.py"
    path.write_text(block)
    linecache.checkcache(str(path))
    exec(compile(block, path, "exec"), names)
    return names
