"""Scripts whose text is not in a file, classes of equal name, Python functions in scripts, type checkers."""

from __future__ import annotations

import linecache
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import cold_process
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.script import ir as I
from relax_mlir.script import parse
from relax_mlir.script import relax as R

PROGRAM = """from relax_mlir.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.exp(x)
print("R.exp" in Module.script())
"""


def test_a_command() -> None:
    """``python -c``, with other options before it as well."""
    for options in (["-c"], ["-X", "utf8", "-Ic"]):
        path = [*cold_process.FOLDERS, *sys.path]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        text = PROGRAM if options == ["-c"] else f"import sys; sys.path[:0] = {path!r}\n" + PROGRAM
        done = subprocess.run(
            [sys.executable, *options, text], capture_output=True, text=True, env=environment, timeout=120
        )
        assert done.stdout == "True\n", done.stderr


def test_the_prompt() -> None:
    """A module typed at the prompt of Python, in a terminal."""
    pytest.importorskip("readline", reason="this Python has no line editing, whose history holds what is typed")
    child, terminal = pty.fork()
    if child == 0:
        os.environ["PYTHONPATH"] = os.pathsep.join([*cold_process.FOLDERS, *sys.path])
        os.environ["TERM"] = "dumb"
        os.execv(sys.executable, [sys.executable, "-q"])
    seen = b""

    def read(until: bytes, seconds: float) -> None:
        nonlocal seen
        end = time.monotonic() + seconds
        while until not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    seen += os.read(terminal, 65536)
                except OSError:
                    return

    try:
        read(b">>>", 60)
        for line in [*PROGRAM.splitlines()[:-1], "", 'print("found", "R.exp" in Module.script())']:
            os.write(terminal, line.encode() + b"\n")
        read(b"found True", 120)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    assert b"found True" in seen, seen.decode()


def test_two_classes_of_one_name() -> None:
    """In one scope; the second names itself in its functions."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.exp(x)

    first = Module

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = Module.second(x)
            return y

        @R.function(private=True)
        def second(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.log(x)

    assert "R.exp" in first.script()
    assert "R.log" in Module.script()
    assert "cls.second(x)" in Module.script()


CELL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.{op}(x)
"""


def test_cells_of_a_notebook() -> None:
    """A cell that runs again under another name, as in notebooks; an edited one under the same name."""
    for name, op in (
        ("<ipython-input-1>", "exp"),
        ("<ipython-input-2>", "log"),
        ("<ipython-input-2>", "tanh"),
    ):
        text = CELL.format(op=op)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        names = {"__name__": "__main__", "I": I, "R": R}
        exec(compile(text, name, "exec", dont_inherit=True), names)
        assert f"R.{op}(x)" in names["Module"].script()


def test_names_that_are_keywords() -> None:
    """Of functions, parameters and symbols; the text reads back as the same module."""
    builder = rx.BlockBuilder()
    x = rx.Var("lambda", rx.Tensor(("in", 4), "float32"))
    y = rx.Var("if", rx.Tensor(("class", "in*2"), "float32"))
    with builder.function("main", [x, y]):
        builder.emit_func_output([builder.emit(rx.op.exp(x), "def"), y])
    z = rx.Var("x", rx.Tensor((4,), "float32"))
    with builder.function("return", [z]):
        builder.emit_func_output(builder.emit(rx.op.log(z)))
    made = builder.get()
    assert_structural_equal(parse(made.script()), made)
    assert 'v_lambda: R.Tensor(("in", 4), "float32")' in made.script()


def transposed(a: te.Tensor) -> te.Tensor:
    return te.compute((a.shape[1], a.shape[0]), lambda i, j: a[j, i])


def test_emit_te() -> None:
    """Functions and lambdas, which capture Python variables around the script."""
    factor = 5.0

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")):
            with R.dataflow():
                y = R.emit_te(transposed, x)
                z = R.emit_te(lambda a: te.compute(a.shape, lambda i, j: a[i, j] * factor), y)
                w = R.emit_te(transposed, z, primfunc_name_hint="main")
                R.output(w)
            return w

    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(np.from_dlpack(rx.build(Module)["main"](x)), x * 5)
    for name in ("cls.transposed", "cls.te_func", "cls.main_te"):
        assert name in Module.script()


def test_emit_te_of_a_lambda_by_the_builder() -> None:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(lambda a: te.compute(a.shape, lambda i: a[i] + 1.0), x))
    found = rx.build(builder.get())["main"](np.zeros(3, "float32"))
    np.testing.assert_array_equal(np.from_dlpack(found), np.ones(3, "float32"))


def test_emit_te_runs_nothing_in_texts() -> None:
    text = '@R.function\ndef main(x: R.Tensor((4,), "float32")):\n    return R.emit_te({}, x)\n'
    for function in ("lambda a: a", "float", "open"):
        with pytest.raises(UnsupportedError, match="which `parse` never does"):
            parse(text.format(function))
    with pytest.raises(RelaxError, match="emit_te: 'te_func' returns 3"):

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.emit_te(lambda a: 3, x)


MODEL = '''# mypy: disable-error-code="valid-type"
"""A model."""

from typing import TypeVar

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

n = TypeVar("n")


@I.ir_module
class Module:
    """Two prim funcs and two functions."""

    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")) -> None:
        for i, j in T.grid(n, 4):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                B[vi, vj] = T.max(A[vi, vj] * T.float32(2), T.float32(0))

    @R.function
    def main(x: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.call_tir(Module.scale, (x,), R.Tensor(("n", 4), "float32"))
            z: R.Tensor(("n", 4), "float32") = R.nn.softmax(y, axis=-1)
            R.output(z)
        return Module.other(z)

    @R.function(private=True)
    def other(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        return R.exp(x)
'''


@pytest.mark.slow
def test_type_checkers(tmp_path: Path) -> None:
    """A file of scripts passes strict mypy and ruff, and is correct."""
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    sources = Path(rx.__file__).parents[1]
    # As for an installed package, mypy's messages about our own files are hidden: its stubs and theirs may differ. The
    # packages of extras count as not installed: their types take longer than all others, and scripts use none.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy-torch.*,onnx.*,matplotlib.*,PIL.*]\nfollow_imports = skip\n")
    mypy = ["mypy", "--strict", "--no-incremental", "--follow-imports=silent", f"--config-file={settings}"]
    for command in (mypy, ["ruff", "check", "--isolated"]):
        pytest.importorskip(command[0], reason=f"{command[0]} is not installed")
        done = subprocess.run(
            [sys.executable, "-m", *command, str(path)],
            capture_output=True,
            text=True,
            env=os.environ | {"MYPYPATH": str(sources)},
            cwd=tmp_path,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert parse(MODEL).script()


def test_stubs_know_all_names() -> None:
    """The stubs of ``R`` and ``T`` have every name that scripts may use."""
    from relax_mlir import op
    from relax_mlir.dialects.dtypes import DTYPES
    from relax_mlir.loops.values import ALIASES, INTRINSICS
    from relax_mlir.script import relax, tir
    from relax_mlir.script.calls import SPECIAL
    from relax_mlir.tir.expressions import SPECIAL as FUNCTIONS

    folder = Path(relax.__file__).parent
    relax_stub, tir_stub = ((folder / f"{name}.pyi").read_text() for name in ("relax", "tir"))
    wanted = {*op.__all__, *relax.__all__, *(name for name in SPECIAL if "." not in name)}
    relax_stub += Path(op.__file__).with_name("_derived.pyi").read_text()
    missing = [n for n in wanted if not _declared(relax_stub, n)]
    assert not missing, f"relax.pyi lacks {missing}"
    wanted = {*tir.__all__, *INTRINSICS, *ALIASES, *FUNCTIONS, *DTYPES}
    missing = [n for n in wanted if not _declared(tir_stub, n)]
    assert not missing, f"tir.pyi lacks {missing}"


def _declared(stub: str, name: str) -> bool:
    forms = (f"def {name}(", f"class {name}:", f"class {name}(", f" as {name}\n", f"{name} = ", f"{name}: ")
    return any(form in stub for form in forms)
