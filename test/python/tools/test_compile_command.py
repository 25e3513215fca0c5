"""``relax-compile`` as a command: its files, its output, and that no partial file is left."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import relax_mlir as rx
import warm_process
from relax_mlir.export import inspect_library
from relax_mlir.script import parse
from relax_mlir.tools.opt_actions import bytecode_of

MODEL = """
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

@I.ir_module
class Model:
    @R.function
    def scale(x: R.Tensor(("n", "m"), "float32"), f: R.Tensor(("n",), "float32")):
        return x * R.expand_dims(f, axis=1)

    @R.function
    def picked(x: R.Tensor(("n",), "float32")):
        return R.unique(x)
"""


def relax_compile(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    done = warm_process.run(["-m", "relax_mlir.tools.compile_command", *arguments], b"")
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("models")
    (found / "model.py").write_text(MODEL)
    (found / "two.py").write_text(MODEL + "\nOther = Model.clone()\n")
    (found / "none.py").write_text("x = 3\n")
    (found / "raises.py").write_text("1 / 0\n")
    text = '@R.function\ndef main(x: R.Tensor(("n",), "float32")):\n    return x + 1.0'
    (found / "model.mlir").write_text(parse(text).asm())
    parse(text).save(found / "model.zip")
    (found / "model.mlirbc").write_bytes(bytecode_of(parse(text).mlir))
    (found / "cut.mlirbc").write_bytes((found / "model.mlirbc").read_bytes()[:200])
    return found


def test_libraries_and_bytecode(folder: Path, tmp_path: Path) -> None:
    for source in ("model.mlir", "model.zip", "model.mlirbc"):
        library = tmp_path / "main.so"
        assert relax_compile(str(folder / source), "-o", str(library)).stderr == b""
        assert set(inspect_library(library).facts["functions"]) == {"main"}
    library = tmp_path / "scale.a"
    relax_compile(str(folder / "model.py"), "--entry", "scale", "--target", "cpu -mcpu=x86-64", "-o", str(library))
    facts = json.loads(relax_compile("--inspect", "--json", str(library)).stdout)
    assert set(facts["functions"]) == {"scale"}
    assert facts["targets"] == ["cpu -mcpu=x86-64"]
    assert b'scale(x: Tensor((n, m), "float32")' in relax_compile("--inspect", str(library)).stdout
    bytecode = tmp_path / "model.vmexec"
    relax_compile(str(folder / "model.py") + ":Model", "-o", str(bytecode))
    assert {each.name for each in rx.vm.Executable.load(bytecode).functions} >= {"scale", "picked"}
    both = tmp_path / "both.so"
    relax_compile(str(folder / "model.mlir"), "--exec-mode=bytecode", "-o", str(both))
    assert rx.vm.Executable.load(both).function_names == ("main",)
    told = relax_compile(str(folder / "model.mlir"), "-v", "-o", str(tmp_path / "main.o")).stderr.decode()
    assert "linking" in told and "bytes" in told


def test_levels_and_weights_beside(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "levels.so"
    targets = ["cpu -mcpu=x86-64", "cpu -mcpu=x86-64-v2"]
    options = [word for target in targets for word in ("--target", target)]
    told = relax_compile(
        str(folder / "model.mlir"), *options, "--weights", "beside", "-v", "-o", str(library)
    ).stderr.decode()
    assert "compiling for cpu -mcpu=x86-64-v2" in told
    weights = library.with_suffix(".safetensors")
    assert f"{weights}: {weights.stat().st_size:,} bytes" in told
    facts = inspect_library(library).facts
    assert facts["targets"] == targets[::-1] and facts["weights"]["file"] == weights.name
    refused = {
        "--weights is for libraries": ["--weights", "embed", "-o", str(tmp_path / "x.vmexec")],
        "--target may be given several times for libraries only": [*options, "--emit", "llvm"],
    }
    for message, words in refused.items():
        assert message in relax_compile(str(folder / "model.mlir"), *words, code=1).stderr.decode()


FORMS = {
    "relax": "relax.add",
    "calls": "relax.call_tir",
    "explicit-memory": "relax.memory_alloc_storage",
    "vm": "relax.vm_alloc_tensor",
    "tensors": "linalg.generic",
    "memrefs": "memref<",
    "kernels": "vector",
    "flat": "cf.cond_br",
    "llvm": "llvm.func",
    "llvm-ir": "define ",
    "asm": ".text",
    "bytecode": "@main",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(folder: Path, form: str, tmp_path: Path) -> None:
    text = relax_compile(str(folder / "model.mlir"), "--emit", form).stdout.decode()
    assert FORMS[form] in text
    relax_compile(str(folder / "model.mlir"), f"--emit={form}", "-o", str(tmp_path / "text"))
    assert (tmp_path / "text").read_text() == text


WRONG = {
    ("model.py", "--entry", "scael", "-o", "m.so"): "unknown public function 'scael'; did you mean 'scale'?",
    ("model.py", "-o", "m.so"): "relax.unique gives a tensor whose size only its elements tell (at ",
    ("model.py", "-o", "m.dll"): "-o: 'm.dll' does not end with .so, .o, .a, .vmexec",
    ("model.py",): "give a file with -o that ends with .so, .o, .a, .vmexec, or a form with --emit",
    (
        "model.py",
        "-o",
        "m.a",
        "--exec-mode",
        "bytecode",
    ): "--exec-mode=bytecode does not go with .a: bytecode goes into",
    ("model.py", "-o", "nowhere/m.so"): "there is no folder 'nowhere'",
    ("model.py", "-o", "m.so", "--json"): "--json is for --inspect",
    ("model.py", "--emit=asm", "--exec-mode=native"): "--exec-mode is for files of code",
    ("model.py", "--target", "cpu -mcpu=z80", "-o", "m.so"): "unknown CPU 'z80'",
    ("model.py:Modle", "-o", "m.so"): "did you mean 'Model'?",
    ("two.py", "-o", "m.so"): "defines 2 modules; say which: two.py:Model, two.py:Other",
    ("none.py", "-o", "m.so"): "none.py: defines no module",
    ("raises.py", "-o", "m.so"): "raises.py: the file raises ZeroDivisionError: division by zero",
    ("cut.mlirbc", "-o", "m.so"): "cut.mlirbc: no MLIR bytecode that can be read: attempting to parse",
    ("nothing.mlir", "-o", "m.so"): "cannot open input file 'nothing.mlir': there is no such file",
    ("--inspect", "model.py"): "model.py: not a library of relax-mlir",
    ("--inspect", "nothing.so"): "cannot open nothing.so: No such file or directory",
    ("--inspect", "model.py", "--emit", "asm"): "--inspect goes with --json alone",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_mistakes(folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = relax_compile(*arguments, code=1)
    assert done.stderr.startswith(b"relax-compile: error: ")
    assert WRONG[arguments] in done.stderr.decode()
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before


def test_help_and_wrong_options() -> None:
    text = relax_compile("--help").stdout.decode()
    assert all(option in text for option in ("--entry", "--inspect", "--exec-mode", "--target", ".vmexec"))
    assert max(map(len, text.splitlines())) <= 80
    assert relax_compile("--version").stdout.startswith(b"relax-compile ")
    assert b"unrecognized arguments: --outpt" in relax_compile("x.mlir", "--outpt", code=2).stderr
