"""Runs lit files with a module replaced by a mutant."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lit.discovery
import lit.LitConfig
import lit.Test
from pass_files import importers

CHILD = Path(__file__).with_name("child.py")


class LitRuns:
    """Some lit files, whose ``relax-opt`` runs a mutant; the tools are forked from a process that is warm.

    Nothing in the tree changes: a mutant is a file in a temporary folder, and a child of that process reads it instead
    of the module (`child`).
    """

    def __init__(self, paths: Sequence[Path], seconds: int) -> None:
        self.seconds = seconds
        self.folder = tempfile.TemporaryDirectory(prefix="relax-mlir-mutants-")
        os.environ["RELAX_MLIR_LIT_OUTPUT"] = self.folder.name
        config = lit.LitConfig.LitConfig(
            progname="mutants",
            path=[],
            diagnostic_level="error",
            useValgrind=False,
            valgrindLeakCheck=False,
            valgrindArgs=[],
            noExecute=False,
            debug=False,
            isWindows=os.name == "nt",
            order="smart",
            params={},
        )
        self.config = config
        self.tests = lit.discovery.find_tests_for_inputs(config, [str(path) for path in paths])
        order = [path.resolve() for path in paths]
        self.tests.sort(key=lambda test: order.index(Path(test.getSourcePath()).resolve()))
        for test_config in {id(test.config): test.config for test in self.tests}.values():
            test_config.maxIndividualTestTime = 15 * seconds  # for what waits; the machine may be busy
            test_config.substitutions = [_mutated(*pair) for pair in test_config.substitutions]

    def failing(self, module: str, source: str) -> tuple[str, str]:
        """The first file that fails with this source of a module, and its output; empty strings if none does."""
        folder = Path(self.folder.name) / str(os.getpid())
        folder.mkdir(exist_ok=True)
        request = folder / "mutant.json"
        stale = sorted(importers(module))
        described = {"module": module, "source": source, "stale": stale, "seconds": self.seconds}
        request.write_text(json.dumps(described), encoding="utf-8")
        for place, test in enumerate(self.tests):
            test.suite.exec_root = str(folder)
            test.config.environment |= {"RELAX_MLIR_MUTANT": str(request), "RELAX_MLIR_IN_PROCESS": "1"}
            result = test.config.test_format.execute(test, self.config)
            if result.code is not lit.Test.PASS:
                self.tests.insert(0, self.tests.pop(place))  # it may notice the next one, too
                return test.getFullName(), result.output
        return "", ""

    def check(self, module: str, source: str) -> None:
        """Run the files with the unchanged source.

        Raises:
            SystemExit: one of them fails.
        """
        name, output = self.failing(module, source)
        if name:
            raise SystemExit(f"{name} fails without any mutation of {module}:\n{output}")


def _mutated(pattern: Any, command: Any) -> tuple[Any, Any]:
    """A substitution of lit; that of ``relax-opt`` runs the mutant."""
    if "-m relax_mlir.tools.opt" not in command:
        return pattern, command
    python = command.partition(" -m ")[0]
    code = f"import sys, runpy; runpy.run_path({str(CHILD)!r}, run_name='__main__')"
    return pattern, f"{python} -c {shlex.quote(code)}"
