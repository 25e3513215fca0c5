"""Work of the compiler in children that have little address space left.

``python limited_memory.py THREADS [--cold] WORK:MB ...`` forks for each pair: the child limits its address space to MB
more than it uses, runs the work item (one of `WORKS`), lifts the limit and runs it again, which must give the right
numbers. A line for each has ``done`` or the error of the first attempt, or the exit code of a crashed child. With
--cold, nothing has been compiled before.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op
from relax_mlir.transform import FoldConstant, FuseOps, LegalizeOps, Normalize, Sequential

SECONDS = 150
"""Number of seconds after which a child counts as hung."""
ROWS, COLUMNS = 3, 9


def module(scale: float) -> rx.IRModule:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", COLUMNS), "float32"))
    with builder.function("main", [x]):
        weights = op.const(np.full((COLUMNS, 70), scale, "float32"))
        builder.emit_func_output(op.nn.softmax(op.matmul(op.tanh(x), weights)))
    return builder.get()


def check(main: Callable[[np.ndarray], object]) -> None:
    found = np.from_dlpack(main(np.ones((ROWS, COLUMNS), "float32")))
    assert np.allclose(found, np.full((ROWS, 70), 1 / 70, "float32"), atol=1e-6)


def native() -> Callable[[], None]:
    mod = module(2.0)
    return lambda: check(rx.build(mod)["main"])


def bytecode() -> Callable[[], None]:
    mod = module(3.0)
    return lambda: check(rx.VirtualMachine(rx.build(mod, exec_mode="bytecode"))["main"])


def builder() -> Callable[[], None]:
    return lambda: check(rx.build(module(4.0))["main"])


def text() -> Callable[[], None]:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 70), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(op.nn.softmax(op.tanh(x)))
    source = str(builder.get())

    def work() -> None:
        main = rx.build(rx.IRModule.parse(source))["main"]
        check(lambda x: main(np.ones((len(x), 70), "float32")))

    return work


def passes() -> Callable[[], None]:
    mod = module(6.0)
    steps = Sequential([Normalize(), FoldConstant(), LegalizeOps(), FuseOps()])

    def work() -> None:
        changed = mod.clone()
        steps(changed)
        check(rx.build(changed)["main"])

    return work


def unknown() -> Callable[[], None]:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(dtype="float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(op.exp(x))
    main = rx.build(builder.get())["main"]
    given = np.ones((2, 3), "float32")

    def work() -> None:
        assert np.allclose(np.from_dlpack(main(given)), np.exp(given))

    return work


def export() -> Callable[[], None]:
    executable = rx.build(module(7.0))
    folder = tempfile.mkdtemp(dir=FOLDER)

    def work() -> None:
        path = executable.export_library(Path(folder, "library.so"))
        check(tvm_ffi.load_module(str(path))["main"])

    return work


WORKS = {each.__name__: each for each in (native, bytecode, builder, text, passes, unknown, export)}
FOLDER = ""


def size() -> int:
    """The address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def attempt(work: str, extra: int) -> str:
    """The outcome of the work item in this process."""
    do = WORKS[work]()
    resource.setrlimit(resource.RLIMIT_AS, (size() + (extra << 20), resource.RLIM_INFINITY))
    try:
        do()
        outcome = "done"
    except rx.error.OutOfMemoryError as error:
        outcome = f"OutOfMemoryError: {error}"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    do()
    return outcome


def main(threads: str, *arguments: str) -> None:
    global FOLDER
    os.environ["RELAX_MLIR_CACHE"], os.environ["RELAX_MLIR_COMPILE_THREADS"] = "0", threads
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    mod = module(1.0)
    if "--cold" not in arguments:
        check(rx.build(mod)["main"])
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = folder
        for argument in arguments:
            if argument == "--cold":
                continue
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                faulthandler.dump_traceback_later(SECONDS, exit=True)
                work, _, extra = argument.partition(":")
                print(f"{argument} {attempt(work, int(extra))}", flush=True)
                os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code:
                print(f"{argument} exit code {code}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
