"""Files are replaced, never changed: whatever happens while one is written, the old one or the new one is there, whole.

`write` makes the new file beside its target under the name ``.NAME.part``, syncs it, reads it back, and renames it over
the target; then it syncs the folder. What fails before the rename leaves the target as it was. A link is written
through. A new file has the mode that the umask gives, and another one that of the file it takes the place of. With
``keep_previous`` the file that was there stays as ``NAME.previous``.

The writer holds a lock on the part while it lives, so a part that nobody holds is one that a killed process left
behind: `clear` and the next `write` to the same target take it away. Two that write to one target take turns.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import Any

from .errors import ModelFileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 30.0  # seconds to wait for another process that writes to the same target: 10 GB at 300 MB/s
PIECE = 2**24  # bytes written at a time, so that Ctrl-C is heard between two pieces
# Not there on Windows: links that nobody expects, FIFOs that would block, and children that would inherit.
_NO_LINK, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
_ALONE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def target_of(path: Any) -> Path:
    """The file itself, where the path is a link to it."""
    return Path(os.path.realpath(path))


def previous(path: Any) -> Path:
    target = Path(path)
    return target.with_name(target.name + ".previous")


def check_place(path: Any) -> Path:
    """The target, or an error if no file can be written there."""
    target = target_of(path)
    if not target.parent.is_dir():
        raise ModelFileError(f"there is no folder {target.parent} to write {target.name} to: make it first")
    found = _mode(target)
    if found is not None and not stat.S_ISREG(found):
        raise ModelFileError(f"{target} is {_kind(found)}: it cannot be written to. Give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise ModelFileError(f"{target} cannot be written: its folder may not be written to")
    return target


def read(path: Any) -> bytes:
    """All bytes of a regular file; what is no file is refused before it is read."""
    handle = os.open(path, os.O_RDONLY | _NO_WAIT | _ALONE)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError(f"{path} is {_kind(found.st_mode)}, not a file")
        return _read_all(handle, found.st_size)
    finally:
        os.close(handle)


def write(path: Any, data: bytes, *, keep_previous: bool = False) -> None:
    """Put `data` in the place of the file, as the top of this module says."""
    target = check_place(path)
    part, link = _beside(target)
    old = _mode(target)
    handle = _new(part)
    try:
        if old is not None and hasattr(os, "fchmod"):
            os.fchmod(handle, stat.S_IMODE(old))
        _write_all(handle, data)
        os.fsync(handle)
        _prove(part, data)
        if fcntl is None:  # there a file that is open cannot be renamed
            os.close(handle)
            handle = -1
        if keep_previous and old is not None:
            _keep(target, link)
        os.replace(part, target)
    except BaseException:
        if fcntl is None and handle >= 0:  # nor can it be taken away
            os.close(handle)
            handle = -1
        for left in (part, link):
            left.unlink(missing_ok=True)
        raise
    finally:
        if handle >= 0:
            os.close(handle)
    _sync(target.parent)


def clear(path: Any) -> None:
    """Take away what a killed process left beside the target; nothing that a living one still writes."""
    part, link = _beside(target_of(path))
    if _taken_away(part):
        link.unlink(missing_ok=True)


def _beside(target: Path) -> tuple[Path, Path]:
    """The new file before it is renamed, and the old one on the way to its second name."""
    return target.with_name(f".{target.name}.part"), target.with_name(f".{target.name}.link")


def _new(part: Path) -> int:
    """A new part, locked; one that is there already is waited for, or taken away if nobody holds it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _ALONE, 0o666)
        except FileExistsError:
            if not _taken_away(part):
                if time.monotonic() > until:
                    raise OSError(
                        errno.EBUSY, f"another process has been writing to this file for {PATIENCE:g} s", str(part)
                    ) from None
                time.sleep(0.01)
            continue
        if _locked(handle) and os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # somebody took it for a left one between the two calls


def _taken_away(part: Path) -> bool:
    """Whether the part is gone now; False while somebody writes to it."""
    if fcntl is None or not stat.S_ISREG(_mode(part) or stat.S_IFREG):
        part.unlink(missing_ok=True)  # a link or a pipe by that name is nobody's part, and without locks nobody knows
        return True
    try:
        handle = os.open(part, os.O_RDONLY | _NO_LINK | _NO_WAIT | _ALONE)
    except FileNotFoundError:
        return True
    try:
        if not _locked(handle):
            return False
        here, there = os.fstat(handle), os.lstat(part)
        if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
            part.unlink(missing_ok=True)
    except FileNotFoundError:
        return True
    finally:
        os.close(handle)
    return True


def _locked(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nobody can be asked
        return True
    return True


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        written = os.write(handle, left[:PIECE])
        if written <= 0:
            raise OSError(errno.EIO, "the file system takes no more bytes and does not say why")
        left = left[written:]


def _read_all(handle: int, size: int) -> bytes:
    """`size` bytes, and those that came since."""
    pieces, left = [], size + 1
    while left > 0 and (piece := os.read(handle, min(left, PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _prove(part: Path, data: bytes) -> None:
    """Raise unless what can be read back is what was to be written."""
    handle, left = os.open(part, os.O_RDONLY | _NO_LINK | _ALONE), memoryview(data)
    try:
        while piece := os.read(handle, PIECE):
            if left[: len(piece)] != piece:
                break
            left = left[len(piece) :]
    finally:
        os.close(handle)
    if piece or left:
        raise OSError(errno.EIO, "what was written does not come back when it is read: the disk is at fault", str(part))


def _keep(target: Path, link: Path) -> None:
    """The present file under its second name too; the rename that follows replaces the first."""
    link.unlink(missing_ok=True)
    try:
        os.link(target, link)
    except OSError:  # a file system without hard links
        handle = os.open(link, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _ALONE, 0o600)
        try:
            _write_all(handle, read(target))
            os.fsync(handle)
        finally:
            os.close(handle)
    os.replace(link, previous(target))
    link.unlink(missing_ok=True)  # still there if both are one file already: then a rename does nothing


def _sync(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY | _ALONE)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mode(path: Path) -> int | None:
    """Of a file that is there, without following links."""
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _kind(mode: int) -> str:
    names = {
        stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device", stat.S_IFLNK: "a link that leads nowhere",
    }  # fmt: skip
    return names.get(stat.S_IFMT(mode), "no regular file")
