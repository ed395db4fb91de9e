"""The ways in to `prove`: the command line, the pytest plugin, dumps."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import tomllib

import jax
import numpy as np
import pytest

from jaxgrad.parity import Finding, Report, Surface
from jaxgrad.parity.__main__ import main
from jaxgrad.parity.prove.torch_side import packing


pytest_plugins = "pytester"

PAIRS = textwrap.dedent(
    """
    import numpy as np
    import torch

    from jaxgrad.parity import Report, Surface

    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    params = {name: x.detach().numpy() for name, x in layer.state_dict().items()}
    inputs = (np.linspace(-1.0, 1.0, 12).reshape(4, 3),)

    def port(params, x):
        return x @ params["weight"].T + params["bias"]

    def planted(params, x):
        return x @ params["weight"].T - params["bias"]

    def pair_good():
        return layer, port, params, inputs

    def pair_planted():
        return dict(module=layer, fn=planted, params=params, inputs=inputs)

    def noisy():
        return Report("inconclusive", {"forward": Surface("forward", "inconclusive", "")})

    def raises():
        return 1 / 0

    def number():
        return 3

    def misspelt():
        return dict(module=layer, fn=port, parms=params)
    """
)


@pytest.fixture
def pairs(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "pair_file.py"
    path.write_text(PAIRS)
    return path


def test_a_pair_that_holds(pairs, capsys):
    """One pair by its name: its report, the steps on stderr, exit 0."""
    status = main([f"{pairs}::pair_good"])
    out, err = capsys.readouterr()

    assert status == 0, out
    assert out.startswith("PASS  pair_file.py::pair_good  Linear | port")
    assert out.endswith("1 passed, 0 failed\n")
    assert "[1/1] pair_file.py::pair_good: jax backward" in err


def test_every_pair_of_a_file(pairs, tmp_path, capsys):
    """Without a name: all that start with `pair`; the worst decides; JSON and page hold all."""
    page, document = tmp_path / "proofs.html", tmp_path / "proofs.json"
    status = main([str(pairs), "--html", str(page), "--json", str(document), "--seed", "3"])
    found = json.loads(document.read_text())["proofs"]

    assert status == 1
    assert [proof["verdict"] for proof in found] == ["pass", "fail"]
    assert found[1]["first"]["surface"] == "forward"
    assert "1 of 2 ports are not proved." in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out.endswith("1 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("names", "status"),
    [(["noisy"], 4), (["noisy", "number"], 1), (["raises"], 1)],
)
def test_exit_status(pairs, names, status):
    """4 where rounding forbids a verdict, and the worst of several."""
    assert main([f"{pairs}::{name}" for name in names]) == status


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", "raises() raised ZeroDivisionError at pair_file.py:28: division by zero"),
        ("number", "number() gave int; give a dict of the arguments of prove, the tuple"),
        ("misspelt", "misspelt() gave unknown ['parms']; the arguments of prove are module, fn,"),
    ],
)
def test_a_pair_that_gives_nothing_usable(pairs, capsys, name, words):
    """What the user's own function did is said in a sentence."""
    assert main([f"{pairs}::{name}"]) == 1
    assert words in capsys.readouterr().out


def test_usage(pairs, tmp_path, capsys):
    """No file, no name, no pair, no folder, a file that raises: exit 2, and what there is."""
    empty, broken = tmp_path / "empty.py", tmp_path / "broken.py"
    empty.write_text("def port():\n    pass\n")
    broken.write_text("x = 1\nx.y\n")
    said = {}
    for arguments in (
        ["nowhere.py"],
        [f"{pairs}::pair_god"],
        [str(empty)],
        [str(broken)],
        [f"{pairs}::noisy", "--html", str(tmp_path / "no" / "page.html")],
    ):
        status = main(arguments)
        said[arguments[-1]] = capsys.readouterr().err
        assert status == 2, said
    said = list(said.values())

    assert "there is no file 'nowhere.py'; give pair.py or pair.py::name" in said[0]
    assert "has no function 'pair_god'; it has pair_good, pair_planted" in said[1]
    assert "no function whose name starts with 'pair'; it has port; name one:" in said[2]
    assert "cannot be imported: it raised AttributeError at broken.py:2:" in said[3]
    assert "cannot be written: there is no folder" in said[4]


def test_without_torch(pairs):
    """Where torch is missing: exit 3, and one line that installs it."""
    code = """
        import sys
        sys.modules["torch"] = None
        from jaxgrad.parity.__main__ import main
        sys.exit(main(sys.argv[1:]))
    """
    done = _python(textwrap.dedent(code), f"{pairs}::pair_good")

    assert done.returncode == 3, done.stderr
    assert done.stderr.strip() == "torch is not installed; run: pip install torch"


# -- the pytest plugin

TESTS = """
import pytest
from pair_file import *

def test_good(grad_parity):
    assert grad_parity(layer, port, params, inputs).verdict == "pass"

def test_planted(grad_parity):
    grad_parity(layer, planted, params, inputs)

def test_error(grad_parity):
    with pytest.raises(AssertionError, match="the first argument is int"):
        grad_parity(3, port, params, inputs)
"""
PLUGIN = ("-p", "pytest_jaxgrad", "-p", "no:cacheprovider", "-W", "error", "--strict-markers")


@pytest.fixture
def run_tests(pytester, monkeypatch):
    """A pytest of its own, in a process of its own, on these tests."""
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parents[4]))

    def run(text: str, *options: str):
        pytester.makepyfile(pair_file=PAIRS, test_ports=text)
        return pytester.runpytest_subprocess(*PLUGIN, *options, timeout=300)

    return run


def test_plugin(run_tests, pytester):
    """The fixture proves and checks; the summary has a line a proof; the page has all of them."""
    result = run_tests(TESTS, "--grad-parity-html", "proofs.html")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "PASS         test_ports.py::test_good  Linear | port (pair_file.py:*",
            "FAIL         test_ports.py::test_planted  Linear | planted *forward: torch * | jax *",
            "ERROR        test_ports.py::test_error  int | port *the first argument is int, not a*",
            "3 proofs in *proofs.html",
            "E *AssertionError: FAIL  Linear | planted*",
        ]
    )
    page = (pytester.path / "proofs.html").read_text(encoding="utf-8")

    assert "2 of 3 ports are not proved." in page
    assert "test_ports.py::test_planted" in page


def test_plugin_with_workers(run_tests):
    """What a worker of pytest-xdist proved is in the summary, too."""
    result = run_tests(TESTS, "-k", "good", "-n", "1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PASS         test_ports.py::test_good  Linear | port (pair_*"])


def test_plugin_unused(run_tests, monkeypatch):
    """A run without proofs prints nothing of it and imports neither jax nor torch."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins may import jax
    result = run_tests(
        """
        import sys

        def test_imports():
            assert "pytest_jaxgrad" in sys.modules
            assert not {"jax", "torch", "numpy", "jaxgrad"} & set(sys.modules)
        """
    )
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*gradient parity*")


def test_plugin_without_the_folder(run_tests):
    """A page that could not be written is said before any test runs."""
    result = run_tests(TESTS, "--grad-parity-html", "no/such/page.html")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*--grad-parity-html no/such/page.html: there is no such folder*")


def test_entry_point():
    """What pytest loads is the module that is beside the package, under its own name."""
    root = pathlib.Path(__file__).parents[4]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"pytest_jaxgrad": "pytest_jaxgrad"}
    assert (root / "pytest_jaxgrad.py").is_file()


def test_a_report_survives_json():
    """`from_dict` undoes `to_dict`, as far as JSON can hold it."""
    report = Report("fail", {"forward": Surface("forward", "fail", "", ({"name": "w"},))})
    found = Finding("forward", "fc", "net.py:3", "off", (0, 1), 1.5, 2.5)
    report = dataclasses.replace(report, first=found, notes=("a note",))

    assert Report.from_dict(json.loads(report.to_json())) == report


# -- dumps

PORT = textwrap.dedent(
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from jax import lax

    def net(params, ids, x, *, eps=1e-5, stop=lambda x: x):
        h = params["emb"][ids] + x @ params["fc"]["kernel"] + params["fc"]["bias"]
        mean = h.mean(-1, keepdims=True)
        var = ((h - mean) ** 2).mean(-1, keepdims=True)
        h = (h - mean) * lax.rsqrt(var + eps) * params["norm"]["scale"] + params["norm"]["bias"]
        h = h + stop(jnp.tanh(h)) * params["table"]
        stats = params["stats"]
        h = (h - stats["mean"][:, None]) / jnp.sqrt(stats["var"][:, None] + 1e-5)
        return jax.nn.gelu(h, approximate=False) @ params["emb"].T

    def loss(out, ids, x):
        return jnp.mean(out**2)

    def convert(state):
        get = lambda name: np.asarray(state[name])
        return {
            "emb": get("head.weight"),
            "fc": {"kernel": get("fc.weight").T, "bias": get("fc.bias")},
            "norm": {"scale": get("norm.weight"), "bias": get("norm.bias")},
            "table": get("table"),
            "stats": {"mean": get("bn.running_mean"), "var": get("bn.running_var")},
        }
    """
)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory) -> pathlib.Path:
    """Dumps of a small net: embedding, tied head, norms, a rounded table."""
    import torch
    from torch import nn

    from jaxgrad.parity import dump

    class Net(nn.Module):
        table: torch.Tensor

        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(9, 6)
            self.fc = nn.Linear(5, 6)
            self.norm = nn.LayerNorm(6)
            self.bn = nn.BatchNorm1d(4, affine=False)
            self.head = nn.Linear(6, 9, bias=False)
            self.head.weight = self.emb.weight
            angle = torch.arange(4)[:, None] / 100.0 ** (torch.arange(6) / 6)
            self.register_buffer("table", torch.cos(angle))

        def forward(self, ids, x):
            h = self.norm(self.emb(ids) + self.fc(x))
            h = self.bn(h + torch.tanh(h) * self.table)
            return self.head(nn.functional.gelu(h))

    folder = tmp_path_factory.mktemp("dumps")
    rng = np.random.default_rng(0)
    inputs = (rng.integers(0, 9, (3, 4)), rng.standard_normal((3, 4, 5)))
    torch.manual_seed(0)
    net = Net().eval()
    net.get_buffer("bn.running_mean").normal_()
    net.get_buffer("bn.running_var").uniform_(0.5, 2)
    dump(net, inputs, folder / "net.npz")
    dump(
        net,
        inputs,
        folder / "steps.npz",
        loss=lambda out, ids, x: (out**2).mean(),
        optimizer=lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=0.1),
        steps=2,
    )
    np.savez(folder / "other.npz", x=np.zeros(3))
    (folder / "text.npz").write_text("no zip at all")
    state = {name: x.numpy() for name, x in net.state_dict().items()}
    np.savez(folder / "state.npz", **state)
    (folder / "port.py").write_text(PORT)
    return folder


def test_a_dump_without_torch(dumped):
    """Where torch cannot be imported: a good port passes, planted bugs are found, each located."""
    done = _python(
        """
import functools, json, os, sys
sys.modules["torch"] = None
os.chdir(sys.argv[1])
sys.path.insert(0, ".")
from port import *
from jaxgrad.parity import prove

params = convert(np.load("state.npz"))
adamw = optax.adamw(1e-3, weight_decay=0.1)
stopped = functools.partial(net, stop=lax.stop_gradient)
steps = dict(loss=(None, loss), steps=2, trainable=["emb", "fc/*", "norm/*"])
reports = [
    prove("net.npz", net, params),
    prove("net.npz", net, weights=convert),
    prove("net.npz", functools.partial(net, eps=1e-6), params),
    prove("net.npz", stopped, params),
    prove("steps.npz", net, params, optimizer=(None, adamw), **steps),
    prove("steps.npz", net, params, optimizer=(None, optax.adam(1e-3)), **steps),
    prove("net.npz", net, params, (np.zeros(3),)),
    prove("net.npz", net, params, loss=(None, loss)),
    prove("net.npz", net, params, outputs=(len, None)),
    prove("net.npz", net, params, optimizer=(None, adamw)),
    prove("steps.npz", net, params, optimizer=(None, adamw), **{**steps, "steps": 3}),
    prove("nowhere.npz", net, params),
    prove("other.npz", net, params),
    prove("text.npz", net, params),
]
print(json.dumps([report.to_dict() for report in reports]))
""",
        str(dumped),
    )
    assert done.returncode == 0, done.stderr
    good, converted, eps, stop, steps, decay, *wrong = json.loads(done.stdout)

    assert good["verdict"] == "pass", good
    assert good["name"].startswith("net.npz | net (port.py:")
    assert good["versions"]["torch"]
    assert any("is read from net.npz" in note for note in good["notes"])
    assert converted["verdict"] == "pass", converted
    assert (eps["verdict"], eps["first"]["surface"]) == ("fail", "forward"), eps
    assert eps["first"]["torch"] == "norm"
    assert (stop["verdict"], stop["first"]["surface"]) == ("fail", "backward"), stop
    assert "(stop_gradient)" in stop["first"]["jax"]
    assert steps["verdict"] == "pass", steps
    assert all(surface["verdict"] == "pass" for surface in steps["surfaces"].values()), steps
    assert (decay["verdict"], decay["first"]["surface"]) == ("fail", "updates"), decay
    for report, words in zip(
        wrong,
        (
            "the inputs are those in the dump net.npz: leave inputs= out",
            "loss= is a pair, (torch_loss, jax_loss): torch's is None",
            "give dump(..., outputs=torch_pick)",
            "net.npz holds no steps: write it with dump(..., optimizer=, steps=)",
            "steps=3, and steps.npz holds 2",
            "there is no dump 'nowhere.npz': write one where torch is, with",
            "'other.npz' is no dump of jaxgrad",
            "'text.npz' is no dump of jaxgrad",
        ),
        strict=True,
    ):
        assert report["verdict"] == "error"
        assert words in report["text"], f"no {words!r} in {report['text']!r}"


def test_a_module_without_torch():
    """A module cannot be proved without torch; what to install, or to do instead, is said."""
    code = (
        "import sys; sys.modules['torch'] = None; from jaxgrad.parity import prove; prove(3, abs)"
    )
    done = _python(code)

    assert "torch is not installed; run: pip install torch. Or write a dump" in done.stderr


@pytest.mark.parametrize(
    "tree",
    [
        {
            "1": (np.arange(6.0).reshape(2, 3), [True, None, "x", 2]),
            "k": {3: np.zeros((0, 2), int)},
        },
        Finding("forward", "fc", "net.py", "off", (0, 1), 1.5, float("inf")),
    ],
)
def test_packing(tmp_path, tree):
    """What is read is what was written, arrays by dtype, shape and value."""
    packing.write(tmp_path / "tree.npz", tree)
    found = packing.read(tmp_path / "tree.npz", Finding)
    leaves, structure = jax.tree.flatten(tree)

    assert jax.tree.structure(found) == structure
    for x, y in zip(jax.tree.leaves(found), leaves, strict=True):
        assert type(x) is type(y)
        assert np.array_equal(x, y)
        assert getattr(x, "dtype", None) == getattr(y, "dtype", None)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"x": object()}, "a object cannot be written"),
        ([np.array(["a"])], "an array of dtype <U1 cannot be written"),
    ],
)
def test_packing_of_something_else(tmp_path, tree, words):
    """Nothing is pickled."""
    with pytest.raises(TypeError, match=words):
        packing.write(tmp_path / "tree.npz", tree)


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = pathlib.Path(__file__).parents[4]
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
