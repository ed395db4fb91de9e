"""Check before a long run that the files it will write can be written."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator


def refusal(outputs: Iterable[tuple[str, str | os.PathLike[str]]]) -> str:
    """Return why the outputs of a command line cannot be written, or "" if all of them can.

    Args:
        outputs: Pairs of an option and its path. An option may occur more than once.
    """
    owners: dict[pathlib.Path, str] = {}
    for option, name in outputs:
        if reason := unwritable(name):
            return f"{option} {name}: cannot be written: {reason}"
        path = pathlib.Path(name)
        target = path.resolve()
        if target in owners and (path.is_file() or not path.exists()):  # not /dev/null
            return f"{option} {name}: {owners[target]} writes the same file; give another name"
        owners[target] = option
    return ""


def unwritable(name: str | os.PathLike[str]) -> str:
    """Return why a file cannot be written, or "" if it can.

    An existing file keeps its content and its times. A file that does not exist is created and
    deleted at once, since only this shows whether its name is valid and its folder is writable.
    """
    if not os.fspath(name):
        return "the name is empty"
    path = pathlib.Path(name)
    try:
        if path.is_dir():
            return "it is a folder"
        if path.is_file():
            os.close(os.open(path, os.O_WRONLY))
            return ""
        if path.exists():  # a pipe or a device: opening it may wait, or end its reader
            return "" if os.access(path, os.W_OK) else "permission denied"
        return _creation_error(path.resolve())  # of its target if it is a dangling link
    except (OSError, ValueError) as error:  # ValueError: the name contains a null character
        return _reason(error)


def require_writable(name: str | os.PathLike[str]) -> None:
    """Raise if a file cannot be written.

    Raises:
        FileNotFoundError: Its folder does not exist.
        OSError: It cannot be written for another reason.
    """
    if reason := unwritable(name):
        is_missing = bool(os.fspath(name)) and not pathlib.Path(name).resolve().parent.exists()
        kind = FileNotFoundError if is_missing else OSError
        raise kind(f"{os.fspath(name)} cannot be written: {reason}")


@contextlib.contextmanager
def together(name: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """Write a file and the files beside it together, or none of them if an exception is raised.

    Yields:
        The path of the file in a new folder, where the `with` block writes all files. They are
        moved beside `name` when the block ends.
    """
    path = pathlib.Path(name)
    with tempfile.TemporaryDirectory(prefix=f".{path.stem}-", dir=path.parent) as folder:
        yield pathlib.Path(folder, path.name)
        for each in sorted(pathlib.Path(folder).iterdir()):
            target = path.with_name(each.name)
            if target.is_symlink():  # the link stays, and may lead to another device
                shutil.copyfile(each, target)
            else:
                each.replace(target)


def unreadable(name: str | os.PathLike[str]) -> str:
    """Return why a file cannot be read, or "" if it can."""
    path = pathlib.Path(name)
    try:
        if path.is_dir():
            return "it is a folder"
        with path.open("rb"):
            return ""
    except (OSError, ValueError) as error:
        return _reason(error)


def _creation_error(path: pathlib.Path) -> str:
    if not path.parent.is_dir():
        is_file = path.parent.exists()
        return f"{path.parent} is not a folder" if is_file else f"there is no folder {path.parent}"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:  # another process has just created it
        return ""
    except FileNotFoundError:  # as in /proc
        return f"no file can be created in the folder {path.parent}"
    except PermissionError:
        return f"permission denied in the folder {path.parent}"
    try:
        os.close(descriptor)
    finally:
        path.unlink()
    return ""


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
