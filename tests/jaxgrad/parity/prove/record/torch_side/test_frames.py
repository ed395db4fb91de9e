"""The running line of the user's torch code is found below torch's and jaxgrad's frames."""

import functools
import inspect
import pathlib
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.prove.record.torch_side import frames


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


class Module(nn.Module):
    line: Any
    found: Any

    def forward(self, x: Any) -> Any:
        self.line = line() + 1
        return torch.vmap(lambda y: (self.found.append(frames.user_line()), y)[1])(x)


def test_the_innermost_line_of_the_users_code_is_found():
    """Frames of torch between the line and the call are skipped."""
    assert frames.user_line() == f"test_frames.py:{line()}"
    module: Any = Module()
    module.found = []
    module(torch.ones(2))
    assert module.found == [f"test_frames.py:{module.line}"]


def test_generated_code_and_functools_are_not_the_users():
    """Code without a file, and the wrappers of functools, have no line to show."""
    scope: dict[str, Any] = {"user_line": frames.user_line}
    exec("def inner(): return user_line()", scope)

    @functools.singledispatch
    def dispatched(x: Any) -> str:
        return scope["inner"]()

    assert dispatched(1) == f"test_frames.py:{line() - 2}"
    cached = functools.cached_property(lambda self: frames.user_line())
    cached.__set_name__(Module, "cached")
    assert cached.__get__(Module()).startswith("test_frames.py:")


def test_lines_outside_of_the_run_do_not_count(tmp_path):
    """The file that calls the module is jaxgrad's, whatever calls it."""
    scope: dict[str, Any] = {"user_line": frames.user_line}
    runner = pathlib.Path(frames.__file__).with_name("run.py")
    exec(compile("def run(): return user_line()", str(runner), "exec"), scope)

    assert scope["run"]() == ""


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        del ctx
        return x + 1

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        del ctx
        return grads[0]


class Named(torch.autograd.Function):
    @staticmethod
    def vjp(ctx: Any, *grads: Any) -> Any:
        del ctx
        return grads[0]


def test_the_backward_of_a_function_has_a_line():
    """It is that of the `def`, whatever the user calls the method; torch's own has none."""
    text = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    for function, name in ((Shift, "backward"), (Named, "vjp")):
        file, _, number = frames.backward_line(function).rpartition(":")
        assert file == "test_frames.py"
        assert text[int(number) - 1].strip().startswith(f"def {name}(")
    assert frames.backward_line(torch.autograd.Function) == ""
