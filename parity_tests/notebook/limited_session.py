"""Run programs one by one in a plain session, with a time limit for each of them.

A program that does not end, or that ends its process, costs only its own output: the next program
runs in a new process.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Self

from parity_tests.notebook.plain_session import output
from parity_tests.runner.settings import ROOT


UNENDED, EXITED = "did not end in ", "ends the process"  # before the limit, and before the reason


class LimitedSession:
    """A process that runs programs, and is replaced if a program does not come back."""

    def __init__(self, before: str = ""):
        """Start no process yet.

        Args:
            before: Code that a new process runs first, outside any time limit: the imports.
        """
        self.before = before
        self.process: subprocess.Popen[str] | None = None
        self.replies: queue.Queue[str] = queue.Queue()
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self._end(kill=True)
        self.folder.cleanup()

    def printed(self, name: str, code: str, limit: float | None = None) -> str:
        """Run a program and return what it prints.

        The last line is the error of a program that raises (after `RAISED`), the limit that it
        exceeds (after `UNENDED`), or how it ends its process (after `EXITED`).

        Args:
            name: The name of the program, which is the stem of its file.
            code: The program.
            limit: The time limit in seconds.
        """
        if self.process is None:
            self._start()
        try:
            return json.loads(self._ask(name, code, limit))
        except queue.Empty:
            self._end(kill=True)
            return f"{UNENDED}{limit:g} s"
        except (EOFError, BrokenPipeError):
            return f"{EXITED} {_reason(self._end())}"

    def _start(self) -> None:
        """Start a process and wait until it has run the imports."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self.folder.name)
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=plain | temporary,
        )
        self.replies = queue.Queue()
        threading.Thread(target=_read, args=(self.process, self.replies), daemon=True).start()
        self._ask("before", self.before, None)

    def _ask(self, name: str, code: str, limit: float | None) -> str:
        """Send a program and return the reply.

        Raises:
            queue.Empty: The program did not end in time.
            EOFError: The process ended.
        """
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, code]) + "\n")
        self.process.stdin.flush()
        reply = self.replies.get(timeout=limit)
        if not reply:
            raise EOFError
        return reply

    def _end(self, *, kill: bool = False) -> int:
        """Wait for the end of the process, if there is one, and return its exit status."""
        process, self.process = self.process, None
        if process is None:
            return 0
        if kill:
            process.kill()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait()


def _read(process: subprocess.Popen[str], replies: queue.Queue[str]) -> None:
    """Put each line that the process writes into a queue, and an empty text at the end."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            replies.put(line)
    replies.put("")


def _reason(status: int) -> str:
    """Return an exit status in words."""
    if status >= 0:
        return f"with exit status {status}"
    known = {each.value: each.name for each in signal.Signals}
    return f"by the signal {known.get(-status, -status)}"


def _serve() -> None:
    """Run the programs that come from stdin; a program itself reads and writes other files."""
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for line in requests:
        text = output(*json.loads(line), keep_going=True)
        replies.write(json.dumps(text) + "\n")
        replies.flush()


if __name__ == "__main__":
    _serve()
