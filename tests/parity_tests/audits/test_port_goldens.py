"""What `port` writes of each module is its golden."""

import os
import subprocess
import sys

import pytest

from parity_tests.audits import golden_ports, port_goldens
from parity_tests.runner.settings import ROOT


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", port_goldens.modules())
def test_what_port_writes_is_its_golden(name):
    """Both styles of each module are byte for byte those of the files."""
    if not golden_ports.comparable():
        pytest.skip("the goldens are of other versions of Python, torch, JAX or flax")

    _, sources, _ = port_goldens.written(name)

    diff = golden_ports.differences(name, [sources])
    assert not diff, f"{diff}\n{golden_ports.ADVICE}"


def test_the_command_refuses_other_versions(tmp_path, monkeypatch, capsys):
    """The message has the versions of the goldens and those that are installed."""
    monkeypatch.setattr(golden_ports, "FOLDER", tmp_path)
    (tmp_path / "versions.json").write_text('{"torch": "1.0"}')
    golden_ports.comparable.cache_clear()
    with pytest.raises(SystemExit, match="2"):
        port_goldens.main(["--check"])
    golden_ports.comparable.cache_clear()

    assert "the goldens are of {'torch': '1.0'}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["collection/highway", "ports/dropout", "gallery/modes"])
def test_another_process_writes_the_same(name):
    """What is written depends on no order of a set, which another hash seed changes."""
    code = (
        "from parity_tests.audits import golden_ports, port_goldens; port_goldens.configure(); "
        f"_, sources, _ = port_goldens.written({name!r}); "
        f"print(golden_ports.differences({name!r}, [sources]), end='')"
    )
    for seed in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True
        )
        assert (run.returncode, run.stdout) == (0, ""), run.stderr
