"""Reading files named by users, and those of caches: regular files only.

Reading a pipe, a terminal or another device instead of a file could wait forever, or never end.
All errors of reading are OSError, whose ``strerror`` gives the reason.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from relax_mlir.error import ArgumentError, expect

_Path: TypeAlias = str | os.PathLike[str]
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def path_of(where: str, value: object) -> Path:
    """Return `value` as a path; `where`: the function and its parameter. Raises `ArgumentError`."""
    expect(where, value, str | os.PathLike, "a path")
    assert isinstance(value, str | os.PathLike)
    path = Path(value)
    if "\0" in str(path):
        raise ArgumentError(f"{where} is {value!r}, which has a NUL character")
    return path


def open_regular(path: _Path, *, follow_links: bool = True) -> IO[bytes]:
    """Open a regular file for reading.

    Raises OSError for anything else, without waiting for a writer, and for a symbolic link unless `follow_links`.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follow_links:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(path, flags)
    except ValueError:
        raise OSError(errno.EINVAL, "its name has a NUL character") from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            kind = next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something else")
            raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", os.fspath(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: _Path) -> bytes:
    """The contents of a regular file; raises OSError."""
    with open_regular(path) as stream:
        return stream.read()


def read_text(path: _Path) -> str:
    """The contents of a regular file as UTF-8 text; raises OSError, UnicodeDecodeError."""
    return read_bytes(path).decode("utf-8")


def mapped(path: _Path) -> mmap.mmap:
    """A regular file as bytes that are read when needed; raises OSError, and ValueError for an empty one."""
    with open_regular(path) as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def why_unreadable(path: _Path) -> str:
    """The reason why a path cannot be read as a file, or "" if it can."""
    try:
        with open_regular(path):
            return ""
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return error.strerror or str(error)


def load_arrays(path: _Path) -> np.ndarray[Any, Any] | Mapping[str, np.ndarray[Any, Any]]:
    """The array of an ``.npy`` file, or those of an ``.npz`` file by name; nothing is unpickled.

    Raises OSError, and ValueError for a file that is neither, is damaged, or has an array that does not fit into
    memory.
    """
    with open_regular(path) as stream:
        try:
            loaded = np.load(stream, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded.files}
        except (OSError, ValueError):
            raise
        except Exception as error:  # zipfile, zlib and NumPy raise different errors for damaged files
            raise ValueError(str(error) or type(error).__name__) from error
