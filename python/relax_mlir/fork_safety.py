"""The locks of this process, and their handling across a fork.

The child of a fork has one thread. A lock that another thread held stays locked in it, and the state that this thread
was changing stays incomplete. So a fork waits here, in the thread that calls it, until no other thread

- imports a module of this package (the import system has a lock per module),
- holds one of the locks created by `process_lock`,
- is in a call of MLIR or LLVM without the GIL (`native_call`), which have locks that Python cannot reach.

New locks in the child would not help: LLVM's cannot be replaced, and the state that a lock guards would have to be
replaced, too. With `after_fork_in_child`, modules drop state that depended on threads that no longer exist.

The locks are taken in a fixed order, the outermost first, so that a thread that holds one can still get those that it
needs to finish. A fork waits for microseconds, or for the end of a compilation: of a compilation unit,
or of code that is compiled once per process. No lock is held while user code runs.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - it has locks for a fork to take; it has to be known before one begins
import contextlib
import faulthandler
import importlib
import os
import signal
import sys
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from enum import IntEnum, auto
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar, overload

PACKAGES = frozenset({__name__.partition(".")[0], "numpy", "ml_dtypes", "tvm_ffi", "torch_mlir"})
"""Packages whose imports a fork waits for: a child waits forever for a module that another thread was importing."""


class Lock(Protocol):
    """A reentrant lock."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Order(IntEnum):
    """The order of the locks: a thread that holds one takes only later ones."""

    MEASURING = auto()
    TORCH_KERNELS = auto()
    LIBRARIES = auto()
    PROFILES = auto()
    PROCESS_CODE = auto()
    MADE_STEPS = auto()
    CONTEXTS = auto()
    DIALECT = auto()
    SPARE_CONTEXT = auto()
    KEPT_CODE = auto()
    SWITCH_INTERVAL = auto()
    MEMORY = auto()
    STANDARD_ERROR = auto()
    TURNSTILE = auto()
    NATIVE_CALLS = auto()


_locks: list[tuple[Order, Lock]] = []
_before: list[Callable[[], None]] = []
_in_child: list[Callable[[], None]] = []
_taken: list[Lock] = []
"""The locks that the forking thread holds."""


def process_lock(order: Order) -> Lock:
    """A new lock that lives as long as the process; a fork acquires it, and releases it in parent and child."""
    lock: Lock = threading.RLock()
    _locks.append((order, lock))
    return lock


def before_fork(action: Callable[[], None]) -> None:
    """Register `action` to be called before a fork, while no lock is held."""
    _before.append(action)


def after_fork_in_child(action: Callable[[], None]) -> None:
    """Register `action` to be called in the child of a fork, whose only thread holds no locks but its own."""
    _in_child.append(action)


_renewed: weakref.WeakSet[RenewedLock] = weakref.WeakSet()


class RenewedLock:
    """A lock of an object, under which user code may run or be compiled: a fork does not wait for it.

    In the child it is a new lock. The state that it guards must be consistent at any time; the lock only keeps threads
    from using the object concurrently.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _renewed.add(self)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock."""
        with self._lock:
            yield

    def renew(self) -> None:
        """Replace the lock by a new one, even if a thread holds it."""
        self._lock = threading.RLock()


class SharedChange:
    """A change of the process that lasts while threads are in its context: the last one to leave undoes it.

    `make` makes the change, and returns the function that undoes it.
    """

    def __init__(self, order: Order, make: Callable[[], Callable[[], None]]) -> None:
        self._lock, self._make = process_lock(order), make
        self._users: Counter[int] = Counter()
        """The number of contexts that each thread is in."""
        self._undo: Callable[[], None] | None = None
        after_fork_in_child(self._forget_threads)

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """The context."""
        user = threading.get_ident()
        with self._lock:
            if self._undo is None:
                self._undo = self._make()
            self._users[user] += 1
        try:
            yield
        finally:
            with self._lock:
                self._leave(user, 1)

    def _leave(self, user: int, count: int) -> None:
        self._users[user] -= count
        self._users += Counter()  # drops zeros
        if not self._users and self._undo is not None:
            undo, self._undo = self._undo, None
            undo()

    def _forget_threads(self) -> None:
        """In the child of a fork: one thread is left."""
        for user, count in list(self._users.items()):
            if user != threading.get_ident():
                self._leave(user, count)


_turnstile = process_lock(Order.TURNSTILE)
"""Held by the thread that forks: no native call begins."""
_counting = process_lock(Order.NATIVE_CALLS)
_idle = threading.Condition(_counting)  # type: ignore[arg-type]  # the protocol says less than RLock
_running = 0
"""Number of threads in native calls."""


class _Thread(threading.local):
    calls = 0
    """Depth of native calls of this thread: a call may call back."""


_thread = _Thread()


class _NativeCall:
    def __enter__(self) -> None:
        global _running
        if not _thread.calls:
            with _turnstile, _counting:
                _running += 1
        _thread.calls += 1

    def __exit__(self, *exception: object) -> None:
        global _running
        _thread.calls -= 1
        if not _thread.calls:
            with _counting:
                _running -= 1
                _idle.notify_all()


native_call = _NativeCall()
"""The context of a call of MLIR or LLVM that releases the GIL."""


def _take_locks() -> None:
    """Acquire all locks, when no other thread is in a native call or an import."""
    for action in _before:
        action()
    while True:
        _wait_for_imports()
        locks = [lock for _, lock in sorted(_locks, key=lambda each: each[0])]
        held: list[Lock] = []
        try:
            for lock in locks:
                lock.acquire()
                held.append(lock)
            while _running > (_thread.calls > 0):
                _idle.wait()
            if not _imports() and len(_locks) == len(locks):
                _taken[:], held = held, []
                return
        finally:  # Ctrl-C may end the wait: Python reports it, and forks
            for lock in reversed(held):
                lock.release()


def _wait_for_imports() -> None:
    for name in _imports():
        with contextlib.suppress(Exception):  # the thread that imports it gets the error
            importlib.import_module(name)


def _imports() -> list[str]:
    """The modules of `PACKAGES` that other threads are importing."""
    known: dict[str, Callable[[], Any]] = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
    here = threading.get_ident()
    return [
        name
        for name, lock in list(known.items())
        if name.partition(".")[0] in PACKAGES and getattr(lock(), "owner", None) not in (None, here)
    ]


def _give_locks_back() -> None:
    locks = list(_taken)
    _taken.clear()
    for lock in reversed(locks):
        lock.release()


def _begin_child() -> None:
    global _running
    _running = int(_thread.calls > 0)
    _give_locks_back()
    for lock in list(_renewed):
        lock.renew()
    for action in _in_child:
        action()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_locks, after_in_parent=_give_locks_back, after_in_child=_begin_child)


# Properties that are computed once, without a lock.
#
# Up to Python 3.11, `functools.cached_property` holds a lock of the class while it computes. Another thread that
# computes the same property of another object waits, and the child of a fork during the computation waits forever.

ValueT = TypeVar("ValueT")


class cached_property(Generic[ValueT]):
    """A property whose value is stored in the object's dictionary; two threads may compute it concurrently."""

    def __init__(self, function: Callable[[Any], ValueT]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[ValueT]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> ValueT: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[ValueT] | ValueT:
        if instance is None:
            return self
        value: ValueT = instance.__dict__.setdefault(self._name, self._function(instance))
        return value


# Run an action in a child process first: MLIR's C++ can crash on bad text, and must not crash the user's process.


def crash_of(action: Callable[[], object]) -> str | None:
    """The name of the signal that ends a child process that runs `action`; None if it exits normally.

    The result, exceptions and output of `action` are lost. On systems without fork, nothing is run.
    """
    if not hasattr(os, "fork"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of other libraries: the child only runs `action`
        child = os.fork()
    if child == 0:
        faulthandler.disable()  # a crash is an expected result
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return signal.Signals(-code).name if code < 0 else None
