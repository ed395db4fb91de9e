"""The check of an output path names the reason, and changes nothing."""

import errno
import os
import pathlib
import re
import stat

import pytest

from jaxgrad.parity import files


def test_a_path_that_can_be_written_is_not_refused_and_nothing_is_left(tmp_path):
    """The check leaves no file behind, keeps an existing file, and follows a dangling link."""
    new, old, link = tmp_path / "new.json", tmp_path / "old.json", tmp_path / "link.json"
    old.write_text("kept")
    os.utime(old, (1, 1))
    link.symlink_to(tmp_path / "absent.json")

    assert [files.unwritable(path) for path in (new, old, link)] == ["", "", ""]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "old.json"]
    assert (old.read_text(), old.stat().st_mtime) == ("kept", 1)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the name is empty"),
        ("{}", "it is a folder"),
        ("{}/absent/a.json", "there is no folder {}/absent"),
        ("{}/file/a.json", "{}/file is not a folder"),
        ("{}/" + 300 * "a", "file name too long"),
    ],
)
def test_a_path_that_cannot_be_written_has_a_reason(tmp_path, name, reason):
    """The reason names the folder that is missing or is not one."""
    (tmp_path / "file").write_text("")
    assert files.unwritable(name.format(tmp_path)) == reason.format(tmp_path)
    assert "null" in files.unwritable("a\0.json")


@pytest.mark.skipif(not pathlib.Path("/proc/self").is_dir(), reason="there is no /proc to write to")
def test_a_folder_that_takes_no_file_is_not_said_to_be_missing():
    assert files.unwritable("/proc/x.html") in (
        "no file can be created in the folder /proc",
        "permission denied in the folder /proc",
    )


def test_a_method_that_writes_says_what_is_wrong(tmp_path):
    """A missing folder is a FileNotFoundError with the words of the command line."""
    path = tmp_path / "absent" / "a.json"
    text = f"{path} cannot be written: there is no folder {path.parent}"
    with pytest.raises(FileNotFoundError, match=re.escape(text)):
        files.require_writable(path)
    with pytest.raises(OSError, match="cannot be written: it is a folder"):
        files.require_writable(tmp_path)
    files.require_writable(tmp_path / "a.json")


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EROFS, "read-only file system"),
        (errno.ENOSPC, "no space left on device"),
        (errno.EACCES, "permission denied"),
    ],
)
def test_an_error_of_the_file_system_is_the_reason(tmp_path, monkeypatch, existing, code, reason):
    """A read-only or full file system, and a folder without permission, refuse the path."""
    path = tmp_path / "a.json"
    if existing:
        path.write_text("kept")

    def refuse(name, flags, *rest):
        del rest
        assert not flags & os.O_TRUNC
        raise OSError(code, os.strerror(code), name)

    monkeypatch.setattr(os, "open", refuse)
    place = f" in the folder {tmp_path}" if code == errno.EACCES and not existing else ""
    assert files.unwritable(path) == reason + place
    assert path.exists() == existing


def test_a_pipe_is_not_opened(tmp_path):
    """Opening a pipe would wait for its reader, and closing it would end the reader."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert files.unwritable(pipe) == ""
    assert files.unwritable(os.devnull) == ""
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_two_options_may_not_write_one_file(tmp_path):
    """The second would overwrite the first, unless the file is a device such as /dev/null."""
    path, null = str(tmp_path / "a.json"), os.devnull
    again = str(tmp_path / "." / "a.json")
    assert files.refusal([("--json", path), ("--html", again)]) == (
        f"--html {again}: --json writes the same file; give another name"
    )
    assert files.refusal([("--json", null), ("--html", null)]) == ""
    assert files.refusal([("--json", path), ("--html", str(tmp_path))]) == (
        f"--html {tmp_path}: cannot be written: it is a folder"
    )


def test_a_file_that_cannot_be_read_has_a_reason(tmp_path):
    """A missing file and a folder are refused, and an existing file is not."""
    path = tmp_path / "a.json"
    assert files.unreadable(path) == "no such file or directory"
    assert files.unreadable(tmp_path) == "it is a folder"
    path.write_text("")
    assert files.unreadable(path) == ""


def test_files_are_written_together_or_not_at_all(tmp_path):
    """After an exception the folder is as it was; a link keeps pointing to its target."""
    path, link = tmp_path / "a.py", tmp_path / "link.py"
    path.write_text("old")
    link.symlink_to(path)

    def stop():
        with files.together(path) as written:
            written.write_text("new")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        stop()
    assert path.read_text() == "old" and len([*tmp_path.iterdir()]) == 2
    with files.together(link) as written:
        written.write_text("new")
        written.with_suffix(".json").write_text("{}")
    assert link.is_symlink() and path.read_text() == "new"
    assert (tmp_path / "link.json").read_text() == "{}" and len([*tmp_path.iterdir()]) == 3
