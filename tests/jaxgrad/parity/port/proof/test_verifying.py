"""A written port is proved again from the files beside it, without torch."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof import verifying
from jaxgrad.parity.prove.edits import Edit
from jaxgrad.parity.prove.listings import Listing
from jaxgrad.parity.prove.report import NO_OPTIMIZER, NO_STEP, Finding, Report, Surface
from parity_tests.runner.settings import ROOT


class Tower(nn.Module):
    """A list, a frozen layer and a layer that depends on the mode."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return self.frozen(self.drop(x))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a written port and its proof."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("port")
    inputs = (np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32),)
    port(Tower(), inputs).write(path / "tower.py")
    return path


def test_the_proof_runs_again_where_torch_is_not_installed(folder):
    """Both modes are proved from the dumps in a process that cannot import torch."""
    program = (
        "import sys; sys.modules['torch'] = None; from jaxgrad.parity.__main__ import main; "
        f"sys.exit(main(['verify', {str(folder / 'tower.py')!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "2 passed, 0 failed"
    assert [line for line in lines if line.startswith("PASS")] == [
        "PASS  Tower | tower (train mode)",
        "PASS  Tower | tower (eval mode)",
    ]


def test_a_port_that_was_changed_is_proved_as_it_is(folder, capsys):
    """A change of the source is reported, and a wrong function fails."""
    source = (folder / "tower.py").read_text()
    assert "jnp.tanh(" in source
    for end in (".proof.json", ".params.npz", ".eval.npz", ".train.npz"):
        (folder / f"wrong{end}").write_bytes((folder / f"tower{end}").read_bytes())
    (folder / "wrong.py").write_text(source.replace("jnp.tanh(", "jnp.sin("))

    assert main(["verify", str(folder / "wrong.py")]) == 1
    printed = capsys.readouterr()
    assert "has changed since it was written" in printed.err
    assert printed.out.splitlines()[-1] == "0 passed, 2 failed"


def test_the_proof_file_has_reports_versions_and_a_digest(folder):
    """`my_model.proof.json` says what was proved, and with which versions."""
    proof = json.loads((folder / "tower.proof.json").read_text())

    assert {"jax", "jaxgrad", "numpy", "torch"} == set(proof["versions"])
    assert [proof["reports"][mode]["verdict"] for mode in proof["modes"]] == ["pass", "pass"]
    assert len(proof["source_sha256"]) == 64


def test_a_port_without_its_proof_is_a_usage_error(folder, capsys):
    """The message names the file that is missing."""
    (folder / "alone.py").write_text("x = 1\n")

    assert main(["verify", str(folder / "alone.py")]) == 2
    message = capsys.readouterr().err
    assert "alone.proof.json does not exist; where torch is installed, it is written by " in message
    assert "port model.py::make_model -o alone.py` in the shell, and by Ported.write" in message


def test_an_undecided_proof_does_not_pass(folder, monkeypatch, capsys):
    """An inconclusive proof has an exit status of its own, neither 0 nor 1."""
    monkeypatch.setattr(verifying, "prove", lambda *_, **__: Report("inconclusive", {}))

    assert main(["verify", str(folder / "tower.py")]) not in (0, 1)
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed, 2 inconclusive"


def test_the_report_of_a_mode_says_where_the_training_step_is_judged():
    """It does not say that no optimizer was given, because one was given to `port`."""
    text = f"2 buffer updates agree; {NO_STEP}"
    modes = {
        "train": Report("pass", {"updates": Surface("updates", "pass", text)}),
        "eval": Report("pass", {"updates": Surface("updates", "not judged", NO_OPTIMIZER)}),
    }
    step = Report("pass", {"updates": Surface("updates", "pass", "3 steps agree")})

    judged = verifying.beside_step({**modes, verifying.STEP: step})
    assert [report.surfaces["updates"].text for report in judged.values()] == [
        f"2 buffer updates agree; {verifying.JUDGED_IN_STEP}",
        verifying.JUDGED_IN_STEP,
        "3 steps agree",
    ]
    open_ = verifying.beside_step({**modes, "train": Report("error", {}, text="a hole")})
    assert open_["train"].surfaces == {}
    assert open_["eval"].surfaces["updates"].text == verifying.NOT_JUDGED


def test_the_places_of_a_report_name_the_file_that_is_written():
    """Findings, edits, listings, notes and error messages name it."""
    place = "<port of net>"
    edit = Edit(place, 3, "a", "b")
    finding = Finding("forward", "lin", f"{place}:3 (add)", "it differs", index=(1, 2), edit=edit)
    report = Report(
        "fail",
        {"forward": Surface("forward", "fail", f"differs at {place}:3", findings=(finding,))},
        first=finding,
        notes=(f"{place}:4 is unused",),
        listings={"jax": Listing(place, 1, ("def net(p, x):",), (1,))},
    )

    named = verifying.in_file(report, place, "net_port.py")
    assert place not in named.to_json() and named.first.jax == "net_port.py:3 (add)"
    assert verifying.in_file(named, "net_port.py", place) == report
