"""Show the progress of a proof in one line on stderr, which the proof erases at its end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO


Progress = Callable[[str], None]
_ERASE = "\r\x1b[K"


@contextlib.contextmanager
def shown(
    progress: Progress | None,
    stream: TextIO | None = None,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[Progress | None]:
    """Yield a function that shows the name of a step, or None if nothing is to be shown.

    Args:
        progress: The user's function, which is used if it is not None.
        stream: The stream to write to, by default stderr. Nothing is written to it if it is not a
            terminal, or in a test of pytest.
        now: The clock to read.
    """
    line = _terminal(sys.stderr if stream is None else stream)
    if progress is not None or "PYTEST_CURRENT_TEST" in os.environ or line is None:
        yield progress
        return
    start = now()

    def show(name: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        line.write(_ERASE + f"prove, {now() - start:.0f} s: {name}"[:width])
        line.flush()

    try:
        yield show
    finally:
        line.write(_ERASE)
        line.flush()


def _terminal(stream: TextIO | None) -> TextIO | None:
    """Return a stream if it is a terminal; in some programs, stderr is None or closed."""
    try:
        return stream if stream is not None and stream.isatty() else None
    except ValueError:
        return None
