"""The commands with hostile arguments: each is an error of one line, none an internal one."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.tools import compile_command, opt, run_command, tune_command

HUGE = "1" + "0" * 22
TOOLS: dict[str, Callable[[Sequence[str]], int]] = {
    "opt": opt.main,
    "compile": compile_command.main,
    "run": run_command.main,
    "tune": tune_command.main,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files of all kinds, good ones and damaged ones, as the current folder."""
    path = tmp_path_factory.mktemp("hostile")
    before = Path.cwd()
    os.chdir(path)
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(op.tanh(x))
    mod = builder.get()
    text = str(mod)
    (path / "good.mlir").write_text(text)
    mod.save(path / "good.rx")
    (path / "empty").write_bytes(b"")
    (path / "nul.mlir").write_bytes(b"module {\0}")
    (path / "latin.mlir").write_bytes("// é\n".encode("latin-1") + text.encode() + b"\xff\xfe")
    (path / "cut.rx").write_bytes((path / "good.rx").read_bytes()[:40])
    (path / "bytecode.mlirbc").write_bytes(b"ML\xefR" + b"\xff" * 40)
    (path / "archive.rx").write_bytes(b"PK\3\4" + b"\xff" * 60)
    for name in ("damaged.onnx", "damaged.pt2", "damaged.so", "damaged.npy", "damaged.npz"):
        (path / name).write_bytes(b"\x80\x01PK" * 9)
    (path / "raises.py").write_text("raise KeyError('x')\n")
    (path / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (path / "nothing.py").write_text("x = 1\n")
    (path / "directory").mkdir()
    np.save(path / "x.npy", np.ones((2, 8), "float32"))
    np.save(path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    np.save(path / "text.npy", np.array(["a", "b"]))
    np.save(path / "wide.npy", np.ones((2, 9), "float64"))
    np.savez(path / "x.npz", x=np.ones((2, 8), "float32"))
    yield path
    os.chdir(before)


FILES = (
    *("missing.mlir", "", "directory", "empty", "nul.mlir", "latin.mlir", "cut.rx", "bytecode.mlirbc"),
    *("archive.rx", "damaged.onnx", "damaged.pt2", "damaged.so", "raises.py", "exits.py", "nothing.py"),
    *("nothing.py:Name", "good.mlir:x", "ü\udc80.mlir", "a\nb", "-", "/dev/null", "x.npy"),
)
OPT = (
    *(
        "--no-such",
        "--normalize=",
        "--normalize{",
        "--fuse-ops{max-depth=x}",
        f"--fuse-ops{{max-depth={HUGE}}}",
    ),
    *(
        "--fuse-ops{max-depth=-1}",
        "--bind-params",
        "--bind-params{file=missing.npz}",
        "--bind-params{file=directory}",
    ),
    *(
        "--bind-params{file=damaged.npz}",
        "--bind-params{file=objects.npy}",
        "--pass-pipeline=",
        "--pass-pipeline=x(",
    ),
    *(
        "--emit=x",
        "--emit=",
        "--relax-to-llvm{target=x}",
        "--relax-to-llvm{start=x}",
        "--bind-symbolic-vars{values=n=x}",
    ),
    *(
        f"--bind-symbolic-vars{{values=n={HUGE}}}",
        "--bind-symbolic-vars{values=n=-1}",
        "--run-reproducer=x",
        "-o",
    ),
    *(
        "--split-input-file=",
        "--verify-diagnostics",
        "--fold-constant{max-elements=nan}",
        "-o=directory",
        "--help=x",
    ),
)
COMPILE = (
    *(
        "--target=",
        "--target=x",
        "--target=cpu -num-threads=0",
        "--target=cpu -mcpu=x",
        f"--opt-level={HUGE}",
        "-O9",
    ),
    *(
        "-o=directory",
        "-o=",
        "-o=/no/such/folder/x.so",
        "--emit=x",
        "--weights=x",
        "--exec-mode=x",
        "--dump-stages=",
    ),
    *("-o=x.unknown", "--inspect", "--bounds=x", "--bounds=n=9:1", f"--bounds=n=1:{HUGE}"),
)
RUN = (
    *(
        f"--random=n={HUGE}",
        "--random=n=-1",
        "--random=n=nan",
        "--random=",
        "--random=n",
        "--random=n=1:3",
        "--random=q=1",
    ),
    *(f"--symbols=n={HUGE}", "--symbols=n=9:1", "--input=", "--input=missing.npy", "--input=directory"),
    *(
        "--input=x=damaged.npy",
        "--input=x=objects.npy",
        "--input=x=text.npy",
        "--input=x=wide.npy",
        "--input=q=x.npy",
    ),
    *(
        "--input=damaged.npz",
        "--input=x=x.npz",
        "--compare=missing.npz",
        "--compare=x.npz",
        "--output=/no/such/x.npz",
    ),
    *(
        "--function=x",
        "--function=",
        f"--seed={HUGE}",
        "--seed=-1",
        f"--repeat={HUGE}",
        "--repeat=0",
        "--target=x",
    ),
    *("--random=n=99999999999", "--random=n=9223372036854775807"),
)
TUNE = (
    *(
        "--trials=0",
        "--trials=-1",
        f"--trials={HUGE}",
        "--trials=x",
        "--output=directory",
        "--target=x",
        "--timeout=nan",
    ),
    *("--symbols=n=x", f"--symbols=n={HUGE}", "--workers=0", "--seed=x"),
)
CASES = (
    *(
        (tool, (file, *more))
        for tool, more in (("opt", ()), ("compile", ("-o", "x.so")), ("run", ()))
        for file in FILES
    ),
    *(("opt", (option, "good.mlir")) for option in OPT),
    *(("compile", ("-o", "x.so", *option.split("=", 1), "good.mlir")) for option in COMPILE),
    *(("run", ("good.mlir", *option.split("=", 1))) for option in RUN),
    *(("run", ("good.mlir", "--random", "n=3", *option.split("=", 1))) for option in RUN if "random" not in option),
    *(("tune", ("good.mlir", *option.split("=", 1))) for option in TUNE),
)


PARTS = 40


@pytest.mark.parametrize("part", range(PARTS if sweep.ALL else 1))
def test_no_argument_leads_to_an_internal_error(
    part: int, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELAX_MLIR_REPRODUCERS", "0")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    found = []
    for tool, arguments in CASES[part::PARTS]:
        try:
            code = TOOLS[tool](list(arguments))
        except SystemExit as end:
            code = end.code
        said = capfd.readouterr()
        text = said.out + said.err
        if any(word in text for word in ("internal error", "crashed", "Traceback")) or (code and not text.strip()):
            found.append(f"{tool} {arguments}: {code}: {text[-300:]}")
    assert not found, "\n".join(found)
