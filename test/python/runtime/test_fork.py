"""Children of a fork, in which other threads no longer exist: none waits for a lock of such a thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import warm_process
from relax_mlir import capi, fork_safety, op
from relax_mlir.capi import spare_context
from relax_mlir.lowering.base.support import early_support
from relax_mlir.runtime import build_setup, compile_units, memory
from relax_mlir.runtime.machine_code import shared_libraries

SECONDS = 60


def product() -> rx.IRModule:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(op.matmul(x, op.const(np.full((8, 3), 2.0, "float32"))))
    return builder.get()


def in_child(action: Callable[[], object]) -> int:
    """The exit code of a child of a fork that ends after `action`: 0 if it returns True, 99 if it hangs."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            alarm = threading.Timer(SECONDS, os._exit, (99,))
            alarm.daemon = True
            alarm.start()
            code = 0 if action() is True else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def meanwhile(work: Callable[[threading.Event, threading.Event], None]) -> Iterator[threading.Event]:
    """Another thread that runs `work`, which sets the first event when it has begun and waits for the second one."""
    begun, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(begun, end))
    thread.start()
    assert begun.wait(SECONDS)
    try:
        yield end
    finally:
        end.set()
        thread.join()


def held(lock: fork_safety.Lock) -> Callable[[threading.Event, threading.Event], None]:
    def work(begun: threading.Event, end: threading.Event) -> None:
        with lock:
            begun.set()
            end.wait(0.05)

    return work


def test_a_fork_waits_for_each_lock_of_the_process() -> None:
    """In the child all locks are free, and other threads can take them."""
    rx.build(product())
    locks = [lock for _, lock in fork_safety._locks]
    assert len(locks) >= 12
    for lock in locks:
        with meanwhile(held(lock)):
            assert in_child(lambda: free(locks)) == 0
        assert free(locks)


def free(locks: list[fork_safety.Lock]) -> bool:
    """True if another thread could take each of the locks."""
    found: list[bool] = []

    def take() -> None:
        for lock in locks:
            found.append(lock.acquire(blocking=False))
            if found[-1]:
                lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return all(found)


def test_a_fork_waits_for_calls_without_the_gil() -> None:
    ended: list[bool] = []

    def work(begun: threading.Event, end: threading.Event) -> None:
        with fork_safety.native_call:
            begun.set()
            end.wait(0.1)
            ended.append(True)

    with meanwhile(work):
        assert in_child(lambda: bool(ended) and fork_safety._running == 0) == 0
    with fork_safety.native_call:  # the forking thread may be in a native call, also in the child
        assert in_child(lambda: fork_safety._running == 1) == 0
    assert fork_safety._running == 0


def test_all_calls_without_the_gil_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    library = capi.FreeLibrary(capi.library_path())
    for name in capi._SIGNATURES:
        inner = getattr(library, name).__closure__[0].cell_contents
        assert inner.__name__ == name
        call = capi._native(lambda *_: seen.append(fork_safety._running))
        call()
    assert seen == [1] * len(capi._SIGNATURES)


def test_a_fork_that_is_interrupted_leaves_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []

    def imports() -> list[str]:
        calls.append(None)
        if len(calls) == 2:  # all locks are held
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(fork_safety, "_imports", imports)
    with pytest.raises(KeyboardInterrupt):
        fork_safety._take_locks()
    assert free([lock for _, lock in fork_safety._locks])


@pytest.mark.parametrize("package", [rx, np], ids=["relax_mlir", "numpy"])
def test_a_fork_waits_for_imports(package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy imports parts of itself when they are first used."""
    (tmp_path / "slow_module_of_a_test.py").write_text("import time\ntime.sleep(0.3)\nvalue = 7\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    name = f"{package.__name__}.slow_module_of_a_test"

    def work(begun: threading.Event, end: threading.Event) -> None:
        begun.set()
        __import__(name)

    try:
        with meanwhile(work):
            while name not in sys.modules:
                pass
            assert in_child(lambda: __import__(name) is package and sys.modules[name].value == 7) == 0
    finally:
        sys.modules.pop(name, None)
        vars(package).pop("slow_module_of_a_test", None)


def test_locks_of_objects_are_new_in_the_child() -> None:
    lock = fork_safety.RenewedLock()

    def work(begun: threading.Event, end: threading.Event) -> None:
        with lock.held():
            begun.set()
            end.wait(SECONDS)

    def take() -> bool:
        with lock.held():
            return True

    with meanwhile(work):
        assert in_child(take) == 0
    with lock.held():
        assert in_child(take) == 0  # the forking thread holds it: also in the child


def test_what_threads_have_begun_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build continues in the child, without the threads of its pool, and with all of its units."""
    monkeypatch.setenv(compile_units.THREADS, "3")

    def is_complete() -> bool:
        (code,) = compiler.objects()
        return compiler._pool is None and code.startswith(b"\x7fELF")

    with compile_units.PartCompiler(shared_libraries(), 2, False, False) as compiler:
        compiler.add([early_support()])
        assert in_child(is_complete) == 0
        assert compiler.objects()[0].startswith(b"\x7fELF")
        assert compiler._pool is not None


def test_the_pool_of_memory_is_usable_in_the_child() -> None:
    main = rx.build(product())["main"]
    given = np.ones((4, 8), "float32")
    expected = np.array(np.from_dlpack(main(given)))
    state = memory._state()
    state.lock = 1  # simulates a thread that is about to change the lists
    try:
        assert (
            in_child(
                lambda: (
                    state.lock == 0
                    and state.kept_blocks == 0
                    and all(np.array_equal(np.from_dlpack(main(given)), expected) for _ in range(3))
                    and state.kept_blocks > 0
                )
            )
            == 0
        )
    finally:
        state.lock = 0


def test_the_switch_interval_is_that_of_the_thread_that_forks() -> None:
    before = sys.getswitchinterval()

    def work(begun: threading.Event, end: threading.Event) -> None:
        with build_setup.short_switch_interval():
            begun.set()
            end.wait(SECONDS)

    with meanwhile(work):
        assert sys.getswitchinterval() < before
        assert in_child(lambda: sys.getswitchinterval() == pytest.approx(before)) == 0
        with build_setup.short_switch_interval():
            assert in_child(lambda: sys.getswitchinterval() < before) == 0
    assert sys.getswitchinterval() == pytest.approx(before)


def test_contexts_that_others_use_are_left_to_them() -> None:
    assert in_child(lambda: spare_context() is not None and bool(rx.BlockBuilder())) == 0


PROGRAM = str(Path(__file__).parents[1] / "support" / "busy_forks.py")


def test_children_build_while_other_threads_work() -> None:
    """Others build natively and to bytecode, run on several threads, compile ops at run time, and write the cache."""
    done = warm_process.run([PROGRAM, "4"], timeout=300)
    assert (done.returncode, done.stdout) == (0, b"4 children, 0 of them failed\n"), done.stderr.decode()


@pytest.mark.slow
def test_many_children_build_while_other_threads_work() -> None:
    count = 60 if sweep.ALL else 12
    done = subprocess.run([sys.executable, PROGRAM, str(count)], capture_output=True, timeout=1800, check=False)
    assert (done.returncode, done.stdout) == (0, b"%d children, 0 of them failed\n" % count), done.stderr.decode()
