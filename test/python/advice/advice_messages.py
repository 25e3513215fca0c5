"""The advice in the project's error texts, found in its sources.

A message is a string of the sources, with its fields (``{name}``) as gaps. It contains advice if

- a clause after a semicolon is none of `EXPLANATIONS`, or
- the text, or a clause after a colon or a bracket, begins with one of `VERBS`, or with the name of something that can
  be called (``op.take takes …``), and is none of `NO_ADVICE`.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from advice_exceptions import EXPLANATIONS, NO_ADVICE, OTHER_TEXTS

ROOT = Path(__file__).parents[3]
ROOMS = ("dialects", "passes", "lowering", "python/relax_mlir")
GAP = "\x00"
"""The placeholder for a field of a message."""
VERBS = """
    add allocate allow annotate append apply ask assign astype await begin bind bind-symbolic-vars branch break
    build call carry cast change check choose clone close compare compile compute concatenate construct convert
    copy count create cut declare define delete describe divide drop emit end enter estimate exclude export fill
    fix free get give go hand hold import include increase initialise insert install invoke join keep leave let
    limit list load look lower make map mark match match_shape merge move multiply name omit open order output
    pack pad pass permute pick pip place precede prefer prepend put raise read reduce refer register remove
    rename reorder repeat replace reset reshape restart return rewrite round run save see select set slice sort
    specify split squeeze start state stop store subtract sum supply swap switch take test transpose try turn
    unpack unroll update upgrade use vouch walk wait work wrap write
"""
_VERB = re.compile(
    rf"(?:please |then |first |instead |do not )?(?:{'|'.join(re.findall('[a-z_-]+', VERBS))})(?![\w-]|s\b)"
)
_API = re.compile(
    r"`?(?:after |by |as in )?(?:(?:op|R|T|te|ib|bb|rx|I|tvm_ffi|torch|numpy|relax|IRModule|BlockBuilder)\.\w"
    r"|relax-opt |override=|-m[a-z]+)"
)
_NAME = re.compile(
    r"[\w.()]+(?:: | of '| '\x00'| at \x00| '\x00':|\(\x00)"
    r"|[\w.]+(?:\(.*?\))? (?:takes?|stands?|is|and|has|names|holds) "
)
"""The beginning of a clause with the name of the cause, as in ``reshape: …`` and ``R.output stands …``."""
CLAUSE = re.compile(r"[;:] |\(|, so | -> ")
_IR = re.compile(r"%\w+ = |^\W*(?:arith|llvm|func|memref|scf|module|cf)\.|\\n|^<|\n")


@dataclass(frozen=True)
class Message:
    """A text of the sources, usually one that gives advice."""

    place: str
    text: str

    def is_in(self, error: str) -> bool:
        """True if an error has this message, with any text in the gaps."""
        place = 0
        for part in self.text.split(GAP):
            place = error.find(part, place)
            if place < 0:
                return False
            place += len(part)
        return True

    def __str__(self) -> str:
        return f"{self.place}: {self.text.replace(GAP, '{}')}"


def advice_of(text: str) -> list[str]:
    """The clauses of a text that give advice."""
    found = []
    for separator, clause in clauses(text):
        if separator == "; ":
            if not any(re.match(pattern, clause) for pattern in EXPLANATIONS):
                found.append(clause)
        elif (_VERB.match(clause) or _API.match(clause)) and not _NAME.match(clause):
            found.append(clause)
    if any(re.search(pattern, text) for pattern in NO_ADVICE):
        return []
    return found


def clauses(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of the text before a clause and the clause, up to the next semicolon."""
    yield "", text.split("; ")[0]
    for match in CLAUSE.finditer(text):
        yield match.group(), text[match.end() :].split("; ")[0]


@functools.cache
def texts() -> list[Message]:
    """All texts of the sources, in their order."""
    return [
        Message(f"{path.relative_to(ROOT)}:{line}", text)
        for path in sources()
        for line, text in strings(ast.parse(path.read_text()))
    ]


def messages() -> list[Message]:
    """The texts that give advice."""
    return [message for message in texts() if advice_of(message.text)]


def sources() -> list[Path]:
    """The project's own files that raise errors."""
    links = {ROOT / "python/relax_mlir" / name for name in ("dialects", "passes", "lowering")}
    return [
        path
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if not links & set(path.parents) and not any(path.match(other) for other in OTHER_TEXTS)
    ]


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts of a file, without docstrings and IR: the line, and the text with gaps in place of fields."""
    for node in _string_nodes(tree):
        text = _text(node)
        if text is not None and " " in text and not _IR.search(text):
            yield node.lineno, text


def _string_nodes(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The strings of a tree that are neither docstrings nor parts of others; `ast.walk` takes four times as long."""
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, is_part = left.pop()
        if isinstance(node, ast.Constant):
            if not is_part:
                yield node
            continue
        if isinstance(node, ast.Name) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node, ast.JoinedStr):
            yield node
            is_part = True
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, list):
                left += [(each, is_part) for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                left.append((value, is_part))


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{\d(?::\w+)?\}", GAP, node.value)  # str.format's fields
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
    return None


if __name__ == "__main__":
    for found in messages():
        print(found)
