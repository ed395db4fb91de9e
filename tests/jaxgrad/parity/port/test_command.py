"""`python -m jaxgrad.parity port` writes a port of what a function of the user's file returns."""

import importlib
import sys

import numpy as np
import pytest
import torch

import jaxgrad
from jaxgrad.parity import PortError, Report, __main__
from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port import stages
from jaxgrad.parity.port.proof import proof_files, verifying
from jaxgrad.parity.port.source import syntax


MODEL = """
import numpy as np, torch
from torch import nn

def make_model():
    torch.manual_seed(0)
    return nn.Linear(3, 2), make_inputs()

def make_inputs():
    return (np.ones((4, 3), np.float32),)

def alone():
    return make_model()[0]

def make_optimizer(params):
    return torch.optim.AdamW(params, lr=0.1)

def mean_square(y, target):
    return ((y - target) ** 2).mean()

def make_targets():
    return (np.zeros((4, 2), np.float32),)

def make_scheduler(optimizer):
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

def make_lambda(optimizer):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)

def normed():
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), (x,)

class Refused(nn.Module):
    def forward(self, x):
        return x * x.max().item()

def refused():
    return Refused(), make_inputs()

class Wrong(nn.Linear):
    def forward(self, input):
        return torch.tanh(nn.functional.linear(input, self.weight))

def wrong():
    return Wrong(3, 2), make_inputs()
"""


@pytest.fixture
def model(tmp_path):
    """The path of the user's file."""
    path = tmp_path / "mymodel.py"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("arguments", [["make_model"], ["alone", "--inputs", "make_inputs"]])
def test_a_port_is_written_and_its_proof_is_printed(model, tmp_path, capsys, arguments):
    """The module comes with its inputs, or these come from a second function."""
    name, *rest = arguments
    target = tmp_path / "ported.py"

    assert main(["port", f"{model}::{name}", "-o", str(target), *rest]) == 0
    printed, progress = capsys.readouterr()
    assert "port" not in progress.splitlines()
    assert "linear(params, ...), " in printed
    assert "PASS  Linear | linear (train mode)\n" in printed
    assert "return F.linear(x, **p)" in target.read_text()
    beside = ["ported.proof.json", "ported.params.npz", "ported.train.npz"]
    assert f"beside it, for `verify`: {', '.join(beside)}\n" in printed
    written = sorted(path.name for path in tmp_path.glob("ported.*"))
    assert written == sorted([*beside, "ported.py"])


def test_the_style_is_an_option(model, tmp_path, capsys):
    """`--style nnx` writes a flax class, and prints how the model is made."""
    target = tmp_path / "ported.py"

    arguments = ["port", f"{model}::make_model", "-o", str(target), "--style", "nnx"]
    assert main(arguments) == 0
    assert "ported.py: Linear(), " in capsys.readouterr().out
    assert "class Linear(nnx.Module):" in target.read_text()


def test_a_training_step_is_written_for_an_optimizer(model, tmp_path, capsys):
    """The options name functions of the file, and the step is proved and verified like the port."""
    target = tmp_path / "ported.py"
    names = {"optimizer": "make_optimizer", "loss": "mean_square", "targets": "make_targets"}
    names |= {"scheduler": "make_scheduler", "clip": "1.0"}
    options = [text for key, name in names.items() for text in (f"--{key}", name)]

    assert main(["port", f"{model}::make_model", "-o", str(target), *options]) == 0
    assert capsys.readouterr().out.endswith("2 passed, 0 failed\n")
    source = target.read_text()
    assert "def train_step(params, opt_state, x, target):" in source
    assert "jaxgrad.clip_grad_norm(grads, 1.0)" in source and "exponential_lr(0.1" in source
    assert main(["verify", str(target)]) == 0


def test_the_whole_schedule_is_compared_with_total(model, tmp_path, capsys):
    """`--total` gives the length that a LambdaLR does not have.

    The report of the mode names the proof of the step, and no place is in an unnamed file.
    """
    target = tmp_path / "ported.py"
    names = {"optimizer": "make_optimizer", "loss": "mean_square", "targets": "make_targets"}
    names |= {"scheduler": "make_lambda"}
    options = [text for key, name in names.items() for text in (f"--{key}", name)]

    assert main(["port", f"{model}::normed", "-o", str(target), *options]) == 0
    assert "pass total= to compare the schedule" in capsys.readouterr().out
    arguments = ["port", f"{model}::normed", "-o", str(target), *options, "--total", "7"]
    assert main(arguments) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "given the same gradients, 7 steps agree" in printed and "total=" not in printed
    assert "no optimizer= was given" not in printed
    assert printed.count(verifying.JUDGED_IN_STEP) == 2  # in train and in eval mode
    assert main(["verify", str(target)]) == 0
    assert capsys.readouterr().out.count(verifying.JUDGED_IN_STEP) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--total", "5"], "--total needs --optimizer NAME, a function that returns "),
        (["--loss", "mean_square"], "--loss needs --optimizer NAME, a function that returns "),
        (["--clip", "1"], "--clip needs --optimizer NAME"),
        (["--optimizer", "absent"], "mymodel.py has no function 'absent'"),
        (["--optimizer", "make_optimizer", "--targets", "none"], "has no function 'none'"),
    ],
)
def test_a_wrong_option_of_the_training_step_is_a_usage_error(
    model, tmp_path, capsys, options, words
):
    """The options of a step need an optimizer, and their functions are in the module's file."""
    assert main(["port", f"{model}::make_model", "-o", str(tmp_path / "out.py"), *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("refused", 1, "item() reads the value of a tensor"),
        ("alone", 2, "returns Linear; return (module, inputs), or pass --inputs NAME"),
        ("", 2, "mymodel.py::make_model; "),
        ("missing", 2, "has no function 'missing'"),
    ],
)
def test_what_cannot_be_ported_has_a_message_and_a_status(
    model, tmp_path, capsys, name, status, words
):
    """A refusal has status 1, and a wrong target is a usage error."""
    target = f"{model}::{name}" if name else str(model)

    assert main(["port", target, "-o", str(tmp_path / "out.py")]) == status
    assert words in capsys.readouterr().err


def test_a_port_with_holes_has_status_1(model, tmp_path, capsys):
    """`--holes` writes what torch's refused line does as a function; the help states the status."""
    target = tmp_path / "out.py"

    assert main(["port", f"{model}::refused", "-o", str(target), "--holes"]) == 1
    assert " is to be written by hand: mymodel.py:" in capsys.readouterr().out
    assert "raise NotImplementedError" in target.read_text()
    with pytest.raises(SystemExit, match="0"):
        main(["port", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "a mode that calls one is not proved yet, so the exit status is 1" in printed


def test_a_missing_file_has_the_advice_of_this_command(tmp_path, capsys):
    """`port` needs a function that returns a module, and `verify` a file that `port` wrote."""
    port = "; pass the file of a function that returns the module, as in model.py::make\n"
    verify = "; pass the file that `port` has written, as in my_model.py\n"
    for target, *options, advice in (
        ("port", "-o", f"{tmp_path}/out.py", port), ("verify", verify)
    ):  # fmt: skip
        for file in ("nofile.py", "nofile.py::f"):
            assert main([target, f"{tmp_path}/{file}", *options]) == 2
            name = file if target == "verify" else "nofile.py"
            assert capsys.readouterr().err == f"the file '{tmp_path}/{name}' does not exist{advice}"
        assert main([target, str(tmp_path), *options]) == 2
        assert capsys.readouterr().err == f"'{tmp_path}' is a folder{advice}"


@pytest.mark.parametrize("style", ["functions", "nnx"])
def test_a_bug_while_the_proof_is_written_leaves_no_file(tmp_path, monkeypatch, style):
    """The source, the params and the proof appear together, or an earlier port is kept."""

    def fail(*_, **__):
        raise ValueError("a bug")

    ported = jaxgrad.port(torch.nn.Linear(3, 2), (np.ones((4, 3), np.float32),), style=style)
    path = tmp_path / "linear.py"
    with monkeypatch.context() as patched:
        patched.setattr(proof_files, "_version", fail)
        with pytest.raises(ValueError, match="a bug"):
            ported.write(path)
    assert [*tmp_path.iterdir()] == []
    ported.write(path)
    names = {"linear.py", "linear.proof.json", "linear.params.npz", "linear.train.npz"}
    assert names <= {each.name for each in tmp_path.iterdir()}
    kept = {each: each.read_bytes() for each in tmp_path.iterdir()}
    monkeypatch.setattr(proof_files, "_version", fail)
    with pytest.raises(ValueError, match="a bug"):
        ported.write(path)
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == kept


@pytest.mark.parametrize(
    ("target", "options"),
    [("broken", []), ("module", ["--inputs", "broken"])],
    ids=["the module", "its inputs"],
)
def test_an_exception_of_the_users_function_is_a_usage_error(tmp_path, capsys, target, options):
    """The message names the function, the exception and its line, without a traceback."""
    file = tmp_path / "models.py"
    file.write_text(
        "from torch import nn\n\ndef module():\n    return nn.Linear(2, 2)\n\n"
        "def broken():\n    raise ValueError('no data here')\n"
    )
    arguments = ["port", f"{file}::{target}", "-o", str(tmp_path / "port.py"), *options]
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert "broken() raised ValueError at models.py:7: no data here" in printed
    assert "Traceback" not in printed


def test_a_port_is_not_written_to_a_missing_folder(tmp_path):
    """The method says what the command line says."""
    ported = jaxgrad.port(torch.nn.Linear(3, 2), (np.ones((4, 3), np.float32),), prove=False)
    path = tmp_path / "absent" / "x.py"
    with pytest.raises(FileNotFoundError, match="x.py cannot be written: there is no folder"):
        ported.write(path)


@pytest.mark.parametrize("command", ["port", "verify"])
def test_help_prints_nothing_on_stderr(capsys, command):
    """`--help` prints the usage alone, without a line of progress."""
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    captured = capsys.readouterr()
    assert captured.err == ""
    assert f"usage: python -m jaxgrad.parity {command} " in captured.out
    assert "Exit status: 0 pass, 1 refused, fail or error" in captured.out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent/out.py", "-o {}/absent/out.py: cannot be written: there is no folder {}/absent"),
        ("folder.py", "-o {}/folder.py: cannot be written: it is a folder"),
        ("blocked.py", "-o {}/blocked.eval.npz: cannot be written: it is a folder"),
        ("out.txt", "-o {}/out.txt: is not the name of a Python file, as in my_model.py"),
        ("mymodel.py", "-o {}/mymodel.py: is the file of the module; give another name"),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_module_is_made(
    tmp_path, capsys, name, words
):
    """The files beside the port are checked too, and the user's own file is never replaced."""
    (tmp_path / "mymodel.py").write_text("raise AssertionError('imported')")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "blocked.eval.npz").mkdir()
    before = sorted(tmp_path.iterdir())

    assert main(["port", f"{tmp_path}/mymodel.py::make_model", "-o", f"{tmp_path}/{name}"]) == 2
    assert capsys.readouterr().err == words.format(tmp_path, tmp_path) + "\n"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("edit", ["source", "proof", "format", "text"])
def test_an_edited_port_is_replaced_only_with_force(model, tmp_path, capsys, edit):
    """Written again, an edited port is refused before the module is made, and `--force` works."""
    target = tmp_path / "out.py"
    arguments = ["port", f"{model}::make_model", "-o", str(target)]
    assert main(arguments) == main(arguments) == 0  # nothing is lost
    written, proof = target.read_text(), tmp_path / "out.proof.json"
    if edit == "source":
        target.write_text(f"{written}# my edit\n")
    elif edit == "proof":
        proof.unlink()
    else:
        proof.write_text("{}" if edit == "format" else "text")
    before = target.read_text()
    capsys.readouterr()

    assert main(["port", f"{model}::missing", *arguments[2:]]) == 2
    unknown = "exists, and no proof beside it shows that `port` has written it"
    reason = "has changed since it was written" if edit == "source" else unknown
    assert capsys.readouterr().err == (
        f"-o {target}: {reason}; give another name, or pass --force to replace the file\n"
    )
    assert target.read_text() == before
    assert main([*arguments, "--force"]) == 0
    assert target.read_text() == written


def test_an_interrupted_port_is_not_written(model, tmp_path, monkeypatch, capsys):
    """Ctrl-C during the proof has a message and the status 130."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(jaxgrad, "port", interrupt)
    target = tmp_path / "out.py"
    assert main(["port", f"{model}::make_model", "-o", str(target)]) == 130
    assert capsys.readouterr().err == f"interrupted: {target} is not written\n"
    assert not target.exists()


@pytest.mark.parametrize("stage", ["train: align", "step: updates", "save"])
def test_a_port_that_is_interrupted_after_it_was_written_is_kept(
    model, tmp_path, monkeypatch, capsys, stage
):
    """Ctrl-C during a proof keeps the text under the name of a port that is not proved."""

    def interrupt(step):
        if step == stage:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    monkeypatch.setattr(stages, "in_log", lambda title: interrupt)
    target, kept = tmp_path / "out.py", tmp_path / "out.unproved.py"
    step = ["--optimizer", "make_optimizer", "--loss", "mean_square", "--targets", "make_targets"]
    assert main(["port", f"{model}::make_model", "-o", str(target), *step]) == 130
    message = f"interrupted: {target} is not written; {kept} is the port, which is not proved\n"
    assert capsys.readouterr().err == message
    assert [path.name for path in tmp_path.glob("out*")] == ["out.unproved.py"]
    assert kept.read_text().startswith('"""NOT PROVED: JAX port of Linear')


def test_the_error_of_a_port_that_is_not_proved_says_where_its_text_is():
    """A user of Python learns that the exception has the port."""
    with pytest.raises(PortError) as raised:
        jaxgrad.port(torch.nn.Linear(3, 2), (np.ones((4, 3), np.float32),), time_limit=1e-9)
    assert str(raised.value).endswith("error.ported.source of this PortError is its text")
    assert "def linear(" in raised.value.ported.source


def test_an_interrupted_verification_prints_the_finished_proofs(
    model, tmp_path, monkeypatch, capsys
):
    """Ctrl-C in the second mode leaves the report of the first."""
    target = tmp_path / "out.py"
    assert main(["port", f"{model}::make_model", "-o", str(target)]) == 0
    capsys.readouterr()

    def verify(source, show, time_limit):
        yield "train", Report("pass", {}, name="Linear | linear (train mode)")
        raise KeyboardInterrupt

    monkeypatch.setattr(verifying, "verify", verify)
    assert main(["verify", str(target)]) == 130
    captured = capsys.readouterr()
    assert captured.out == "PASS  Linear | linear (train mode)\n\n"
    assert captured.err.endswith("interrupted: 1 of 1 proofs are finished\n")


def test_the_bar_moves_with_each_step_of_writing_and_proving(model, tmp_path, monkeypatch):
    """The bar of `port` and `verify` knows the names of the steps."""
    steps = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    monkeypatch.setattr(stages, "in_log", lambda title: steps.append)
    target = tmp_path / "ported.py"

    assert main(["port", f"{model}::make_model", "-o", str(target)]) == 0
    known = [step for step in steps if step in __main__.PORT_STEPS]
    assert (known[0], known[-1]) == ("write", "save")
    assert {"train: torch", "train: align", "train: updates"} <= set(known)

    steps.clear()
    assert main(["verify", str(target)]) == 0
    assert "train: align" in steps


def test_a_port_that_is_not_proved_is_kept_under_another_name(model, tmp_path, capsys, monkeypatch):
    """The file can be mended by hand, and is not taken for a port that is proved."""
    dotted = syntax.dotted
    monkeypatch.setattr(
        "jaxgrad.parity.port.source.syntax.dotted",
        lambda text: dotted("jnp.sin" if text == "jnp.tanh" else text),
    )
    target = tmp_path / "ported.py"
    assert main(["port", f"{model}::wrong", "-o", str(target)]) == 1
    printed, errors = capsys.readouterr()
    kept = tmp_path / "ported.unproved.py"
    assert f"{kept}: the port, which is not proved" in printed
    assert "the port of Wrong is not proved" in printed + errors
    lines = kept.read_text().splitlines()
    assert lines[0].startswith('"""NOT PROVED: JAX port of Wrong (')
    (number,) = (n for n, line in enumerate(lines, 1) if "jnp.sin(" in line)
    assert f"ported.unproved.py:{number}" in errors and "<port of" not in errors
    assert [path.name for path in tmp_path.glob("ported*")] == ["ported.unproved.py"]
    compile(kept.read_text(), str(kept), "exec")


def test_a_proof_that_the_time_limit_ends_is_not_a_pass(model, tmp_path, capsys):
    """`port` writes no proved file, and `verify` exits with the status of `inconclusive`."""
    target = tmp_path / "ported.py"
    arguments = ["port", f"{model}::make_model", "-o", str(target)]
    step = ["--optimizer", "make_optimizer", "--loss", "mean_square", "--targets", "make_targets"]

    assert main([*arguments, "--time-limit", "1e-9"]) == 1
    errors = capsys.readouterr().err
    assert "INCONCLUSIVE" in errors and "error.ported" not in errors
    assert [path.name for path in tmp_path.glob("ported*")] == ["ported.unproved.py"]

    assert main([*arguments, *step, "--time-limit", "600"]) == 0
    assert main(["verify", str(target), "--time-limit", "600"]) == 0
    assert main(["verify", str(target), "--time-limit", "1e-9"]) == 4
    with pytest.raises(SystemExit):
        main(["verify", str(target), "--time-limit", "-1"])
    assert "-1 is not a positive number of seconds" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["proofs", "step_proofs"])
def test_the_time_limit_reaches_each_proof(monkeypatch, name):
    """The proofs of the modes and of the training step get the seconds that `port` got."""
    module = importlib.import_module(f"jaxgrad.parity.port.proof.{name}")
    limits, prove = [], module.prove

    def noted(*args, time_limit, **kwargs):
        limits.append(time_limit)
        return prove(*args, **kwargs)

    monkeypatch.setattr(module, "prove", noted)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    inputs, targets = (np.ones((4, 3), np.float32),), (np.zeros((4, 1), np.float32),)
    jaxgrad.port(
        net, inputs, optimizer=optimizer, loss=torch.nn.functional.mse_loss, targets=targets,
        time_limit=600,
    )  # fmt: skip

    assert limits == [600.0]
    with pytest.raises(jaxgrad.parity.PortError, match="time_limit= needs a positive number"):
        jaxgrad.port(net, inputs, time_limit=0)
