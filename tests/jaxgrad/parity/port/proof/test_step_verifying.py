"""The training step of a written port is compared with the one that was proved, without torch."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof import step_verifying, verifying
from parity_tests.runner.settings import ROOT


class Classifier(nn.Module):
    """A layer that trains, one that does not, a buffer that changes, and a draw."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 4).requires_grad_(False)
        self.norm, self.drop, self.head = nn.BatchNorm1d(4), nn.Dropout(0.2), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.drop(self.norm(self.trunk(x))))


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)


def scheduler(made: torch.optim.Optimizer) -> Any:
    return torch.optim.lr_scheduler.CosineAnnealingLR(made, T_max=90)


@pytest.fixture(scope="module", params=["functions", pytest.param("nnx", marks=pytest.mark.slow)])
def written(request, tmp_path_factory):
    """The path of a port with a training step whose clipping does not act on its batch."""
    if request.param == "nnx":
        pytest.importorskip("flax")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp(request.param) / "net.py"
    port(
        Classifier(), (rng.standard_normal((5, 3)).astype(np.float32),), optimizer=optimizer,
        loss=nn.CrossEntropyLoss(), targets=(np.array([0, 1, 1, 0, 1]),), scheduler=scheduler,
        clip=100.0, style=request.param,
    ).write(path)  # fmt: skip
    return path


def edited(written: Any, old: str, new: str) -> Any:
    """Return the report of the training step after an edit of the file, which is then undone."""
    source = written.read_text()
    assert old in source, f"the port has no {old!r}"
    files = verifying.Files(written)
    written.write_text(source.replace(old, new))
    try:
        return step_verifying.verified(verifying._step_proof(files, verifying.read(files)))
    finally:
        written.write_text(source)


def test_the_training_step_is_among_the_proofs_without_torch(written):
    """`verify` reports the training step too, in a process that cannot import torch."""
    program = (
        "import sys; sys.modules['torch'] = None; from jaxgrad.parity.__main__ import main; "
        f"sys.exit(main(['verify', {str(written)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS  Classifier | train_step\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "    grads, _ = jaxgrad.clip_grad_norm(grads, 100.0)\n",
            "",
            "in step 1 with 1000 times the loss. Undo the change",
        ),
        ("T_max=90", "T_max=900", " differs at "),
        (
            "lr=optim.lr_scheduler.cosine_annealing_lr(0.01, T_max=90)",
            "lr=lambda n: optim.lr_scheduler.cosine_annealing_lr(0.01, T_max=90)(n) * (n < 50)",
            "given the same gradients, OPTIMIZER differs within 100 steps",
        ),
        ("lr_scheduler.cosine", "lr_scheduler.cosin", "net.py raises AttributeError at "),
        ("F.cross_entropy(", "2 * F.cross_entropy(", "the loss differs: "),
        ("def train_step(", "def train_steps(", "net.py does not define train_step"),
        ("OPTIMIZER.step(grads", "OPTIMIZER.step(grads / 0", "train_step raises TypeError at "),
    ],
)
def test_a_changed_training_step_fails(written, old, new, words):
    """A change fails even if clipping and the schedule do not act in the first steps."""
    report = edited(written, old, new)
    assert report.verdict == "fail"
    assert "train_step was changed since it was proved: " in str(report) and words in str(report)


def test_an_equivalent_edit_passes(written):
    """A further constant leaves the training step as it was proved."""
    report = edited(written, "def init_optimizer(", "LIMIT = 100.0\n\n\ndef init_optimizer(")
    assert report.verdict == "pass"
    text = "with its model train_step makes the same 3 steps as the one that was proved, and OPT"
    assert text in report.surfaces["updates"].text
    assert report.surfaces["updates"].text.endswith("; the other modes compare the model")


def test_the_model_is_not_judged_with_the_step(written):
    """Both steps call the port as it is now, which the proofs of the modes judge."""
    assert edited(written, "0.2", "0.3").verdict == "pass"


def test_a_changed_training_step_has_a_status(written, capsys):
    """The command exits with 1, although both modes are proved."""
    source = written.read_text()
    written.write_text(source.replace("T_max=90", "T_max=900"))
    try:
        assert main(["verify", str(written)]) == 1
    finally:
        written.write_text(source)
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 1 failed"


def test_a_training_step_without_a_proof_is_named(written, tmp_path, capsys):
    """A port with holes has no proof of its training step, and the output says so."""
    for path in written.parent.glob("net.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "net.proof.json"
    proof = json.loads(path.read_text())
    path.write_text(json.dumps({**proof, "step": None}))
    assert main(["verify", str(tmp_path / "net.py")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "the training step was not proved: no proof of train_step is beside net.py"
    )
    assert "optimizer=Training(...))" in out and out.splitlines()[-1] == "2 passed, 0 failed"
