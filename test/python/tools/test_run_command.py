"""``relax-run`` as a command: arguments, results, comparisons, times."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import warm_process
from relax_mlir.script import parse

PROGRAM = """
@R.function
def scale(x: R.Tensor(("n", "m"), "float32"), f: R.Tensor(("n",), "float32")):
    R.func_attr({"symbol_bounds": {"n": (1, 64)}})
    return x * R.expand_dims(f, axis=1)

@R.function
def mixed(
    t: R.Tuple(R.Tensor(("2 * n",), "int32"), R.Shape(("n", "k"))), b: R.Tensor((), "bool"), c: R.Prim(value="c")
):
    return t[0] + 1, t[1], b, c
"""


def relax_run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    done = warm_process.run(["-m", "relax_mlir.tools.run_command", *arguments], b"")
    assert done.returncode == code, done.stdout.decode() + done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module, its library and its bytecode, and arrays for its functions."""
    found = tmp_path_factory.mktemp("models")
    module = parse(PROGRAM)
    (found / "model.mlir").write_text(module.asm())
    rx.build(module).export_library(found / "model.so")
    rx.build(module, exec_mode="bytecode").save(found / "model.vmexec")
    x, f = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([1, 2, 3], np.float32)
    np.save(found / "x.npy", x)
    np.save(found / "f.npy", f)
    np.savez(found / "both.npz", x=x, f=f)
    np.savez(found / "right.npz", result=x * f[:, None])
    wrong = x * f[:, None]
    wrong[2, 1] += 1
    np.savez(found / "wrong.npz", result=wrong)
    np.savez(found / "shape.npz", result=wrong[:2])
    np.savez(found / "other.npz", outcome=wrong)
    (found / "text.npy").write_text("no array")
    return found


PRIM_FUNCS = """
from __future__ import annotations
from relax_mlir.script import ir as I, tir as T

@I.ir_module
class Model:
    @T.prim_func
    def split(P: T.Buffer((n,), "float32"), A: T.Buffer((n,), "float32"), N: T.Buffer((n,), "float32")):
        for i in range(n):
            P[i] = T.max(A[i], T.float32(0))
            N[i] = T.min(A[i], T.float32(0))
"""


@pytest.mark.parametrize("model", ["prims.py:Model", "prims.so", "prims.vmexec"])
def test_what_prim_funcs_write_is_the_result(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prims.py").write_text(PRIM_FUNCS)
    a = np.float32([3, -2, 0, np.inf])
    np.savez("in.npz", P=np.zeros(4, "f4"), A=a, N=np.zeros(4, "f4"))
    if not model.endswith("Model"):
        arguments = ["-m", "relax_mlir.tools.compile_command", "prims.py:Model", "-o", model]
        done = warm_process.run(arguments, b"")
        assert done.returncode == 0, done.stderr
    relax_run(model, "--input", "in.npz", "-o", "out.npz")
    written = np.load("out.npz")
    assert sorted(written) == ["N", "P"]
    np.testing.assert_array_equal(written["P"], np.maximum(a, 0))
    np.testing.assert_array_equal(written["N"], np.minimum(a, 0))


CACHE = """
@I.ir_module
class Cache:
    @R.function
    def main(x: R.Tensor((1, 2), "float32"), cache: R.Tensor(("n", 2), "float32"), y: R.Tensor((), "float32")):
        R.func_attr({"relax.donated": ["", "cache"]})
        changed = R.slice_scatter(cache, x, start=1, end=2, step=1, axis=0)
        return R.sum(changed) + y, changed
"""


def test_donated_parameters_are_results(tmp_path: Path) -> None:
    (tmp_path / "cache.mlir").write_text(str(parse(CACHE)))
    given = {"x": np.ones((1, 2), "f4"), "cache": np.zeros((3, 2), "f4"), "y": np.float32(5)}
    np.savez(tmp_path / "in.npz", **given)  # type: ignore[arg-type]  # NumPy's stub takes no mapping of arrays
    relax_run(str(tmp_path / "cache.mlir"), "--input", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz"))
    written = np.load(tmp_path / "out.npz")
    assert sorted(written) == ["cache", "result"] and written["result"] == 7
    np.testing.assert_array_equal(written["cache"], [[0, 0], [1, 1], [0, 0]])


@pytest.mark.parametrize("model", sweep.quick(["model.mlir", "model.so", "model.vmexec"], "model.so", "model.vmexec"))
def test_arrays_in_and_out(folder: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    out = tmp_path / "out.npz"
    relax_run(model, "scale", "--input", "x=x.npy", "--input", "f=f.npy", "-o", str(out))
    found = np.load(out)
    assert found.files == ["result"]
    np.testing.assert_array_equal(found["result"], np.load("right.npz")["result"])
    said = relax_run(model, "scale", "--input", "both.npz", "--compare", "right.npz").stdout.decode()
    assert said.startswith("result: close: the worst element [")
    said = relax_run(model, "scale", "--input", "both.npz", "--compare", "wrong.npz", code=1).stdout.decode()
    assert said == "result: DIFFERENT: the worst element [2, 1] is 27.0, expected 28.0 (error 1)\n"
    said = relax_run(model, "scale", "--input", "both.npz", "--compare", "shape.npz", code=1).stdout.decode()
    assert said == "result: DIFFERENT: shape [3, 4], expected [2, 4]\n"
    assert b"float32[3, 4]" in relax_run(model, "scale", "--input", "both.npz").stdout


@pytest.mark.parametrize("model", ["model.mlir", "model.so"])
def test_random_arguments(folder: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    relax_run(model, "mixed", "--random", "n=3,k=5", "--random", "c=7", "-o", str(tmp_path / "out.npz"))
    found = np.load(tmp_path / "out.npz")
    assert found["result0"].dtype == np.int32 and set(found["result0"]) <= {1, 2} and found["result0"].shape == (6,)
    assert tuple(found["result1"]) == (3, 5)
    assert found["result2"].shape == () and int(found["result3"]) == 7
    once = relax_run(model, "scale", "--input", "x=x.npy", "--random", "n=3", "--seed", "4").stdout
    assert once == relax_run(model, "scale", "--input", "x=x.npy", "--random", "n=3", "--seed", "4").stdout
    assert once != relax_run(model, "scale", "--input", "x=x.npy", "--random", "n=3", "--seed", "5").stdout


def test_times_and_traces(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = relax_run(
        "model.so", "scale", "--symbols", "n=1:64,m=8", "--time", "0.05", "--plot", str(tmp_path / "t.svg")
    )
    rows = [line.split() for line in text.stdout.decode().splitlines()]
    assert [row[:2] for row in rows if row and row[0].isdecimal()] == [[str(n), "8"] for n in (1, 2, 4, 8, 16, 32, 64)]
    assert "<svg" in (tmp_path / "t.svg").read_text()
    one = relax_run("model.vmexec", "scale", "--input", "both.npz", "--time", "0.01").stdout.decode()
    assert "median us" in one
    trace = tmp_path / "trace.json"
    relax_run("model.mlir", "scale", "--input", "both.npz", "--profile", str(trace), "--threads", "1")
    assert json.loads(trace.read_text())


BOTH = ("--input", "both.npz")
WRONG = {
    ("model.so",): "model.so: has 2 functions; say which: mixed, scale",
    ("model.so", "scael"): "unknown function of model.so 'scael'; did you mean 'scale'?",
    ("nothing.so",): "cannot open input file 'nothing.so': there is no such file",
    ("x.npy",): "x.npy",
    ("model.so", "scale"): "scale: no value for x, f: give --input x=FILE.npy, or --random",
    ("model.so", "scale", "--input", "x.npy"): "--input: say for which parameter x.npy is, as x=x.npy",
    ("model.so", "scale", "--input", "y=x.npy"): "unknown parameter 'y'",
    ("model.so", "scale", "--input", "x=both.npz"): "--input: both.npz has arrays with names of their own",
    ("model.so", "scale", *BOTH, "--input", "x=x.npy"): "--input: parameter 'x' is given twice",
    ("model.so", "scale", "--input", "x=nothing.npy"): "cannot open 'nothing.npy': No such file or directory",
    (
        "model.so",
        "scale",
        "--input",
        "x=text.npy",
    ): "text.npy: neither an array (.npy) nor a file of arrays (.npz)",
    ("model.so", "scale", "--random", "n=3"): "parameter 'x': symbol 'm' has no value: give --random m=7",
    ("model.so", "scale", "--random", "n=65,m=2"): "scale: n = 65 is outside of its bounds, from 1 to 64",
    ("model.so", "scale", "--random", "n"): "--random: 'n', expected n=7 or n=1:64",
    ("model.so", "scale", "--random", "n=1:3,m=2"): "--random: n=1:3 is no value; ranges are for --symbols",
    ("model.so", "scale", "--random", "n=9:3"): "--random: 'n=9:3': the first value is larger than the last",
    ("model.so", "scale", "--symbols", "n=1:3"): "--symbols is for --time SECONDS",
    ("model.so", "scale", "--symbols", "q=1:3", "--time", "1"): "unknown symbol 'q'",
    ("model.so", "scale", *BOTH, "--time", "0"): "--time: 0, expected a number of seconds above 0",
    ("model.so", "scale", *BOTH, "--plot", "p.svg"): "--plot is for --time with --symbols",
    ("model.so", "scale", *BOTH, "-o", "out.txt"): "-o: 'out.txt' does not end with .npz",
    (
        "model.so",
        "scale",
        *BOTH,
        "--compare",
        "x.npy",
    ): "x.npy: one array, expected a file of arrays with names",
    ("model.so", "scale", *BOTH, "--compare", "other.npz"): "unknown result 'outcome'",
    ("model.so", "scale", *BOTH, "--threads", "99"): "compile it with --target 'cpu -num-threads=99'",
    ("model.so", "scale", *BOTH, "--threads", "0"): "--threads is 0, and model.so is compiled for 1 to",
    (
        "model.so",
        "scale",
        *BOTH,
        "--profile",
        "t.json",
    ): "model.so writes no records: compile it with relax-compile",
    ("model.vmexec", "scale", "--random", "n=3,m=2"): "bytecode does not say what its parameters are",
    (
        "model.so",
        "scale",
        "--input",
        "x=f.npy",
        "--input",
        "f=f.npy",
    ): "parameter 'x' has rank 1, expected rank 2",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_mistakes(folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = relax_run(*arguments, code=1)
    assert done.stderr.startswith(b"relax-run: error: ")
    assert WRONG[arguments] in done.stderr.decode()
    assert sorted(folder.iterdir()) == before


def test_help() -> None:
    text = relax_run("--help").stdout.decode()
    assert all(option in text for option in ("--input", "--random", "--symbols", "--compare", "--time", "--threads"))
    assert max(map(len, text.splitlines())) <= 80
    assert relax_run("--version").stdout.startswith(b"relax-run ")
