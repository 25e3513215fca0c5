"""Assembly text, parsed for tests: functions, their innermost loops, and instructions of a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

LABEL = re.compile(r'^"?([\w.$]+)"?:')
LOCAL = ".L"
BRANCH = re.compile(r"^(?:j\w+|b|b\.\w+|cbn?z|tbn?z)\s.*?(\.L[\w$]+)$")
COMMENT = re.compile(r"\s#\s|//")
STACK = re.compile(r"\(%rsp\b|\[sp\b")


@dataclass(frozen=True)
class Code:
    """Lines of assembly: labels, and instructions with one blank between mnemonic and operands."""

    lines: tuple[str, ...]

    def matching(self, pattern: str) -> list[str]:
        """The instructions that a regular expression matches from their start."""
        return [line for line in self.lines if re.match(pattern, line)]

    def count(self, pattern: str) -> int:
        """The number of instructions that `matching` finds."""
        return len(self.matching(pattern))

    @property
    def on_the_stack(self) -> list[str]:
        """Instructions that touch the stack: spilled registers, and arguments in memory."""
        return [line for line in self.lines if STACK.search(line) and not line.startswith("lea")]

    @property
    def calls(self) -> list[str]:
        """Names of the functions that are called by name."""
        found = (re.match(r'(?:callq?|bl) "?([\w.$]+)', line) for line in self.lines)
        return [match[1] for match in found if match]

    @property
    def inner_loops(self) -> list[Code]:
        """The innermost loops, from a label to a backward jump to it, longest first."""
        places = {line[:-1]: n for n, line in enumerate(self.lines) if line.startswith(LOCAL) and line[-1] == ":"}
        jumps = [(places.get(m[1], n), n) for n, line in enumerate(self.lines) if (m := BRANCH.match(line))]
        loops = {(start, end) for start, end in jumps if start < end}
        inner = [
            (start, end)
            for start, end in loops
            if not any(start <= s and e <= end and (s, e) != (start, end) for s, e in loops)
        ]
        found = [Code(self.lines[start : end + 1]) for start, end in sorted(inner)]
        return sorted(found, key=lambda loop: -len(loop.lines))

    def loop_with(self, pattern: str) -> Code:
        """The innermost loop with the most instructions of a kind."""
        return max(self.inner_loops, key=lambda loop: loop.count(pattern))


@dataclass(frozen=True)
class Assembly:
    """The text of a module."""

    text: str

    @cached_property
    def functions(self) -> dict[str, Code]:
        """The code of each function by its name."""
        found: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in self.text.split("\n"):
            label = LABEL.match(line)
            if label and not label[1].startswith(LOCAL):
                lines = found.setdefault(label[1], [])
            elif label:
                lines.append(f"{label[1]}:")
            elif line[:1].isspace() and not line.strip().startswith("."):
                words = COMMENT.split(line)[0].split(None, 1)
                lines += [" ".join(word.strip() for word in words)] if words else []
        return {name: Code(tuple(code)) for name, code in found.items() if code}

    def __getitem__(self, name: str) -> Code:
        return self.functions[name]

    @property
    def everything(self) -> Code:
        """The code of all functions."""
        return Code(tuple(line for code in self.functions.values() for line in code.lines))


def destinations(instructions: Sequence[str]) -> set[str]:
    """The registers that are written: the last operand in AT&T's syntax of x86, the first in AArch64's."""
    operands = [line.split(" ", 1)[1].split(",") for line in instructions]
    return {(found[-1] if "%" in found[-1] else found[0]).strip() for found in operands}
