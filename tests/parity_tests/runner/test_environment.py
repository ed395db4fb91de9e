"""`--device gpu` and `--device tpu` run end to end where a CPU device takes the place of theirs."""

import json
import sys
import types
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch

from parity_tests import __main__ as runner
from parity_tests.case import Case
from parity_tests.inputs import normal
from parity_tests.runner import torch_side
from parity_tests.runner.environment import torch_device
from tests.parity_tests.devices.simulation import simulate


RUNS = [("gpu", ("float64", "float32", "bfloat16")), ("tpu", ("float32", "bfloat16"))]


@pytest.fixture
def planted(monkeypatch):
    """One case whose two programs note where and with which settings they run."""
    notes = types.SimpleNamespace(torch=set(), jax=set(), options=[])

    def square(x):
        x.requires_grad_()
        (x**2).sum().backward()
        switches = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
        notes.torch.add(switches)
        return {"grad": x.grad}

    module = types.ModuleType("torch_ref.planted")
    module.__dict__["square"] = square
    monkeypatch.setitem(sys.modules, "torch_ref.planted", module)

    def twin(x):
        """The gradient of a square is twice its argument."""
        config: Any = jax.config
        notes.jax.add((config.jax_default_device, config.jax_default_matmul_precision))
        return {"grad": jax.grad(lambda x: jnp.sum(x**2))(x)}

    dtypes = ("float64", "float32", "bfloat16")
    about = {"theme": "planted", "idiom": ("x.backward()", "jax.grad(f)(x)")}
    case = Case(fun=twin, behaviour="square", inputs={"x": normal(3)}, dtypes=dtypes, **about)
    monkeypatch.setattr("parity_tests.case.load", lambda: {case.id: case})
    compiled = jax.jit

    def jit(fun, **options):
        notes.options.append(options.get("compiler_options"))
        return compiled(fun, **options)

    monkeypatch.setattr(jax, "jit", jit)
    return notes


@pytest.mark.parametrize("device, dtypes", RUNS)
def test_a_run_on_a_device(device, dtypes, planted, monkeypatch, capsys, tmp_path):
    """Selection, settings, the printed report and every written file are those of the device."""
    place = simulate(monkeypatch, device)
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    names = ("a.json", "a.html", "a.xml")
    files = [str(tmp_path / name) for name in names]
    writes = zip(("--json", "--html", "--junit-xml"), files, strict=True)

    assert runner.main(["--device", device, *(word for pair in writes for word in pair)]) == 0

    out = capsys.readouterr().out
    assert out.startswith(f"parity  device {device} · device_kind {place.device_kind} · torch ")
    assert f"{2 * len(dtypes)} passed, 0 failed" in out
    assert planted.jax == {(place, "highest")}, "JAX runs elsewhere, or with low precision"
    assert {"xla_allow_excess_precision": False} in planted.options
    assert planted.torch == {(False, False) if device == "gpu" else before}
    assert before == (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["versions"]["device"] == device
    cells = [(r["dtype"], r["mode"], r["device"]) for r in document["results"]]
    assert cells == [(dtype, mode, device) for dtype in dtypes for mode in ("eager", "jit")]
    html, xml = ((tmp_path / name).read_text() for name in names[1:])
    assert f"<br>{device}</th>" in html and f"float32-jit-{device}" in xml


def test_torch_runs_on_a_gpu_and_beside_a_tpu():
    """torch uses CUDA on a GPU, and the CPU beside a TPU, which it has no build for."""
    assert [torch_device(device) for device in ("cpu", "gpu", "tpu")] == ["cpu", "cuda", "cpu"]


def test_the_reference_is_run_on_the_gpu_of_torch(monkeypatch):
    """Without a simulation, the tensors of a reference on a GPU are created with CUDA."""
    devices = []
    monkeypatch.setattr(torch, "device", lambda name: devices.append(name) or torch.no_grad())
    with torch_side._torch_settings("float32", "gpu"):
        assert torch.backends.cudnn.allow_tf32 is False
    assert devices == ["cuda"]


def test_a_gpu_that_torch_does_not_find_is_named(planted, monkeypatch, capsys):
    """A GPU of JAX alone is not enough: the message says that torch finds none."""
    simulate(monkeypatch, "gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    assert runner.main(["--device", "gpu"]) == 2
    assert f"torch {torch.__version__} finds no CUDA device here" in capsys.readouterr().err


@pytest.mark.parametrize("device", ("gpu", "tpu"))
def test_processes_do_not_share_a_device(device, planted, monkeypatch, capsys):
    """`--workers 2` on a device is refused in one sentence; one process is accepted."""
    simulate(monkeypatch, device)

    assert runner.main(["--device", device, "--workers", "2"]) == 2
    words = f"--workers 2: processes cannot share a {device}; leave the option out"
    assert capsys.readouterr().err.strip() == words
    assert runner.main(["--device", device, "--workers", "1", "--dtype", "float32"]) == 0


def test_autocast_uses_the_lists_of_the_device_that_runs(monkeypatch):
    """On the CPU of a machine with a GPU, the cases of autocast compare the CPU's lists."""
    from parity_tests.cases.precision import device_type

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with jax.default_device(jax.devices("cpu")[0]):
        assert device_type() == "cpu"
    gpu = types.SimpleNamespace(platform="gpu")
    monkeypatch.setattr(jax, "devices", lambda: [gpu])
    assert device_type() == "cuda"
