"""Notice a Ctrl-C whose KeyboardInterrupt is lost, and treat SIGTERM as a Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def noticed() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if Ctrl-C was pressed in this context.

    SIGTERM, which `kill` and `timeout` send, raises KeyboardInterrupt too, so that the results so
    far are written.

    Python ignores an exception in a destructor, in a callback of the garbage collector (JAX has
    one) and in some callbacks from C. A long run that calls the function between its steps ends
    nevertheless.
    """
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check  # Ctrl-C is ignored, or the caller handles it
        return
    terminates = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGINT, handle)
    if terminates:
        signal.signal(signal.SIGTERM, handle)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if terminates:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
