"""The command line proves pairs of models from a file."""

import json
import pathlib
import sys
import textwrap

import pytest

from jaxgrad.parity.__main__ import main
from jaxgrad.parity.prove import command
from tests.jaxgrad.parity.prove._helpers import PAIRS, python


@pytest.fixture
def pairs(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "pair_file.py"
    path.write_text(PAIRS)
    return path


def test_one_pair_is_proved(pairs, capsys):
    """Naming a pair on the command line prints its report and, on stderr, its name."""
    status = main([f"{pairs}::pair_good"])
    out, err = capsys.readouterr()

    assert status == 0, out
    assert out.startswith("PASS  pair_file.py::pair_good  Linear | port")
    assert out.endswith("1 passed, 0 failed\n")
    assert err.splitlines()[0] == "[1/1] pair_file.py::pair_good"


def test_all_pairs_of_a_file_are_proved(pairs, tmp_path, capsys):
    """By default all functions named `pair*` are proved; the worst verdict sets the exit status."""
    page, document = tmp_path / "proofs.html", tmp_path / "proofs.json"
    status = main([str(pairs), "--html", str(page), "--json", str(document), "--seed", "3"])
    proofs = json.loads(document.read_text())["proofs"]

    assert status == 1
    assert [proof["verdict"] for proof in proofs] == ["pass", "fail"]
    assert proofs[1]["first"]["surface"] == "forward"
    assert "1 of 2 ports differs from torch." in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out.endswith("1 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("names", "status"),
    [(["noisy"], 4), (["noisy", "number"], 1), (["raises"], 1)],
)
def test_the_exit_status_is_that_of_the_worst_verdict(pairs, names, status):
    """The exit status is 4 for an inconclusive proof, and 1 if one of several fails."""
    assert main([f"{pairs}::{name}" for name in names]) == status


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", "raises() raised ZeroDivisionError at pair_file.py:28: division by zero"),
        ("number", "number() returned int; return a dict of the arguments of prove, the tuple"),
        (
            "misspelt",
            "misspelt() returned has unknown keys ['parms']; the arguments of",
        ),
    ],
)
def test_an_unusable_pair_is_explained(pairs, capsys, name, words):
    """A function that raises or returns something unusable is explained in a sentence."""
    assert main([f"{pairs}::{name}"]) == 1
    assert words in capsys.readouterr().out


def test_a_pair_that_exits_ends_no_other_proof(tmp_path, capsys):
    """`sys.exit()` in a function is an error of its pair, and in a file it is a usage error."""
    path, script = tmp_path / "exits.py", tmp_path / "script.py"
    path.write_text("import sys\n\ndef pair_a():\n    sys.exit()\n\npair_b = pair_a\n")
    script.write_text("import sys\nsys.exit(0)\n")

    assert main([str(path)]) == 1
    out = capsys.readouterr().out
    assert "pair_b() raised SystemExit at exits.py:4" in out
    assert out.endswith("0 passed, 2 failed (2 with an error)\n")
    assert main([str(script)]) == 2
    assert "cannot be imported: it raised SystemExit at script.py:2" in capsys.readouterr().err


def test_a_wrong_target_is_a_usage_error(pairs, tmp_path, capsys):
    """A missing file, name, pair or folder, and a file that raises, give exit status 2."""
    empty, broken = tmp_path / "empty.py", tmp_path / "broken.py"
    empty.write_text("def port():\n    pass\n")
    broken.write_text("x = 1\nx.y\n")
    imports = tmp_path / "imports.py"
    imports.write_text("from copy import copy\n\ndef port(p, x):\n    return copy(x)\n")
    messages = []
    for arguments in (
        ["nowhere.py"],
        [f"{pairs}::pair_god"],
        [str(empty)],
        [str(broken)],
        [f"{pairs}::noisy", "--html", str(tmp_path / "no" / "page.html")],
        [str(tmp_path)],
        [str(imports)],
    ):
        status = main(arguments)
        messages.append(capsys.readouterr().err)
        assert status == 2, messages

    assert "the file 'nowhere.py' does not exist; pass pair.py or pair.py::name" in messages[0]
    assert (
        "has no function 'pair_god'; it has layer, port, wrong, pair_good, pair_wrong, "
        in messages[1]
    )
    assert messages[2] == (
        f"{empty} has no function whose name starts with 'pair'; it has port; select one with "
        f"{empty}::port\n"
    )
    assert messages[6] == (
        f"{imports} has no function whose name starts with 'pair'; it has port; write one that "
        "returns a pair\n"
    )
    assert "cannot be imported: it raised AttributeError at broken.py:2:" in messages[3]
    assert "cannot be written: there is no folder" in messages[4]
    assert messages[5] == f"'{tmp_path}' is a folder; pass pair.py or pair.py::name\n"


def test_a_time_limit_of_the_command_line_ends_each_proof(pairs, capsys, monkeypatch):
    """`--time-limit` is passed to prove, and a wrong one is a usage error."""
    limits = []
    real = command.prove
    monkeypatch.setattr(
        command, "prove", lambda **kw: (limits.append(kw.get("time_limit")), real(**kw))[1]
    )
    main([f"{pairs}::pair_good", "--time-limit", "90"])
    assert limits == [90.0]
    for wrong in ("0", "-1", "soon"):
        with pytest.raises(SystemExit, match="2"):
            main([f"{pairs}::pair_good", "--time-limit", wrong])
    errors = capsys.readouterr().err
    assert "0 is not a positive number" in errors and "soon is not a positive number" in errors


def test_without_torch_the_command_says_what_to_install(pairs):
    """Without torch the command prints one line with the remedy, and exits with 3."""
    code = """
        import sys
        sys.modules["torch"] = None
        from jaxgrad.parity.__main__ import main
        sys.exit(main(sys.argv[1:]))
    """
    done = python(textwrap.dedent(code), f"{pairs}::pair_good")

    assert done.returncode == 3, done.stderr
    assert done.stderr.strip() == "torch is not installed; run: pip install torch"


def test_a_pair_may_say_that_jax_has_the_original(pairs, capsys):
    """A pair returns `reference` among the other arguments."""
    pair = """
    def pair_turned():
        return dict(module=layer, fn=wrong, params=params, inputs=inputs, reference="jax")
    """
    pairs.write_text(PAIRS + textwrap.dedent(pair))
    assert main([f"{pairs}::pair_turned", "--json", str(pairs.with_suffix(".json"))]) == 1
    (report,) = json.loads(pairs.with_suffix(".json").read_text())["proofs"]
    assert report["reference"] == "jax" and report["name"] in capsys.readouterr().out
