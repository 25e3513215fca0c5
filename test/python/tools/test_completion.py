"""Completion in shells: every option is in every script, and bash completes with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from relax_mlir.error import UnknownNameError, UnsupportedError
from relax_mlir.tools import compile_command, run_command, tune_command
from relax_mlir.tools.command_line import completion_script, opt_parser
from relax_mlir.tools.opt_flags import FLAGS, SHELLS
from relax_mlir.transform import registry

PARSERS = {
    "relax-opt": opt_parser,
    "relax-compile": compile_command.parser,
    "relax-run": run_command.parser,
    "relax-tune": tune_command.parser,
}

DRIVER = """
source {script}
name=$(complete -p {tool} | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
$name {tool} "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    folder = tmp_path_factory.mktemp("completion")
    found = {}
    for tool, parser in PARSERS.items():
        for shell in SHELLS:
            path = found[tool, shell] = folder / f"{tool}.{shell}"
            path.write_text(completion_script(parser(), shell))
    return found


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_is_there(scripts: dict[tuple[str, str], Path], shell: str) -> None:
    text = scripts["relax-opt", shell].read_text()
    names = [flag.name for flag in FLAGS if len(flag.name) > 1]
    names += [*registry.names(), "canonicalize", "one-shot-bufferize"]
    assert [name for name in names if name not in text] == []
    for tool, options in (
        ("relax-compile", ("entry", "emit", "target")),
        ("relax-run", ("input", "rtol", "tuned")),
    ):
        text = scripts[tool, shell].read_text()
        assert all(name in text for name in (*options, "print-completion", "version"))


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", PARSERS)
def test_the_shell_reads_it(scripts: dict[tuple[str, str], Path], tool: str, shell: str) -> None:
    executable = shutil.which(shell)
    if executable is None:
        pytest.skip(f"no {shell} here")
    subprocess.run([executable, "-n", str(scripts[tool, shell])], check=True, timeout=60)


@pytest.mark.parametrize(
    ("tool", "words", "expected"),
    [
        ("relax-opt", "relax-opt --fuse-o", ["--fuse-ops", "--fuse-ops-by-pattern"]),
        ("relax-opt", "relax-opt x.mlir --mlir-print-ir-t", ["--mlir-print-ir-tree-dir"]),
        ("relax-opt", "relax-opt --emit b", ["bytecode"]),
        ("relax-opt", "relax-opt --print-completion z", ["zsh"]),
        ("relax-opt", "relax-opt mod", ["model.mlir"]),
        ("relax-opt", "relax-opt -o mod", ["model.mlir"]),
        ("relax-opt", "relax-opt --no-such", [""]),
        ("relax-compile", "relax-compile --emit expl", ["explicit-memory"]),
        ("relax-compile", "relax-compile mod", ["model.mlir"]),
        ("relax-run", "relax-run --ran", ["--random"]),
        ("relax-run", "relax-run --compare mod", ["model.mlir"]),
        ("relax-tune", "relax-tune --bud", ["--budget"]),
        ("relax-tune", "relax-tune --search opt", ["optuna"]),
        ("relax-tune", "relax-tune --strategies mod", ["model.mlir"]),
    ],
)
def test_bash_completes(
    scripts: dict[tuple[str, str], Path], tool: str, words: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "model.mlir").touch()
    code = DRIVER.format(script=scripts[tool, "bash"], tool=tool, words=words)
    done = subprocess.run(
        ["bash", "--norc", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == expected


def test_another_shell_and_no_shtab(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="unknown shell 'csh'"):
        completion_script(opt_parser(), "csh")
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(UnsupportedError, match=r"needs shtab: pip install 'relax-mlir\[completion\]'"):
        completion_script(opt_parser(), "bash")


def test_the_option_of_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_command.run(["--print-completion", "bash"]) == 0
    assert "complete" in capsys.readouterr().out
    assert run_command.run(["--print-completion", "ksh"]) == 2
    assert "invalid choice: 'ksh'" in capsys.readouterr().err
