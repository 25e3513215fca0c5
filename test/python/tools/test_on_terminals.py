"""Colours, progress and Ctrl-C of the tools on terminals, and no colours or progress in pipes."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import warm_process
from relax_mlir import terminal
from terminals import environment, run_on_terminal

OPT = ["-m", "relax_mlir.tools.opt"]
COMPILE = ["-m", "relax_mlir.tools.compile_command"]
RUN = ["-m", "relax_mlir.tools.run_command"]
TUNE = ["-m", "relax_mlir.tools.tune_command"]
ESCAPE = "\x1b["
BAD = "func.func @f(%a: i32) {\n  return %a : i32\n}\n"
MODEL = """
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %y = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %y : tensor<?xf32, #relax.shape<["n"]>>
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("terminals")
    (found / "bad.mlir").write_text(BAD)
    (found / "model.mlir").write_text(MODEL)
    return found


def in_pipe(
    arguments: list[str], changes: Mapping[str, str | None] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return warm_process.run(arguments, timeout=120, env=environment(changes or {}))


@pytest.mark.parametrize(
    ("flags", "changes", "coloured"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        (["--color=0"], {}, False),
    ],
)
def test_diagnostics_on_a_terminal(
    folder: Path, flags: list[str], changes: dict[str, str | None], coloured: bool
) -> None:
    source = folder / "bad.mlir"
    code, text = run_on_terminal([*OPT, str(source), *flags], changes)
    assert code == 1
    assert (ESCAPE in text) == coloured
    if coloured:
        assert f"{ESCAPE}1;31merror:{ESCAPE}0m" in text
        assert f"{ESCAPE}1;32m^{ESCAPE}0m" in text
    else:
        head = f"{source}:2:3: error: 'func.return' op has 1 operands"
        assert head in text and "\n  return %a : i32\n  ^\n" in text


@pytest.mark.parametrize(
    ("chosen", "variables", "is_terminal", "expected"),
    [
        (None, {}, True, True),
        (None, {}, False, False),
        (None, {"NO_COLOR": ""}, True, True),
        (None, {"NO_COLOR": "0"}, True, False),
        (None, {"TERM": "dumb"}, True, False),
        (True, {"NO_COLOR": "1"}, False, True),
        (False, {}, True, False),
    ],
)
def test_what_decides(
    monkeypatch: pytest.MonkeyPatch,
    chosen: bool | None,
    variables: dict[str, str],
    is_terminal: bool,
    expected: bool,
) -> None:
    for name, value in {"NO_COLOR": "", "TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
    terminal.choose_colour(chosen)
    try:
        assert terminal.is_coloured(stream) == expected
        assert terminal.paint("x", terminal.ERROR, stream) == ("\x1b[1;31mx\x1b[0m" if expected else "x")
        assert terminal.paint("", terminal.ERROR, stream) == ""
    finally:
        terminal.choose_colour(None)


def test_diagnostics_in_a_pipe(folder: Path) -> None:
    plain = in_pipe([*OPT, str(folder / "bad.mlir")])
    forced = in_pipe([*OPT, str(folder / "bad.mlir"), "--color"])
    assert plain.returncode == forced.returncode == 1
    assert ESCAPE.encode() not in plain.stderr
    assert f"{ESCAPE}1;31merror:".encode() in forced.stderr


@pytest.mark.parametrize("tool", [OPT, COMPILE, RUN, TUNE], ids=["opt", "compile", "run", "tune"])
def test_errors_of_all_tools(folder: Path, tool: list[str]) -> None:
    missing = str(folder / "absent.mlir")
    arguments = [*tool, missing, *(["-oout.so"] if tool in (COMPILE, TUNE) else [])]
    code, text = run_on_terminal(arguments)
    assert code == 1
    assert f"{ESCAPE}1;31merror:{ESCAPE}0m cannot open input file" in text


def test_help_and_script(folder: Path) -> None:
    code, text = run_on_terminal([*OPT, "-h"])
    assert code == 0
    assert f"{ESCAPE}1;33mOPTIONS:{ESCAPE}0m" in text
    assert ESCAPE.encode() not in in_pipe([*OPT, "-h"]).stdout
    script = [*OPT, str(folder / "model.mlir"), "--print-script"]
    code, text = run_on_terminal(script)
    assert code == 0
    assert ESCAPE in text and "main" in text
    assert ESCAPE not in run_on_terminal(script, {"NO_COLOR": "1"})[1]
    assert ESCAPE.encode() not in in_pipe(script).stdout


def test_ir_on_a_terminal(folder: Path, tmp_path: Path) -> None:
    """Values, names of ops, types and strings are coloured; without colours the text equals that of a pipe."""
    command = [*OPT, str(folder / "model.mlir")]
    code, text = run_on_terminal(command)
    assert code == 0
    for part in ("%y", '"relax.exp"', "@main"):
        assert re.search(rf"\x1b\[\d[\d;]*m{re.escape(part)}\x1b\[", text), part
    plain = in_pipe(command).stdout.decode()
    assert re.sub(r"\x1b\[[\d;]*m", "", text) == plain
    out = tmp_path / "out.mlir"
    assert run_on_terminal([*command, f"-o{out}"]) == (0, "")
    assert out.read_text() == plain


def test_binary_output_is_not_for_terminals(folder: Path) -> None:
    code, text = run_on_terminal([*OPT, str(folder / "model.mlir"), "--emit-bytecode", "--color=0"])
    assert code == 1
    assert "relax-opt: error: --emit-bytecode does not write to a terminal: give a file with -o" in text


def test_progress(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "model.so"
    command = [*COMPILE, str(folder / "model.mlir"), "--no-cache", "-o", str(library)]
    code, text = run_on_terminal(command)
    assert code == 0, text
    assert library.is_file()
    for step in ("reading the module", "machine code", "linking"):
        assert step in text
    assert "━" in text
    done = in_pipe(command)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(("ending", "own"), [("so", ("linking",)), ("vmexec", ("explicit-memory", "vm", "writing"))])
def test_sizes_and_phases_in_a_pipe(folder: Path, tmp_path: Path, ending: str, own: tuple[str, ...]) -> None:
    library = tmp_path / f"model.{ending}"
    done = in_pipe([*COMPILE, str(folder / "model.mlir"), "-v", "--no-cache", f"-o{library}"])
    assert done.returncode == 0
    told = done.stderr.decode()
    for phase in ("relax", "calls", "tensors", "memrefs", "kernels", "flat", "machine code", *own):
        assert f" {phase} " in told
    assert f"{library.stat().st_size:,} bytes" in told


def test_interrupt_leaves_no_file(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C while the linker runs: neither the file nor a part of it exists."""
    linker, marker = tmp_path / "cc", tmp_path / "linking"
    linker.write_text(f"#!/bin/sh\ntouch {marker}\nsleep 100\n")
    linker.chmod(0o755)
    out = tmp_path / "out"
    out.mkdir()
    arguments = [*COMPILE, str(folder / "model.mlir"), "-o", str(out / "model.so")]
    code, _ = run_on_terminal(arguments, {"CC": str(linker)}, lambda _: marker.exists())
    assert code == 130
    assert list(out.iterdir()) == []
