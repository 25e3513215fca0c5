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
from advice_rows import Row, Rows, same
from programs import register
from relax_mlir.error import RelaxError
from relax_mlir.export import Linker, export_library, inspect_library
from relax_mlir.runtime.executable import Executable
from relax_mlir.script import parse
from relax_mlir.tools import compile_command, compile_driver, run_command, run_driver

X = np.array([3, 1, 3], np.float32)
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


def _gives(body: str, expected: Any) -> Callable[[], None]:
    """Assert that the library of a function with this body gives the expected result."""

    def follow() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = _main(body).export_library(Path(folder) / "right.so")
            same(tvm_ffi.load_module(str(path)).main(tvm_ffi.from_dlpack(X)), expected)

    return follow


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


def _with_weights() -> None:
    library = tvm_ffi.load_module(str(_beside()))
    same(library.main(tvm_ffi.from_dlpack(np.zeros(1000, np.float32))), np.arange(1000, dtype=np.float32))


def _levels(profile: bool, other: bool) -> list[Executable]:
    module = parse('@R.function\ndef main(x: R.Tensor((3,), "float32")):\n    return x + 1.0')
    pairs = (("x86-64", profile), ("x86-64-v2", other))
    return [rx.build(module, f"cpu -mcpu={name}", profile=records) for name, records in pairs]


def _profiled() -> None:
    _compiles("model.py", "--profile", "-o", "records.so")()
    _runs("records.so", "scale", "--input", "both.npz", "--profile", "trace.json")()
    assert "traceEvents" in (_folder() / "trace.json").read_text()


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


def _result(*arguments: str, expected: Any = None) -> Callable[[], None]:
    """Assert that a run writes this result: by default, the rows of ones times 1 and 2."""

    def follow() -> None:
        assert _runs(*arguments, "-o", "out.npz")() == 0
        want = np.array([[1] * 3, [2] * 3], np.float32) if expected is None else expected
        same(np.load(_folder() / "out.npz")["result"], want)

    return follow


def _compiled(*arguments: str) -> Callable[[], None]:
    def follow() -> None:
        _compiles(*arguments, "-o", "made.so")()
        assert set(inspect_library(_folder() / "made.so").facts["functions"]) == {"scale"}

    return follow


def _without_matplotlib() -> object:
    with mock.patch.dict(sys.modules, {"matplotlib": None}):
        return _runs("model.so", "scale", "--symbols", "n=1,m=2", "--time", "0.001", "--plot", "p.svg")()


def _plots() -> None:
    _runs("model.so", "scale", "--symbols", "n=1:2,m=2", "--time", "0.001", "--plot", "p.svg")()
    assert "<svg" in (_folder() / "p.svg").read_text()


def _zig_links() -> None:
    """Zig's compiler is searched in the package that the extra installs."""
    found = importlib.util.find_spec("json")
    with _environment(PATH=""), mock.patch.object(importlib.util, "find_spec", lambda name: found):
        assert Linker.find().command == (sys.executable, "-m", "ziglang", "cc")


ROWS = {
    "unique": Row(
        lambda: _exported("return R.unique(x)"),
        r"relax\.unique gives a tensor whose size .*call a function of your own with call_pure_packed",
        _gives(
            'return R.call_pure_packed("advice.distinct", x, out=R.Tensor(ndim=1, dtype="float32"))',
            np.unique(X),
        ),
    ),
    "nonzero": Row(
        lambda: _exported("return R.nonzero(x)"),
        r"relax\.nonzero gives .*call a function of your own with call_pure_packed",
        _gives(
            'return R.call_pure_packed("advice.distinct", x, out=R.Tensor(ndim=1, dtype="float32"))',
            np.unique(X),
        ),
    ),
    "print": Row(
        lambda: _exported("R.print(x)\nreturn x + 1.0"),
        r"relax\.print writes to Python's standard output .*call a function of your own with call_packed",
        _gives('R.call_packed("advice.seen", x)\nreturn x + 1.0', X + 1),
    ),
    "a tensor of unknown rank": Row(
        lambda: _exported(
            'y = R.call_pure_packed("advice.distinct", x, out=R.Tensor(dtype="float32"))\nreturn R.exp(y)'
        ),
        "give it rank and dtype with match_shape first",
        _gives(
            'y = R.call_pure_packed("advice.distinct", x, out=R.Tensor(dtype="float32"))\n'
            'z = R.match_shape(y, ("k",))\nreturn R.exp(z)',
            np.exp(np.unique(X)),
        ),
    ),
    "levels of two modules": Row(
        lambda: export_library([_main("return x + 1.0"), _main("return x + 2.0")], _folder() / "levels.so"),
        "give a library of its own to each module",
        lambda: (_exported("return x + 1.0"), _exported("return x + 2.0"), None)[-1],
    ),
    "one target twice": Row(
        lambda: export_library([_main("return x + 1.0"), _main("return x + 1.0")], _folder() / "levels.so"),
        "two executables are for the target cpu.*: leave one out",
        lambda: (_exported("return x + 1.0"), None)[-1],
    ),
    "no weights": Row(
        _without_weights,
        "put the file that export_library has written beside the library",
        _with_weights,
    ),
    "weights for bytecode": Row(
        _compiles("model.py", "-o", "made.vmexec", "--target", "cpu", "--target", "cpu -mcpu=x86-64"),
        "--target may be given several times for libraries only: give one",
        lambda: (_compiles("model.py", "-o", "made.vmexec", "--target", "cpu")(), None)[-1],
    ),
    "records of one level": Row(
        lambda: export_library(_levels(profile=True, other=False), _folder() / "levels.so"),
        "build all with profile=True, or none",
        lambda: (
            export_library(_levels(profile=True, other=True), _folder() / "levels.so"),
            export_library(_levels(profile=False, other=False), _folder() / "levels.so"),
            None,
        )[-1],
    ),
    "records of bytecode": Row(
        _compiles("model.py", "--profile", "-o", "made.vmexec"),
        "--profile is for libraries of native code: leave it out",
        lambda: (_compiles("model.py", "-o", "made.vmexec")(), None)[-1],
    ),
    "records of another machine": Row(
        _compiles("model.py", "--profile", "--target", FOREIGN_TARGET, "-o", "made.so"),
        "leave it out, or compile for its architecture",
        lambda: (_compiles("model.py", "--profile", "-o", "made.so")(), None)[-1],
    ),
    "more threads than a library has": Row(
        _runs("model.so", "scale", "--input", "both.npz", "--threads", "9"),
        "give one of them, or compile it with --target 'cpu -num-threads=9'",
        lambda: (
            _compiles("model.py", "--target", "cpu -num-threads=9", "-o", "nine.so")(),
            _result("nine.so", "scale", "--input", "both.npz", "--threads", "9")(),
            _result("model.so", "scale", "--input", "both.npz", "--threads", "1")(),
        )[-1],
    ),
    "no records": Row(
        _runs("model.so", "scale", "--input", "both.npz", "--profile", "trace.json"),
        "compile it with relax-compile --profile",
        _profiled,
    ),
    "bytecode without kernels": Row(
        lambda: _without_kernels().export_library(_folder() / "none.so"),
        "it has no kernels: save writes it",
        lambda: _without_kernels().save(_folder() / "none.vmexec"),
    ),
    "a library without bytecode": Row(
        lambda: rx.vm.Executable.load(_folder() / "model.so"),
        r"tvm_ffi\.load_module loads it",
        lambda: (tvm_ffi.load_module(str(_folder() / "model.so")).get_function("scale"), None)[-1],
    ),
    "no compiler": Row(
        _without_compilers,
        r"install one, name it in the environment variable CC, or: pip install 'relax-mlir\[link\]'",
        lambda: (_zig_links(), _linked(CC=shutil.which("cc") or "cc"), None)[-1],
    ),
    "a compiler that is none": Row(
        lambda: _linked(CC="no-such-compiler"),
        "unset it, or name a C compiler",
        lambda: (_linked(CC="cc"), None)[-1],
    ),
    "no tools for object files": Row(
        lambda: _archived("", "a"),
        r"there is no ar here .*a shared library \(\.so\) needs none",
        lambda: (_archived(os.environ["PATH"], "so"), None)[-1],
    ),
    "no output": Row(_compiles("model.py"), "give a file with -o that ends with .so", _compiled("model.py")),
    "a form and a mode": Row(
        _compiles("model.py", "--emit=asm", "--exec-mode=native"),
        "the forms of --emit say what they are",
        lambda: (_compiles("model.py", "--emit=asm", "-o", "text.s")(), None)[-1],
    ),
    "two modules": Row(
        _compiles("two.py", "-o", "made.so"),
        "say which: two.py:Model, two.py:Other",
        _compiled("two.py:Other"),
    ),
    "ranges": Row(
        _runs("model.so", "scale", "--random", "n=1:3,m=2"),
        "ranges are for --symbols",
        lambda: (_runs("model.so", "scale", "--symbols", "n=1:3,m=2", "--time", "0.001")(), None)[-1],
    ),
    "no matplotlib": Row(_without_matplotlib, r"pip install 'relax-mlir\[plot\]'", _plots),
    "random arguments of bytecode": Row(
        _runs("model.vmexec", "scale", "--random", "n=2,m=3"),
        "give each array with --input",
        _result("model.vmexec", "scale", "--input", "both.npz"),
    ),
    "no arguments": Row(
        _runs("model.so", "scale"),
        r"give --input x=FILE\.npy, or --random",
        _result("model.so", "scale", "--input", "x=x.npy", "--input", "f=f.npy"),
    ),
    "a symbol without a value": Row(
        _runs("model.so", "scale", "--input", "f=f.npy", "--random", "n=2"),
        "give --random m=7",
        lambda: (
            _runs("model.so", "scale", "--input", "f=f.npy", "--random", "n=2", "--random", "m=7")(),
            None,
        )[-1],
    ),
    "a random tensor of any rank": Row(
        _runs("any_rank.mlir", "main", "--random", "n=2"),
        "give its value with --input",
        _result("any_rank.mlir", "--input", "any.npy", expected=np.array(4, np.float32)),
    ),
    "arrays with names": Row(
        _runs("model.so", "scale", "--input", "x=both.npz"),
        "give it without 'x'",
        _result("model.so", "scale", "--input", "both.npz"),
    ),
    "several functions": Row(
        _runs("model.so", "--input", "both.npz"),
        "say which: scale, again|say which: again, scale",
        _result("model.so", "again", "--input", "both.npz"),
    ),
}


TABLE = Rows(ROWS)
