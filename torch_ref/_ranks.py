"""Processes for references that need several ranks: `@ranks(4)` runs a function on four, with gloo.

    caller ── stdin, stdout ──► server, which imports torch once ── fork ──► rank 0, rank 1, ...

Starting torch takes seconds, so a group of ranks stays alive and waits for the next call. If a rank
fails, the others are stopped. A rank or the server ends when its pipe closes, and a collective ends
after `SECONDS`.
"""

import atexit
import datetime
import functools
import importlib
import multiprocessing.connection
import os
import pathlib
import pickle
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, distributed


SECONDS = 60  # the limit for one call, after which its ranks are stopped


class RankError(RuntimeError):
    """A rank raised, died or did not answer; the text names the rank and quotes its output."""


def ranks(count: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run the decorated function on `count` processes and return the results of all of them.

    Every rank calls the function with the same arguments, inside a default process group. Tensors
    come back stacked by rank. Results that cannot be stacked, because a rank has None or another
    shape, come back as a list.
    """

    def decorate(program: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(program)
        def call(*args: Any, **kwargs: Any) -> Any:
            name = program.__module__, program.__name__
            return stacked(_ask(count, torch.get_default_dtype(), *name, args, kwargs))

        return call

    return decorate


def stacked(trees: list[Any]) -> Any:
    """Merge the ranks' trees into one tree whose leaves are stacked by rank where possible."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: stacked([tree[key] for tree in trees]) for key in first}
    if isinstance(first, list | tuple):
        return [stacked(list(items)) for items in zip(*trees, strict=True)]
    if all(isinstance(x, Tensor) and x.shape == first.shape for x in trees):
        return torch.stack([x.detach() for x in trees])
    return first if all(x is None for x in trees) else trees


# ---- the caller's side


@functools.cache
def _server() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "torch_ref._ranks"],
        cwd=pathlib.Path(__file__).resolve().parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # gloo prints a line for each connection
    )
    atexit.register(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()  # the server then ends its ranks and itself
    process.stdout.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ask(*task: Any) -> list[Any]:
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    try:
        pickle.dump(task, server.stdin)
        server.stdin.flush()
        answers, error = pickle.load(server.stdout)
    except (EOFError, BrokenPipeError):
        _server.cache_clear()
        raise RankError(
            "the process that holds the ranks has ended; call again to start a new one"
        ) from None
    if error:
        raise RankError(error)
    return answers


# ---- the server's side


def _serve() -> None:
    """Answer the calls on stdin until it closes."""
    import torch._dynamo  # DDP and FSDP import this: once here instead of once per rank
    from torch.distributed import fsdp  # noqa: F401

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # gloo's output is not part of the answer
    groups: dict[int, _Group] = {}
    try:
        while True:
            try:
                count, *task = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            group = groups.pop(count, None) or _Group(count)
            answer = group.run(task)
            if answer[1]:
                group.stop()
            else:
                groups[count] = group
            pickle.dump(answer, answers)
            answers.flush()
    finally:
        for group in groups.values():
            group.stop()


class _Group:
    """A group of ranks that stays alive between calls."""

    def __init__(self, count: int):
        self.folder = tempfile.TemporaryDirectory()
        self.pids: list[int] = []
        self.pipes: list[Any] = []
        for rank in range(count):
            here, there = multiprocessing.Pipe()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    here.close()
                    for pipe in self.pipes:
                        pipe.close()  # otherwise no rank would notice that the server has ended
                    _rank(rank, count, self.folder.name, there)
                    status = 0
                finally:
                    os._exit(status)
            there.close()
            self.pids.append(pid)
            self.pipes.append(here)

    def run(self, task: list[Any]) -> tuple[list[Any], str]:
        """Return the result of every rank, or raise the first error."""
        for pipe in self.pipes:
            pipe.send_bytes(pickle.dumps(task))
        answers: dict[int, Any] = {}
        end = time.monotonic() + SECONDS
        while len(answers) < len(self.pipes):
            waiting = [pipe for r, pipe in enumerate(self.pipes) if r not in answers]
            ready = multiprocessing.connection.wait(waiting, max(0.0, end - time.monotonic()))
            if not ready:
                missing = [r for r in range(len(self.pipes)) if r not in answers]
                return [], f"ranks {missing} gave no answer within {SECONDS} s"
            for rank in map(self.pipes.index, ready):
                try:
                    answers[rank], error = pickle.loads(self.pipes[rank].recv_bytes())
                except EOFError:
                    return [], f"rank {rank} died"
                if error:
                    return [], f"rank {rank} raised {error}"
        return [answers[rank] for rank in sorted(answers)], ""

    def stop(self) -> None:
        for pid in self.pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        self.folder.cleanup()


def _rank(rank: int, count: int, folder: str, pipe: Any) -> None:
    loopback = (name for _, name in socket.if_nameindex() if name.startswith("lo"))
    os.environ["GLOO_SOCKET_IFNAME"] = next(loopback)
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/group",  # a file avoids a port that another process may use
        rank=rank,
        world_size=count,
        timeout=datetime.timedelta(seconds=SECONDS),
    )
    while True:
        try:
            dtype, module, name, args, kwargs = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            torch.set_default_dtype(dtype)
            torch.manual_seed(0)
            program = getattr(importlib.import_module(module), name).__wrapped__
            answer = pickle.dumps((program(*args, **kwargs), ""))
        except Exception as error:
            answer = pickle.dumps(
                (None, f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
            )
        pipe.send_bytes(answer)


if __name__ == "__main__":
    _serve()
