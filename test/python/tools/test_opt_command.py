"""``relax-opt`` as a command: exit codes, internal errors, crashes, start-up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm_process
from relax_mlir.tools import supervise

MODULE = b"func.func @f() { return }\n"


def relax_opt(*arguments: str, data: bytes = MODULE) -> subprocess.CompletedProcess[bytes]:
    return warm_process.run(["-m", "relax_mlir.tools.opt", *arguments], data)


def test_success_is_zero() -> None:
    command = [sys.executable, "-m", "relax_mlir.tools.opt", "--cse"]
    done = subprocess.run(command, input=MODULE, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    warm = relax_opt("--cse")
    assert (warm.returncode, warm.stdout, warm.stderr) == (0, done.stdout, b"")


@pytest.mark.parametrize("data", [b"foo", b"\xff\xfe\x00", b"ML\xefR\x0d\x01", b"module {", b'"' * 9, b"(" * 5000])
def test_bad_input_is_one_without_a_trace(data: bytes) -> None:
    done = relax_opt(data=data)
    assert done.returncode == 1
    assert b"error:" in done.stderr
    assert b"Traceback" not in done.stderr and b"crashed" not in done.stderr


def test_a_directory_is_no_input(tmp_path: Path) -> None:
    done = relax_opt(str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith(b"relax-opt: error: cannot open input file")


def test_output_is_not_touched_on_failure(tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    target.write_text("kept")
    assert relax_opt("-o", str(target), data=b"foo").returncode == 1
    assert target.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [target]


def test_device_as_output_stays_a_device() -> None:
    assert relax_opt("-o", os.devnull).returncode == 0
    assert not Path(os.devnull).is_file()


def _raise(arguments: object) -> int:
    supervise.note("the test ran")
    raise KeyError("surprise")


def test_internal_error_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert supervise.supervised("tool", _raise, []) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err == (
        "tool: internal error while the test ran: KeyError: 'surprise' (set RELAX_MLIR_TRACEBACK=1 for the trace)\n"
    )


def test_trace_on_request(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_TRACEBACK", "1")
    assert supervise.supervised("tool", _raise, []) == 1
    assert "Traceback" in capfd.readouterr().err


def _abort(arguments: object) -> int:
    supervise.note("a pass ran")
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_crash_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    assert supervise.supervised("tool", _abort, []) == 1
    assert "tool: error: crashed (SIGKILL) while a pass ran" in capfd.readouterr().err


def test_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_IN_PROCESS", "1")
    pids: list[int] = []

    def work(arguments: object) -> int:
        pids.append(os.getpid())
        return 0

    assert supervise.supervised("tool", work, []) == 0
    assert pids == [os.getpid()]


def test_start_up_imports_no_compiler_parts() -> None:
    code = (
        "import sys, relax_mlir.tools.opt_driver\n"
        "heavy = {'torch', 'relax_mlir.lowering.pipeline', 'torch_mlir.dialects.linalg'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_dumped_pipeline_runs_as_it_is() -> None:
    """``--dump-pass-pipeline`` prints the syntax of ``--pass-pipeline``."""
    shape = '#relax.shape<["n", 4]>'
    source = f"""func.func @main(%x: tensor<?x4xf32, {shape}>) -> tensor<?x4xf32, {shape}> {{
  %e = "relax.exp"(%x) : (tensor<?x4xf32, {shape}>) -> tensor<?x4xf32, {shape}>
  return %e : tensor<?x4xf32, {shape}>
}}""".encode()
    first = relax_opt("--relax-to-llvm", "--dump-pass-pipeline", data=source)
    head, pipeline = first.stderr.decode().split("\n", 1)
    count = len([line for line in pipeline.splitlines() if line.startswith("  ")])
    assert head == f"Pass Manager with {count} passes:"
    second = relax_opt(f"--pass-pipeline={pipeline.strip()}", data=source)
    assert (second.returncode, second.stderr) == (0, b"")
    assert second.stdout == first.stdout
