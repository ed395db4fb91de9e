"""Tests of how cells are shared among processes, and of how these end."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import types
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from parity_tests.runner import workers
from parity_tests.runner.selection import Cell
from parity_tests.runner.settings import ROOT
from parity_tests.runner.workers import Schedule


def test_a_process_goes_on_with_its_theme():
    """A process takes the cases of its theme in order, and then those of the next theme."""
    schedule = Schedule(["hooks", "hooks", "optim", "optim", "custom"])
    assert [schedule.take("hooks") for _ in range(2)] == [("hooks", 0), ("hooks", 1)]
    assert schedule.take("hooks") == ("optim", 2)
    assert schedule.take("hooks") == ("custom", 4), "optim is another process's"


def test_a_process_without_a_theme_helps_with_the_longest():
    """It takes the last case of the theme that has most left; in the end there is none."""
    schedule = Schedule(["custom", "hooks", "hooks", "hooks", "optim"])
    assert schedule.take(schedule.first) == ("custom", 0)
    assert schedule.take("custom") == ("hooks", 1)
    assert schedule.take("custom") == ("optim", 4)
    assert schedule.take("optim") == ("hooks", 3)
    assert schedule.take("hooks") == ("hooks", 2)
    assert schedule.take("hooks") is None


def test_a_schedule_can_be_cleared():
    """After an interruption no case begins; those that never did are known."""
    schedule = Schedule(["hooks", "hooks", "optim"])
    schedule.take("hooks")
    assert schedule.clear() == [1, 2]
    assert schedule.take("hooks") is None


def test_no_case_begins_after_a_process_has_died():
    """The cases that never began fail too, so that nobody waits for them; others keep results."""
    themes = ("hooks", "hooks", "optim", "optim")
    groups = [[(index, _cell(theme))] for index, theme in enumerate(themes)]
    died: Any = concurrent.futures.Future()
    lives: Any = concurrent.futures.Future()
    processes: Any = [types.SimpleNamespace(submit=lambda *args, f=f: f) for f in (died, lives)]
    schedule = Schedule(themes)
    finished: dict[int, Any] = {}
    batches = workers._started(processes, groups, schedule, 0, finished)
    died.set_exception(BrokenProcessPool())
    lives.set_result(["result"])
    assert batches[1].result() == ["result"]
    for batch in (batches[0], *batches[2:]):
        with pytest.raises(BrokenProcessPool):
            batch.result(timeout=0)
    assert finished == {1: "result"}, "an earlier case that never ended hides a finished one"


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no signal masks")
def test_a_process_that_starts_inherits_the_blocked_ctrl_c():
    """It cannot be interrupted in its imports; this process can be again at the end."""
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    with workers.interrupts_blocked():
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _cell(theme):
    case: Any = types.SimpleNamespace(theme=theme, id=theme)
    return Cell(case, "float32", "jit", "cpu")


def test_a_worker_ends_with_its_parent():
    """A parent that is killed cannot stop its processes, so they notice it themselves."""
    script = (
        "import os, time\n"
        "from parity_tests.runner import workers\n"
        "if __name__ == '__main__':\n"
        "    with workers.pool(1) as pool:\n"
        "        print(pool.submit(os.getpid).result(), flush=True)\n"
        "        time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while _runs(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(worker)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as file:  # one that has ended may wait to be collected
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
