"""Tools forked from a warm process behave like new interpreters, and lit files have the same verdicts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm_process

ROOT = Path(__file__).resolve().parents[3]
LIT = ROOT / "test" / "lit"
PROGRAMS = {
    "streams": "import sys; print(sys.stdin.read().upper()); print('\u00e9', file=sys.stderr)",
    "arguments": "import os, sys; print(sys.argv[1:], __name__, os.environ['WARM_TEST'], os.getcwd())",
    "buffered": "print('x' * 100_000, end='')",
    "code": "raise SystemExit(7)",
    "large code": "raise SystemExit(258)",
    "text": "raise SystemExit('why')",
    "nothing": "raise SystemExit(None)",
    "exception": "print('before'); raise KeyError('surprise')",
    "crash": "import ctypes; print('lost'); ctypes.string_at(0)",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "broken output": "import os; os.close(1); print('nowhere')",
    "buffers": "import sys; print(sys.stdout.isatty(), sys.stderr.line_buffering)",
    "its own module": "import __main__; value = 3; print(__main__.value)",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_ends_alike(program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARM_TEST", "here")
    monkeypatch.chdir(tmp_path)
    arguments = ["-c", program, "one", "--two"]
    cold = subprocess.run([sys.executable, *arguments], input=b"some text", capture_output=True, timeout=60)
    warm = warm_process.run(arguments, b"some text")
    assert (warm.returncode, warm.stdout) == (cold.returncode, cold.stdout)
    if program == PROGRAMS["exception"]:
        assert b"KeyError: 'surprise'" in warm.stderr and b"KeyError: 'surprise'" in cold.stderr
    elif program != PROGRAMS["broken output"]:  # whose last output is that of the interpreter
        assert warm.stderr == cold.stderr


def test_scripts_see_their_folder(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("VALUE = 5")
    script = tmp_path / "program.py"
    script.write_text("import sys; import beside_it; print(beside_it.VALUE, sys.argv[1:], __name__)")
    assert warm_process.run([str(script), "a"]).stdout == b"5 ['a'] __main__\n"


def test_what_takes_too_long_is_killed() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        warm_process.run(["-c", "import time; print('started'); time.sleep(600)"], timeout=0.5)
    assert warm_process.run(["-c", "print(1)"]).stdout == b"1\n"


def test_what_has_ended_may_be_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server knows of the child's exit, but has not reported it to this process yet."""
    with open(os.devnull, "r+b") as nothing:
        child = warm_process.start(["-c", "raise SystemExit(7)"], (nothing.fileno(),) * 3, os.environ)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{child.pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    told = child.wait

    def late(timeout: float | None = None) -> int:
        if timeout is not None:
            raise subprocess.TimeoutExpired(child.args, timeout)
        return told()

    monkeypatch.setattr(child, "wait", late)
    child.kill()
    assert child.returncode == 7


FILES = {
    "passes": """// RUN: relax-opt %s --canonicalize | filecheck %s
// RUN: echo "some words" > %t.txt && cat < %t.txt | filecheck %s --check-prefix=WORDS
// RUN: not relax-opt %t.none 2>&1 | filecheck %s --check-prefix=NONE
// RUN: python -c "import sys; sys.exit(3)" || echo "went on"
// RUN: env WARM_TEST=told python -c "import os; print(os.environ['WARM_TEST'])" | filecheck %s --check-prefix=TOLD
// CHECK: func.func @f
// WORDS: some words
// NONE: cannot open input file
// TOLD: told
func.func @f() { return }
""",
    "check-fails": "// RUN: echo f | filecheck %s\n// CHECK: g\n",
    "not-fails": "// RUN: not filecheck --version\n",
    "early-failure": '// RUN: python -c "raise SystemExit(1)" && echo "went on"\n',
    "pipe-fails": '// RUN: echo f | python -c "raise SystemExit(1)"\n',
    "pipe-fails-first": '// RUN: python -c "raise SystemExit(1)" | python -c "input" > %t\n',
    "crash": '// RUN: python -c "import ctypes; ctypes.string_at(0)"\n',
    "not-crash": '// RUN: not python -c "import ctypes; ctypes.string_at(0)"\n',
    "no-run": "func.func @f() { return }\n",
}


def verdicts(folder: Path, *options: str) -> dict[str, str]:
    """The verdict of each file."""
    program = "import sys; from lit.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "-v", "--workers=1", *options, str(folder)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, check=False)
    lines = (line.split() for line in done.stdout.splitlines() if " :: " in line and line[0].isupper())
    found = {words[3]: words[0] for words in lines if words[0].endswith(":")}
    assert found, done.stdout + done.stderr
    return found


@pytest.mark.slow
def test_verdicts_of_lit_are_the_same(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / f"{name}.mlir").write_text(text)
    config = (LIT / "lit.cfg.py").read_text().replace("__file__", repr(str(LIT / "lit.cfg.py")))
    config += f"\nconfig.test_source_root = config.test_exec_root = {str(tmp_path)!r}\n"
    (tmp_path / "lit.cfg.py").write_text(config)
    warm, cold = verdicts(tmp_path), verdicts(tmp_path, "-Dcold=1")
    assert warm == cold
    passing = {name for name, verdict in warm.items() if verdict == "PASS:"}
    assert passing == {"passes.mlir"}  # pipes fail with any of their commands
    assert len(warm) == len(FILES)
