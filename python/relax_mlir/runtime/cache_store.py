"""A directory of byte strings by key: safe against concurrent writers, torn files and other users; bounded in size."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
import warnings
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from relax_mlir.error import ArgumentError
from relax_mlir.files import open_regular

# A mapping that keeps the most recently used items.


KeyT = TypeVar("KeyT", bound=Hashable)
ItemT = TypeVar("ItemT")


class LRU(Generic[KeyT, ItemT]):
    """At most `bound` items; the least recently used one is evicted. Not thread-safe."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._items: OrderedDict[KeyT, ItemT] = OrderedDict()

    def get(self, key: KeyT) -> ItemT | None:
        """Return the item of `key` and mark it as used, or None."""
        found = self._items.get(key)
        if found is not None:
            self._items.move_to_end(key)
        return found

    def put(self, key: KeyT, item: ItemT) -> None:
        """Store `item` for `key`."""
        self._items[key] = item
        self._items.move_to_end(key)
        if len(self._items) > self.bound:
            self._items.popitem(last=False)

    def __len__(self) -> int:
        return len(self._items)


SWITCH = "RELAX_MLIR_CACHE"
DIRECTORY = "RELAX_MLIR_CACHE_DIR"
SIZE = "RELAX_MLIR_CACHE_SIZE"
DEFAULT_SIZE = 1 << 30

_MAGIC = b"relax-mlir cache 1\n"
_SUFFIX, _SCRATCH = ".entry", ".tmp"
_STALE_SECONDS = 3600.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SHARE = 4
"""A process fills this fraction (1/4) of the free space before it checks the size of the directory again."""
_unseen: dict[tuple[Path, int], int] = {}
"""Bytes that this process may store before it checks the size again, by directory and limit."""
_warned: set[str] = set()


class CacheWarning(UserWarning):
    """The cache of compiled modules has a problem; compilation continues without it."""


@dataclass(frozen=True)
class CacheInfo:
    """Location, contents and size limit in bytes of the cache."""

    directory: Path
    enabled: bool
    entries: int
    bytes: int
    limit: int

    def __str__(self) -> str:
        return (
            f"directory: {self.directory}\nenabled: {'yes' if self.enabled else 'no'}\n"
            f"entries: {self.entries}\nbytes: {self.bytes}\nlimit: {self.limit}"
        )


def enabled() -> bool:
    """True unless RELAX_MLIR_CACHE=0 disables the cache."""
    text = os.environ.get(SWITCH, "1")
    if text not in ("0", "1"):
        raise ArgumentError(f"the environment variable {SWITCH} is {text!r}, expected 0 or 1")
    return text == "1"


def size_limit() -> int:
    """Return the maximum size of the cache in bytes (RELAX_MLIR_CACHE_SIZE)."""
    text = os.environ.get(SIZE, str(DEFAULT_SIZE))
    if not text.isdecimal():
        raise ArgumentError(f"the environment variable {SIZE} is {text!r}, expected a number of bytes")
    return int(text)


def directory() -> Path:
    """Return RELAX_MLIR_CACHE_DIR, or ``relax-mlir`` in the user's cache folder."""
    if given := os.environ.get(DIRECTORY):
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path("~/.cache").expanduser()
    return base / "relax-mlir"


def load(key: str, folder: Path | None = None) -> bytes | None:
    """Return the data of `key` and mark it as used. A damaged entry is removed, with a warning.

    `folder`: used instead of `directory`.
    """
    path = (folder or directory()) / f"{key}{_SUFFIX}"
    try:
        if not path.parent.is_dir():
            return None
        _check_owner(path.parent, path.parent.stat())
        with open_regular(path, follow_links=False) as stream:
            _check_owner(path, os.fstat(stream.fileno()))
            data = stream.read()
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        _warn_once(f"the cache of compiled modules cannot be read: {error}")
        return None
    payload = _unwrap(key, data)
    if payload is None:
        drop(key, "its checksum is wrong", folder)
        return None
    with contextlib.suppress(OSError):  # a read-only directory keeps no order of use
        os.utime(path)
    return payload


def contains(key: str, folder: Path | None = None) -> bool:
    """True if there is an entry for `key`, valid or not."""
    return ((folder or directory()) / f"{key}{_SUFFIX}").exists()


def store(key: str, payload: bytes, folder: Path | None = None) -> bool:
    """Store `payload` as `key` and evict entries if needed. Return False on failure.

    Failures give a warning, unless the data exceed the size limit. `folder`: used instead of `directory`.
    """
    limit = size_limit()
    data = _wrap(key, payload)
    if len(data) > limit:
        return False
    folder = folder or directory()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owner(folder, folder.stat())
        handle, scratch = tempfile.mkstemp(suffix=_SCRATCH, dir=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.replace(scratch, folder / f"{key}{_SUFFIX}")
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
        _make_room(folder, limit, len(data))
    except (OSError, RuntimeError) as error:
        _warn_once(
            f"compiled modules cannot be kept: {error}; {DIRECTORY} names another directory, {SWITCH}=0 "
            "switches the cache off"
        )
        return False
    return True


def drop(key: str, reason: str, folder: Path | None = None) -> None:
    """Remove an unusable entry, with a warning."""
    path = (folder or directory()) / f"{key}{_SUFFIX}"
    warnings.warn(
        f"the cache entry {path} is dropped, {reason}; the module is compiled again",
        CacheWarning,
        stacklevel=2,
    )
    with contextlib.suppress(OSError):  # it is overwritten, or stays unreadable
        path.unlink(missing_ok=True)


def info() -> CacheInfo:
    """Return the state of the cache."""
    found = _entries(directory())
    return CacheInfo(directory(), enabled(), len(found), sum(size for _, size, _ in found), size_limit())


def clear() -> int:
    """Remove all entries; return their number."""
    folder = directory()
    found = _entries(folder)
    for _, _, path in found:
        Path(path).unlink(missing_ok=True)
    if folder.is_dir():
        _remove_scratch(folder, 0.0)
    return len(found)


def _wrap(key: str, payload: bytes) -> bytes:
    body = key.encode() + b"\n" + payload
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unwrap(key: str, data: bytes) -> bytes | None:
    """Return the payload if it is complete and belongs to the key."""
    start = len(_MAGIC) + 32
    body, head = data[start:], key.encode() + b"\n"
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        return None
    return body[len(head) :] if body.startswith(head) else None


def _check_owner(path: Path, status: os.stat_result) -> None:
    """Raise RuntimeError if anyone but this user can write to the path: its contents are run as machine code."""
    if status.st_uid != os.geteuid():
        raise RuntimeError(f"{path} belongs to another user")
    if status.st_mode & _OTHERS_WRITE:
        raise RuntimeError(f"{path} can be written by others (chmod go-w makes it safe)")


def _entries(folder: Path) -> list[tuple[float, int, str]]:
    """Return time of last use, size and path of every entry, oldest first. (`Path` objects would be slow here.)"""
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as items:
        for item in items:
            with contextlib.suppress(FileNotFoundError):  # another process may remove it
                if item.name.endswith(_SUFFIX) and item.is_file(follow_symlinks=False):
                    status = item.stat()
                    found.append((status.st_mtime, status.st_size, item.path))
    return sorted(found)


def _make_room(folder: Path, limit: int, stored: int) -> None:
    """Keep to the size limit after storing `stored` bytes, without listing all entries each time."""
    left = _unseen.get((folder, limit), 0) - stored
    if left < 0:
        left = (limit - _evict(folder, limit)) // _SHARE
    _unseen[folder, limit] = left


def _evict(folder: Path, limit: int) -> int:
    """Remove the least recently used entries down to the limit, and stale temporary files.

    Return the number of bytes that remain.
    """
    found = _entries(folder)
    total = sum(size for _, size, _ in found)
    for _, size, path in found:
        if total <= limit:
            break
        Path(path).unlink(missing_ok=True)
        total -= size
    _remove_scratch(folder, _STALE_SECONDS)
    return total


def _remove_scratch(folder: Path, age: float) -> None:
    for path in folder.glob(f"*{_SCRATCH}"):
        with contextlib.suppress(FileNotFoundError):  # the writer may be done by now
            if time.time() - path.stat().st_mtime >= age:
                path.unlink()


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, CacheWarning, stacklevel=3)
