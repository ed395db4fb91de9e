"""The scripts that lessons offer to copy run by themselves and give the results of the suite."""

import os
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest

from jaxgrad.parity import interop
from jaxgrad.parity.compare import flatten
from parity_tests.case import load
from parity_tests.notebook.script import scripts
from parity_tests.runner.jax_side import JaxProgram
from parity_tests.runner.settings import ROOT
from parity_tests.runner.torch_side import run_torch, split
from tests._helpers import ALL, sampled
from tests.parity_tests.notebook._lessons import lessons


SHOWN = [(id, prints) for function, id, prints in lessons() if function == "show"]
# `make test-all` runs the scripts of every lesson; the suite runs some that are compiled quickly.
QUICK = [call for call in SHOWN if call[0].startswith(("backward/", "grad_modes/", "hooks/"))]
CALLS = SHOWN if ALL else QUICK[::8]


def printed(script):
    """Run a script and return what it prints, or the exception that it raises."""
    values = []
    record = {"print": lambda *args: values.extend(interop.to_numpy(list(args)))}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as the suite does
            exec(compile(script.text, "<lesson>", "exec"), record | {"__name__": "lesson"})
    except Exception as error:
        return error
    if script.core.printed:
        return dict(zip(script.core.printed, values, strict=True))
    return split(values[0])[0]


def assert_same(found, wanted, script, rtol):
    if isinstance(wanted, Exception):
        assert type(found) is type(wanted)
        return
    assert not isinstance(found, Exception), found
    keys = script.core.printed
    left, right = (
        flatten({key: tree[key] for key in keys} if keys else tree) for tree in (found, wanted)
    )
    assert left.keys() == right.keys()
    for path, value in right.items():
        if isinstance(value, np.ndarray):
            assert isinstance(left[path], np.ndarray), path
            np.testing.assert_allclose(left[path], value, rtol, rtol and 1e-12, err_msg=path)
            assert left[path].dtype == value.dtype
        elif isinstance(value, BaseException):
            assert str(left[path]) == str(value)
        else:
            assert left[path] == value


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("id", "prints"), CALLS, ids=[id for id, _ in CALLS])
def test_both_scripts_of_a_lesson_give_the_results_of_the_suite(id, prints):
    """Both scripts run in a fresh namespace and print the results of the suite, bit for bit.

    The suite compiles some JAX programs; their results may differ by rounding.
    """
    import torch

    case = load()[id]
    torch_script, jax_script = scripts(case, prints)
    run = run_torch(case, case.dtypes[0], 0, "cpu")
    if torch_script.text:
        default = torch.get_default_dtype()
        try:
            assert_same(printed(torch_script), split(run.observed)[0], torch_script, 0)
        finally:
            torch.set_default_dtype(default)
    mode = "eager" if "eager" in case.modes else "jit"
    wanted, _ = split(JaxProgram(case.fun, mode)(run.inputs))
    with jax.default_matmul_precision("highest"):
        assert_same(printed(jax_script), wanted, jax_script, 0 if mode == "eager" else 1e-12)


def test_the_rule_of_a_function_is_in_the_script():
    """A script has the statement that gives a `custom_vjp` function its rule."""
    assert "scale.defvjp(" in scripts(load()["none_or_zero/rule_returns_none"], "")[1].text


def test_a_changed_script_gives_other_results():
    """The comparison can fail: without `stop_gradient` the script's gradients differ."""
    case = load()["grad_modes/detach"]
    _, script = scripts(case, "grads")
    wanted = JaxProgram(case.without_tool(), "eager")(run_torch(case, "float64", 0, "cpu").inputs)

    with pytest.raises(AssertionError):
        assert_same(printed(script), wanted, script, 1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("framework", ("torch", "JAX"))
def test_a_script_runs_outside_of_the_checkout(framework, tmp_path):
    """A pasted script needs neither `parity_tests` nor `torch_ref`, and only its own framework."""
    half = scripts(load()["grad_modes/detach"], "grads")[framework == "JAX"]
    other = "torch" if framework == "JAX" else "jax"
    path = tmp_path / "lesson.py"
    path.write_text(f"{half.text}\nimport sys\nassert {other!r} not in sys.modules\n")
    package = {"PYTHONPATH": str(tmp_path / "packages")}
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "jaxgrad").symlink_to(ROOT / "jaxgrad")

    out = subprocess.run(
        [sys.executable, "lesson.py"],
        cwd=tmp_path,
        env=os.environ | package,
        capture_output=True,
        text=True,
    )

    assert out.returncode == 0, out.stderr
    assert "None" in out.stdout and "parity_tests" not in half.text


def test_every_lesson_offers_its_scripts():
    """Each lesson has both scripts, except torch's on several processes."""
    cases, calls = load(), sampled(SHOWN, 8)
    lacking = {
        (id.split("/")[0], name)
        for id, prints in calls
        for name, half in zip(("torch", "JAX"), scripts(cases[id], prints), strict=True)
        if not half.text
    }

    assert lacking == {("distributed", "torch")}


def test_float64_is_switched_on_where_a_reader_sees_it():
    """The JAX script says that it computes in float64, and torch's sets the same dtype."""
    torch_script, jax_script = scripts(load()["grad_modes/detach"])

    assert (
        'JAX\'s default is float32.\njax.config.update("jax_enable_x64", True)' in jax_script.text
    )
    assert "torch.set_default_dtype(torch.float64)" in torch_script.text
