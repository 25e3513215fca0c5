"""Running out of memory during compilation is an OutOfMemoryError, and the next build works."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import warm_process
from relax_mlir import memory_left, op
from relax_mlir.error import OutOfMemoryError
from relax_mlir.memory_left import MB
from relax_mlir.runtime import compile_units

PROGRAM = str(Path(__file__).parents[1] / "support" / "limited_memory.py")
INFINITE = resource.RLIM_INFINITY


def module(scale: float) -> rx.IRModule:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(op.multiply(x, op.const(scale, "float32")))
    return builder.get()


def check(executable: rx.Executable, scale: float) -> None:
    given = np.arange(24, dtype="float32").reshape(3, 8)
    np.testing.assert_array_equal(np.from_dlpack(executable["main"](given)), given * np.float32(scale))


def require_outcomes(text: str, works: list[str]) -> None:
    """One line for each work item: done, or an OutOfMemoryError; all are done from 350 MB."""
    lines = text.splitlines()
    assert [line.split()[0] for line in lines] == works, text
    for line in lines:
        work, outcome = line.split(" ", 1)
        assert outcome == "done" or outcome.startswith("OutOfMemoryError: "), line
        assert outcome == "done" or int(work.partition(":")[2]) < 350, line


def test_little_address_space_is_an_error_and_the_next_build_works() -> None:
    works = ["native:0", "bytecode:60", "unknown:110"]
    done = warm_process.run([PROGRAM, "2", *works], timeout=400)
    assert done.returncode == 0, done.stderr.decode()
    require_outcomes(done.stdout.decode(), works)


@pytest.mark.slow
@pytest.mark.parametrize("cold", [False, True] if sweep.ALL else [False])
@pytest.mark.parametrize("threads", [1, 2, 5] if sweep.ALL else [2])
@pytest.mark.parametrize(
    "work",
    ["native", "bytecode", "builder", "text", "passes", "unknown", "export"] if sweep.ALL else ["native"],
)
def test_all_sizes_of_address_space(work: str, threads: int, cold: bool) -> None:
    works = [f"{work}:{extra}" for extra in range(0, 401, 25)]
    arguments = [str(threads), *(["--cold"] if cold else []), *works]
    done = subprocess.run(
        [sys.executable, PROGRAM, *arguments], capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stderr
    require_outcomes(done.stdout, works)


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A function that sets the number of MB left."""

    def limit(megabytes: int) -> None:
        monkeypatch.setattr(memory_left, "memory_left", lambda: (megabytes * MB, "a test"))

    return limit


def test_what_is_left_is_what_the_limits_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_AS: INFINITE, resource.RLIMIT_DATA: INFINITE}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], INFINITE))
    assert memory_left.memory_left() is None
    limits[resource.RLIMIT_AS] = 1 << 50
    space, limit = memory_left.memory_left() or (0, "")
    assert (1 << 50) - (1 << 44) < space < 1 << 50
    assert "RLIMIT_AS" in limit
    limits[resource.RLIMIT_DATA] = 1 << 49
    data, limit = memory_left.memory_left() or (0, "")
    assert data < 1 << 49
    assert "RLIMIT_DATA" in limit
    monkeypatch.setattr(memory_left, "_is_committed", lambda: True)
    committed, limit = memory_left.memory_left() or (0, "")
    assert committed < data
    assert "overcommit" in limit


def test_control_groups(tmp_path: Path) -> None:
    assert memory_left.group_left(tmp_path) is None
    for name, text in (("max", "1000000"), ("current", "900000"), ("swap.max", "0")):
        (tmp_path / f"memory.{name}").write_text(f"{text}\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 50000\nactive_file 7\n")
    assert memory_left.group_left(tmp_path) == (150_000, f"the control group, {tmp_path}/memory.max")
    (tmp_path / "memory.swap.max").write_text("max\n")
    assert memory_left.group_left(tmp_path) is None
    (tmp_path / "memory.swap.max").write_text("0\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_left.group_left(tmp_path) is None


def test_builds_at_a_time_leave_memory_to_each_other(left: Callable[[int], None]) -> None:
    mod = module(1.0)
    left(150)
    with memory_left.promised("build", mod.mlir):
        with (
            pytest.raises(OutOfMemoryError, match=r"^other: 19\d MB of memory may be needed, 150 MB are left .*a test"),
            memory_left.promised("other", mod.mlir),
        ):
            pass
        memory_left.require("a step", memory_left.STEP)
    with memory_left.promised("other", mod.mlir):
        pass


def test_threads_get_memory_of_their_own(left: Callable[[int], None]) -> None:
    for megabytes, threads in ((0, 0), (100, 0), (96 + 144, 1), (96 + 2 * 144 + 1, 2), (9999, 7)):
        left(megabytes)
        assert memory_left.threads_for(7) == threads
    left(0)
    assert memory_left.threads_for(0) == 0


def test_everything_asks_first(left: Callable[[int], None]) -> None:
    mod, text = module(2.0), str(module(2.0))
    left(1)
    for work in (
        rx.BlockBuilder,
        lambda: rx.IRModule.parse(text),
        lambda: rx.build(mod, cache=False),
        lambda: rx.build(mod, exec_mode="bytecode", cache=False),
        lambda: rx.transform.Normalize()(mod),
    ):
        with pytest.raises(OutOfMemoryError, match="MB of memory may be needed, 1 MB are left"):
            work()
    left(500)
    check(rx.build(mod, cache=False), 2.0)


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_threads_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setenv(compile_units.THREADS, "4")

    def start(thread: threading.Thread) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        check(rx.build(module(3.0), cache=False), 3.0)
    check(rx.build(module(4.0), cache=False), 4.0)


def test_one_thread_of_several_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compile_units.THREADS, "4")
    started: list[threading.Thread] = []
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    check(rx.build(module(5.0), cache=False), 5.0)
    assert len(started) == 1


def test_errors_of_python_get_the_name_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (MemoryError(), MemoryError("array"), OSError(errno.ENOMEM, "Cannot allocate memory")):
        with pytest.raises(OutOfMemoryError, match=r"^here: no memory is left"), memory_left.reported("here"):
            raise error
    with pytest.raises(FileNotFoundError), memory_left.reported("here"):
        raise FileNotFoundError
    with pytest.raises(OutOfMemoryError, match=r"^there"), memory_left.reported("here"):
        raise OutOfMemoryError("there")

    attempts: list[object] = []

    def fail(*arguments: object) -> None:
        attempts.append(arguments)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(compile_units, "lowered_part", fail)
        patch.setenv(compile_units.THREADS, "1")
        with pytest.raises(OutOfMemoryError, match=r"^build: no memory is left"):
            rx.build(module(6.5), cache=False)
    assert len(attempts) <= 3  # no second attempt with verification
    check(rx.build(module(6.5), cache=False), 6.5)
