"""A slow proof shows what it does, on a terminal only."""

import io
import sys
from typing import Any

import pytest

from jaxgrad.parity.prove import progress_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def leave_pytest(monkeypatch: Any) -> None:
    """Pretend that no test runs. Call it in the test: pytest sets the variable before each test."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setenv("COLUMNS", "30")


def test_each_step_takes_the_place_of_the_one_before(monkeypatch):
    """The line is cut at the width of the terminal, and erased at the end, even after an error."""
    leave_pytest(monkeypatch)
    times = iter([0.0, 1.0, 12.4])
    stream, now = Terminal(), lambda: next(times)
    with pytest.raises(KeyboardInterrupt), progress_line.shown(None, stream, now) as show:  # noqa: PT012  # it shows
        assert show is not None
        show("torch")
        show("locate: the learning rate is 10 times torch's")
        raise KeyboardInterrupt
    erase = "\r\x1b[K"
    lines = ["", "prove, 1 s: torch", "prove, 12 s: locate: the lear", ""]
    assert stream.getvalue().split(erase) == lines


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_a_stream_that_is_no_terminal_stays_empty(monkeypatch, stream):
    """A log, a notebook or a program without a stderr gets no line."""
    leave_pytest(monkeypatch)
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_line.shown(None) as show:
        assert show is None
    assert stream is None or not stream.getvalue()
    closed = io.StringIO()
    closed.close()
    assert progress_line._terminal(closed) is None


def test_tests_and_users_functions_get_no_line(monkeypatch):
    """A test gets no line even under `pytest -s`; the user's function replaces the line."""
    stream = Terminal()
    with progress_line.shown(None, stream) as show:
        assert show is None
    leave_pytest(monkeypatch)
    with progress_line.shown(len, stream) as show:  # pyright: ignore[reportArgumentType]
        assert show is len
    assert not stream.getvalue()
