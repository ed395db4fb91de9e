"""Measure the seconds of a proof, report its progress, and end it or its searches in time."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Callable, Iterator

from jaxgrad.parity.prove import users


SEARCH = "locate"  # the step that looks for the place and the cause of a difference
LEAST = 10.0  # seconds of computing that all searches together may take, even in a short proof
_SUGGESTED = 120  # seconds, as time_limit=
_LONG = 1.0  # seconds; a longer step belongs to a large proof and frees much memory


class TimeLimit(BaseException):
    """Raised when a proof's time limit has passed; `except Exception` must not catch it."""


class Clock:
    """The seconds that each step of a proof takes; those of an inner step are not counted twice.

    Args:
        progress: Function that is called with the name of each step as it begins.
        limit: Number of seconds after which the next step raises `TimeLimit`.
        now: The clock to read.
        computed: Returns the CPU seconds used so far. Searches are limited by CPU time, so that
            another program on the same machine cannot end them.
    """

    def __init__(
        self,
        progress: Callable[[str], None] | None = None,
        limit: float | None = None,
        now: Callable[[], float] = time.perf_counter,
        computed: Callable[[], float] = time.process_time,
    ) -> None:
        self.progress, self.limit = progress, limit
        self.now, self.computed = now, computed
        self.seconds: dict[str, float] = {}
        self.stopped: float | None = None  # seconds after which a search was stopped
        self._stopped_at = 0.0  # the time limit then, 0 without one
        self._running: list[str] = []
        self._start = self._last = now()
        self._before = computed()
        self._searched = self._proved = 0.0  # seconds of computing

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count the seconds of a `with` block as those of a step.

        A step inside a search does not raise: `may_search` ends the search, and the place is kept.
        """
        if SEARCH not in self._running:
            self.check()
        self._tell(name)
        self._count()
        self._running.append(name)
        start = self._last
        try:
            yield
        finally:
            self._count()
            self._running.pop()
            if self._last - start > _LONG:
                _trim()

    def _count(self) -> None:
        """Add the seconds since the last call to the step that runs."""
        last, self._last = self._last, self.now()
        before, self._before = self._before, self.computed()
        if self._running:
            name = self._running[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + self._last - last
        if SEARCH in self._running:
            self._searched += self._before - before
        else:
            self._proved += self._before - before

    def searched(self) -> float:
        """Return the CPU time in seconds that all searches have used so far."""
        self._count()
        return self._searched

    def _tell(self, name: str) -> None:
        if self.progress is not None:
            with users.running("progress="):
                self.progress(name)

    def check(self) -> None:
        """Raise `TimeLimit` if the time limit has passed."""
        if self._is_over():
            raise TimeLimit

    def _is_over(self) -> bool:
        return self.limit is not None and self.now() - self._start > self.limit

    def may_search(self, what: str = "", seconds: float = 0.0) -> bool:
        """Report what a search tries next, and return whether it may go on.

        All searches together may use as much CPU time as the rest of the proof did so far, `LEAST`
        seconds, or half of the time limit, whichever is longest.

        Args:
            what: What is tried next.
            seconds: The CPU time that this takes at least, if it is known, as for a compilation.
        """
        self._count()
        longest = max(LEAST, self._proved, (self.limit or 0.0) / 2)
        if self._is_over() or self._searched + seconds > longest:
            self.stopped, self._stopped_at = self._searched, self.limit or 0.0
            return False
        if what:
            self._tell(f"{SEARCH}: {what}")
        return True

    def notes(self) -> tuple[str, ...]:
        """Return a note if a search was stopped, or else an empty tuple."""
        if self.stopped is None:
            return ()
        longer = f"time_limit={_SUGGESTED} lets it search for a minute"
        if self._stopped_at >= _SUGGESTED:
            longer = f"a time_limit= of more than {self._stopped_at:g} gives it more time"
        return (
            f"the search for causes ended after {self.stopped:.0f} s of CPU time, before it had "
            f"tried every cause; {longer}",
        )


def _trim() -> None:
    """Return freed memory to the system: glibc keeps up to a quarter of a large proof's memory."""
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL("libc.so.6").malloc_trim(0)
