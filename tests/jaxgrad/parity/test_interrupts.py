"""A Ctrl-C is noticed even if Python loses its exception."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from jaxgrad.parity import interrupts


class Finalized:
    """An object whose destructor is interrupted, where Python ignores exceptions."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_lost_interruption_is_raised_at_the_next_check():
    """The exception in a destructor is ignored, and the next check raises it."""
    with interrupts.noticed() as check:
        check()
        Finalized()
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_is_raised_at_once_elsewhere():
    """Ctrl-C raises KeyboardInterrupt as usual, and the handler is restored."""
    with pytest.raises(KeyboardInterrupt), interrupts.noticed():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_caller_stays():
    """A run in the background, where Ctrl-C is ignored, keeps ignoring it; a thread has none."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.noticed() as check:
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            check()
    finally:
        signal.signal(signal.SIGINT, before)

    errors = []

    def run():
        try:
            with interrupts.noticed() as check:
                check()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert errors == []


def test_sigterm_raises_as_ctrl_c_does():
    """SIGTERM raises KeyboardInterrupt in the context, and its default action is restored."""
    with pytest.raises(KeyboardInterrupt), interrupts.noticed():  # noqa: PT012  # else pytest ends
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_is_noticed_where_ctrl_c_is_ignored():
    """A background job ignores Ctrl-C, but `kill` ends it as Ctrl-C would."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.noticed():  # noqa: PT012
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_message_says_that_a_call_from_c_delays_the_end():
    """Python cannot handle Ctrl-C in a long call from C; a message says so, and the run ends."""
    program = """
import hashlib, os, signal, threading
from jaxgrad.parity import interrupts
interrupts.PATIENCE = 0.1
with interrupts.noticed():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.startswith(
        "interrupted: waiting for a compilation to end, which cannot be stopped\n"
    )
    assert done.stderr.endswith("KeyboardInterrupt\n")


def test_no_message_follows_an_interruption_that_python_handles(monkeypatch, capsys):
    """An interruption that is raised at once needs no explanation."""
    monkeypatch.setattr(interrupts, "PATIENCE", 0.05)
    with pytest.raises(KeyboardInterrupt), interrupts.noticed():  # noqa: PT012
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            time.sleep(0.2)
    assert capsys.readouterr().err == ""
    assert signal.set_wakeup_fd(-1) == -1
