"""Notice a Ctrl-C whose KeyboardInterrupt is lost or late, and treat SIGTERM as a Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType


PATIENCE = 1.0  # seconds until a message says that the interruption has to wait


@contextlib.contextmanager
def noticed() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if Ctrl-C was pressed in this context.

    SIGTERM, which `kill` and `timeout` send, raises KeyboardInterrupt too, so that the results so
    far are written, even in a background job, where Ctrl-C is ignored. A handler that the caller
    has installed stays.

    Python ignores an exception in a destructor, in a callback of the garbage collector (JAX has
    one) and in some callbacks from C. A long run that calls the function between its steps ends
    nevertheless. While XLA compiles, Python cannot raise the exception; a message says that the
    run ends afterwards.
    """
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    handled = {}
    if threading.current_thread() is threading.main_thread():
        defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        handled = {sig: old for sig, old in defaults.items() if signal.getsignal(sig) is old}
    if not handled:
        yield check
        return
    for sig in handled:
        signal.signal(sig, handle)
    try:
        with _announced(lambda: pressed):
            yield check
    finally:
        for sig, old in handled.items():
            signal.signal(sig, old)


@contextlib.contextmanager
def _announced(handled: Callable[[], bool]) -> Iterator[None]:
    """Print a message if a signal arrives and Python does not handle it within `PATIENCE`.

    Only the main thread runs handlers, and not before a call from C returns. Python's low-level
    handler writes the number of each signal to a socket, which another thread reads.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    ended = threading.Event()

    def wait() -> None:
        while reader.recv(1):  # empty after the other end is closed
            if not ended.wait(PATIENCE) and not handled():
                print(
                    "interrupted: waiting for a compilation to end, which cannot be stopped",
                    file=sys.stderr,
                    flush=True,
                )
                return

    if before != -1:  # the caller, such as an event loop, uses it
        signal.set_wakeup_fd(before)
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        if before == -1:
            signal.set_wakeup_fd(-1)
        ended.set()
        writer.close()
        thread.join()
        reader.close()
