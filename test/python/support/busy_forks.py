"""``python busy_forks.py COUNT`` forks COUNT times while other threads work; each child builds a module and runs it."""

from __future__ import annotations

import faulthandler
import itertools
import os
import sys
import tempfile
import threading
import time

import numpy as np
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.target import Target

SECONDS = 100
"""Number of seconds after which a child counts as hung."""

_numbers = itertools.count(2)


def module(scale: float, columns: int) -> rx.IRModule:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", columns), "float32"))
    with builder.function("main", [x]):
        weights = op.const(np.full((columns, 40), scale, "float32"))
        builder.emit_func_output(op.nn.softmax(op.matmul(op.tanh(x), weights)))
    return builder.get()


def build_and_run(is_bytecode: bool, cache: bool) -> None:
    """A module that has not been built before, with a known result."""
    number = next(_numbers)
    mod, columns = module(number + os.getpid() * 1e-7, 8 + number % 50), 8 + number % 50
    if is_bytecode:
        main = rx.VirtualMachine(rx.build(mod, exec_mode="bytecode", cache=cache))["main"]
    else:
        main = rx.build(mod, Target(num_threads=2), cache=cache)["main"]
    found = np.from_dlpack(main(np.ones((300, columns), "float32")))
    assert np.allclose(found, 1 / 40, atol=1e-4)


def keep_building(is_bytecode: bool) -> None:
    while True:
        build_and_run(is_bytecode, cache=True)


def keep_running() -> None:
    main = rx.build(module(3.0, 64), Target(num_threads=2))["main"]
    data = np.ones((4000, 64), "float32")
    while True:
        main(data)


def keep_compiling_ops() -> None:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(dtype="float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(op.exp(op.tanh(x)))
    main = rx.build(builder.get())["main"]
    for number in itertools.count(1):
        main(np.ones((1,) * (number % 5) + (number % 7,), "float32"))


def main(count: str) -> int:
    works = (lambda: keep_building(False), lambda: keep_building(True), keep_running, keep_compiling_ops)
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    failed = 0
    for number in range(int(count)):
        time.sleep(0.03)
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            build_and_run(number % 3 == 0, cache=number % 2 == 0)
            os._exit(0)
        failed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    if not all(thread.is_alive() for thread in threads):
        return 3
    print(f"{count} children, {failed} of them failed", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # others write to it
        os.environ["RELAX_MLIR_CACHE_DIR"] = folder
        code = main(*sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # other threads are still running
