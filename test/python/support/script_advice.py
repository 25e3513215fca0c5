"""Advice in messages of scripts: the wrong line, what its message says, the line that follows it, which builds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest
import relax_mlir as rx
from relax_mlir.error import RelaxError
from relax_mlir.script import parse


class Advice:
    """Cases by name, in a `module` with ``{functions}``, of which each is `function` with ``{name}`` and ``{line}``."""

    def __init__(self, module: str, function: str, cases: Mapping[str, tuple[str, str, str]]) -> None:
        self.module, self.function, self.cases = module, function, cases

    def text(self, lines: Mapping[str, str]) -> str:
        """A function of each name that holds these lines."""
        functions = [self.function.replace("{name}", n).replace("{line}", line) for n, line in lines.items()]
        return self.module.replace("{functions}", "".join(functions))

    def build(self) -> rx.Executable:
        """What the advice says, in one module."""
        return rx.build(parse(self.text({f"case_{name}": case[2] for name, case in self.cases.items()})))

    def check(self, name: str, built: rx.Executable, use: Callable[[rx.IRModule], object]) -> None:
        """The wrong line is refused where the script is read, or by `use`; what the advice says is in `built`."""
        wrong, message, _ = self.cases[name]
        with pytest.raises(RelaxError) as raised:
            use(parse(self.text({"main": wrong})))
        assert re.search(message, str(raised.value)), raised.value
        assert re.search(r"<script>:\d+:\d+: ", str(raised.value))
        assert f"case_{name}" in built
