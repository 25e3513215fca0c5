"""Libraries, ``relax-compile`` and ``relax-run``: what they refuse, and what to do instead."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import relax_mlir as rx
import tvm_ffi
from advice_rows import Rows
from programs import register
from relax_mlir.error import RelaxError
from relax_mlir.export import Linker, export_library
from relax_mlir.runtime.executable import Executable
from relax_mlir.script import parse
from relax_mlir.tools import compile_command, compile_driver, run_command, run_driver

FOREIGN_TARGET = "cpu -mcpu=" + ("neoverse-n1" if platform.machine() == "x86_64" else "haswell")

MODEL = """
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

@I.ir_module
class Model:
    @R.function
    def scale(x: R.Tensor(("n", "m"), "float32"), f: R.Tensor(("n",), "float32")):
        return x * R.expand_dims(f, axis=1)
"""

ANY_RANK = """
@R.function
def main(x: R.Tensor(dtype="float32")):
    return R.call_pure_packed("advice.sum", x, out=R.Tensor((), "float32"))
"""


@register("advice.distinct")
def _distinct(x: Any) -> Any:
    return tvm_ffi.from_dlpack(np.unique(np.from_dlpack(x)))


@register("advice.seen")
def _seen(x: Any) -> None:
    assert np.from_dlpack(x).shape == (3,)


@register("advice.sum")
def _sum(x: Any) -> Any:
    return tvm_ffi.from_dlpack(np.array(np.from_dlpack(x).sum(), np.float32))


@functools.cache
def _folder() -> Path:
    """A Python file with a module, one with two modules, a library, bytecode, and arrays."""
    folder = Path(tempfile.mkdtemp(prefix="relax-mlir-advice-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "model.py").write_text(MODEL)
    (folder / "two.py").write_text(MODEL + "\nOther = Model.clone()\n")
    (folder / "any_rank.mlir").write_text(parse(ANY_RANK).asm())
    functions = textwrap.dedent(MODEL.partition("class Model:\n")[2])
    module = parse(functions + "\n" + functions.replace("def scale", "def again"))
    export_library(rx.build(module), folder / "model.so")
    rx.build(module, exec_mode="bytecode").save(folder / "model.vmexec")
    np.save(folder / "x.npy", np.ones((2, 3), np.float32))
    np.save(folder / "f.npy", np.array([1, 2], np.float32))
    np.save(folder / "any.npy", np.ones(4, np.float32))
    np.savez(folder / "both.npz", x=np.ones((2, 3), np.float32), f=np.array([1, 2], np.float32))
    return folder


def _main(body: str) -> Executable:
    lines = "\n    ".join(body.split("\n"))
    return rx.build(parse(f'@R.function\ndef main(x: R.Tensor(("n",), "float32")):\n    {lines}'))


def _exported(body: str, ending: str = "so") -> Path:
    return _main(body).export_library(_folder() / f"out.{ending}")


_WITH_A_TABLE = """
@R.function
def main(x: R.Tensor((1000,), "float32")):
    return x + constants["W"]
"""


def _beside() -> Path:
    table = np.arange(1000, dtype=np.float32)
    return rx.build(parse(_WITH_A_TABLE, constants={"W": table})).export_library(
        _folder() / "beside.so", weights="beside"
    )


def _without_weights() -> object:
    moved = Path(tempfile.mkdtemp(dir=_folder())) / "beside.so"
    shutil.copy(_beside(), moved)
    with _raised_as_error():
        return tvm_ffi.load_module(str(moved)).main(tvm_ffi.from_dlpack(np.zeros(1000, np.float32)))


def _levels() -> list[Executable]:
    module = parse('@R.function\ndef main(x: R.Tensor((3,), "float32")):\n    return x + 1.0')
    pairs = (("x86-64", True), ("x86-64-v2", False))
    return [rx.build(module, f"cpu -mcpu={name}", profile=records) for name, records in pairs]


def _without_kernels() -> rx.vm.Executable:
    builder = rx.vm.ExecBuilder()
    with builder.function("f", num_inputs=1):
        builder.emit_ret(builder.r(0))
    return builder.get()


@contextlib.contextmanager
def _raised_as_error() -> Iterator[None]:
    """Errors of a library are plain ones of the FFI."""
    try:
        yield
    except RuntimeError as error:
        raise RelaxError(str(error)) from None


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    with mock.patch.dict(os.environ, values):
        yield


def _linked(**environment: str) -> Path:
    with _environment(**environment):
        return _exported("return x + 1.0")


def _without_compilers() -> Path:
    executable = _main("return x + 1.0")
    with mock.patch.object(importlib.util, "find_spec", lambda name: None), _environment(PATH="", CC=""):
        return executable.export_library(_folder() / "out.so")


def _archived(path: str, ending: str) -> Path:
    compiler = Linker((shutil.which("cc") or "cc",))
    with _environment(PATH=path):
        return export_library(_main("return x + 1.0"), _folder() / f"tools.{ending}", compiler)


def _compiles(*arguments: str) -> Callable[[], object]:
    def run() -> object:
        with _within(_folder()):
            return compile_driver.compile_file(compile_command.parser().parse_args(arguments))

    return run


@contextlib.contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _runs(*arguments: str) -> Callable[[], object]:
    def run() -> object:
        with _within(_folder()):
            return run_driver.run_model(run_command.parser().parse_args(arguments))

    return run


def _without_matplotlib() -> object:
    with mock.patch.dict(sys.modules, {"matplotlib": None}):
        return _runs("model.so", "scale", "--symbols", "n=1,m=2", "--time", "0.001", "--plot", "p.svg")()


ROWS = {
    "unique": (
        lambda: _exported("return R.unique(x)"),
        r"relax\.unique gives a tensor whose size .*call a function of your own with call_pure_packed",
    ),
    "nonzero": (
        lambda: _exported("return R.nonzero(x)"),
        r"relax\.nonzero gives .*call a function of your own with call_pure_packed",
    ),
    "print": (
        lambda: _exported("R.print(x)\nreturn x + 1.0"),
        r"relax\.print writes to Python's standard output .*call a function of your own with call_packed",
    ),
    "a tensor of unknown rank": (
        lambda: _exported(
            'y = R.call_pure_packed("advice.distinct", x, out=R.Tensor(dtype="float32"))\nreturn R.exp(y)'
        ),
        "give it rank and dtype with match_shape first",
    ),
    "levels of two modules": (
        lambda: export_library([_main("return x + 1.0"), _main("return x + 2.0")], _folder() / "levels.so"),
        "give a library of its own to each module",
    ),
    "one target twice": (
        lambda: export_library([_main("return x + 1.0"), _main("return x + 1.0")], _folder() / "levels.so"),
        "two executables are for the target cpu.*: leave one out",
    ),
    "no weights": (_without_weights, "put the file that export_library has written beside the library"),
    "weights for bytecode": (
        _compiles("model.py", "-o", "made.vmexec", "--target", "cpu", "--target", "cpu -mcpu=x86-64"),
        "--target may be given several times for libraries only: give one",
    ),
    "records of one level": (
        lambda: export_library(_levels(), _folder() / "levels.so"),
        "build all with profile=True, or none",
    ),
    "records of bytecode": (
        _compiles("model.py", "--profile", "-o", "made.vmexec"),
        "--profile is for libraries of native code: leave it out",
    ),
    "records of another machine": (
        _compiles("model.py", "--profile", "--target", FOREIGN_TARGET, "-o", "made.so"),
        "leave it out, or compile for its architecture",
    ),
    "more threads than a library has": (
        _runs("model.so", "scale", "--input", "both.npz", "--threads", "9"),
        "give one of them, or compile it with --target 'cpu -num-threads=9'",
    ),
    "no records": (
        _runs("model.so", "scale", "--input", "both.npz", "--profile", "trace.json"),
        "compile it with relax-compile --profile",
    ),
    "bytecode without kernels": (
        lambda: _without_kernels().export_library(_folder() / "none.so"),
        "it has no kernels: save writes it",
    ),
    "a library without bytecode": (
        lambda: rx.vm.Executable.load(_folder() / "model.so"),
        r"tvm_ffi\.load_module loads it",
    ),
    "no compiler": (
        _without_compilers,
        r"install one, name it in the environment variable CC, or: pip install 'relax-mlir\[link\]'",
    ),
    "a compiler that is none": (lambda: _linked(CC="no-such-compiler"), "unset it, or name a C compiler"),
    "no tools for object files": (
        lambda: _archived("", "a"),
        r"there is no ar here .*a shared library \(\.so\) needs none",
    ),
    "no output": (_compiles("model.py"), "give a file with -o that ends with .so"),
    "a form and a mode": (
        _compiles("model.py", "--emit=asm", "--exec-mode=native"),
        "the forms of --emit say what they are",
    ),
    "two modules": (_compiles("two.py", "-o", "made.so"), "say which: two.py:Model, two.py:Other"),
    "ranges": (_runs("model.so", "scale", "--random", "n=1:3,m=2"), "ranges are for --symbols"),
    "no matplotlib": (_without_matplotlib, r"pip install 'relax-mlir\[plot\]'"),
    "random arguments of bytecode": (
        _runs("model.vmexec", "scale", "--random", "n=2,m=3"),
        "give each array with --input",
    ),
    "no arguments": (_runs("model.so", "scale"), r"give --input x=FILE\.npy, or --random"),
    "a symbol without a value": (
        _runs("model.so", "scale", "--input", "f=f.npy", "--random", "n=2"),
        "give --random m=7",
    ),
    "a random tensor of any rank": (
        _runs("any_rank.mlir", "main", "--random", "n=2"),
        "give its value with --input",
    ),
    "arrays with names": (_runs("model.so", "scale", "--input", "x=both.npz"), "give it without 'x'"),
    "several functions": (
        _runs("model.so", "--input", "both.npz"),
        "say which: scale, again|say which: again, scale",
    ),
}


TABLE = Rows(ROWS)
