"""MLIR's generic form as a tree of text: ops, blocks, regions, with types and attributes as strings.

Mutations work on this tree, which can represent invalid modules: `parse` and `Module.text` need no bindings and never
fail on wrong types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|>=|<=|==|[%@!#^][\w.$#:-]+|[\w.$+-]+|(?:\s|//[^\n]*)+|.', re.DOTALL)
OPEN, CLOSE = "([{<", ")]}>"


class TextError(Exception):
    """The text is not in the generic form."""


@dataclass(eq=False)
class Op:
    """``results = "name"(operands)[successors] <{properties}> (regions) {attributes} : (types) -> types``."""

    name: str
    results: list[str] = field(default_factory=list)
    """Each name by itself: ``%3#0``, ``%3#1`` for ``%3:2``."""
    operands: list[str] = field(default_factory=list)
    successors: list[str] = field(default_factory=list)
    properties: dict[str, str | None] = field(default_factory=dict)
    regions: list[list[Block]] = field(default_factory=list)
    attributes: dict[str, str | None] = field(default_factory=dict)
    operand_types: list[str] = field(default_factory=list)
    result_types: list[str] = field(default_factory=list)

    def attribute_tables(self) -> list[dict[str, str | None]]:
        """Attributes and properties; the value None is ``unit``."""
        return [table for table in (self.properties, self.attributes) if table]

    def walk(self) -> Iterator[tuple[Op, Block | None]]:
        """This op and all in it, each with its block."""
        yield self, None
        for region in self.regions:
            for block in region:
                for op in list(block.ops):
                    for inner, home in op.walk():
                        yield inner, home or block


@dataclass(eq=False)
class Block:
    """A label (may be empty), arguments with their types, and ops."""

    label: str = ""
    arguments: list[tuple[str, str]] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)


@dataclass(eq=False)
class Module:
    """The module op, with the text before it (aliases) and after it (resources)."""

    top: Op
    head: str = ""
    tail: str = ""

    def text(self) -> str:
        """The module in the generic form."""
        return f"{self.head}{_op_text(self.top, '')}\n{self.tail}"

    @property
    def functions(self) -> list[Op]:
        """The functions of the module."""
        return [op for op in self.top.regions[0][0].ops if op.name == "func.func"]

    def ops(self) -> list[tuple[Op, Block]]:
        """All ops but the module, each with its block."""
        return [(op, block) for op, block in self.top.walk() if block is not None]


def _op_text(op: Op, indent: str) -> str:
    text = indent
    if op.results:
        first = op.results[0].split("#")[0]
        text += f"{first}:{len(op.results)} = " if len(op.results) > 1 else f"{first} = "
    text += f'"{op.name}"({", ".join(op.operands)})'
    if op.successors:
        text += f"[{', '.join(op.successors)}]"
    if op.properties:
        text += f" <{_table_text(op.properties)}>"
    if op.regions:
        text += " (" + ", ".join(_region_text(region, indent) for region in op.regions) + ")"
    if op.attributes:
        text += f" {_table_text(op.attributes)}"
    results = ", ".join(op.result_types)
    if len(op.result_types) != 1 or results.startswith("("):
        results = f"({results})"
    return f"{text} : ({', '.join(op.operand_types)}) -> {results}"


def _table_text(table: dict[str, str | None]) -> str:
    return "{" + ", ".join(k if v is None else f"{k} = {v}" for k, v in table.items()) + "}"


def _region_text(region: Sequence[Block], indent: str) -> str:
    lines = ["{"]
    for block in region:
        if block.label:
            listed = ", ".join(f"{name}: {type_}" for name, type_ in block.arguments)
            lines.append(f"{indent}{block.label}({listed}):" if listed else f"{indent}{block.label}:")
        lines += [_op_text(op, indent + "  ") for op in block.ops]
    return "\n".join([*lines, indent + "}"])


def split_list(text: str) -> list[str]:
    """The parts of `text` between commas outside of all brackets."""
    parts, depth, current = [], 0, ""
    for token in TOKEN.findall(text):
        depth += (token in OPEN) - (token in CLOSE)
        if token == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += token
    return [*parts, current.strip()] if current.strip() else parts


def parse(text: str) -> Module:
    """The tree of a module that MLIR has printed in the generic form; raises `TextError` for other text."""
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text)
        self.place = 0

    def module(self) -> Module:
        start = self.place
        while self.place < len(self.tokens) and self.tokens[self.place] != '"builtin.module"':
            self.place += 1
        head = "".join(self.tokens[start : self.place])
        top = self.op()
        if not top.regions or not top.regions[0]:
            raise TextError("a module without a body")
        return Module(top, head, "".join(self.tokens[self.place :]).strip())

    def peek(self) -> str:
        while self.place < len(self.tokens) and self.tokens[self.place][0] in " \n/":
            self.place += 1
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            near = "".join(self.tokens[max(self.place - 40, 0) : self.place])
            raise TextError(f"expected {wanted or 'something'}, found {token!r} behind {near!r}")
        self.place += 1
        return token

    def bracketed(self) -> str:
        """The text between the next bracket and its partner."""
        self.take()
        depth, start = 1, self.place
        while depth:
            if self.place >= len(self.tokens):
                raise TextError("a bracket is not closed")
            depth += (self.tokens[self.place] in OPEN) - (self.tokens[self.place] in CLOSE)
            self.place += 1
        return "".join(self.tokens[start : self.place - 1])

    def op(self) -> Op:
        results: list[str] = []
        while self.peek().startswith("%"):
            results += self._result(self.take())
            if self.peek() == ",":
                self.take()
        if results:
            self.take("=")
        op = Op(self.take().strip('"'), results)
        op.operands = split_list(self.bracketed())
        if self.peek() == "[":
            op.successors = split_list(self.bracketed())
        if self.peek() == "<":
            op.properties = self._table(self.bracketed().strip()[1:-1])
        if self.peek() == "(":
            self.take()
            while self.peek() != ")":
                op.regions.append(self._region())
                if self.peek() == ",":
                    self.take()
            self.take()
        if self.peek() == "{":
            op.attributes = self._table(self.bracketed())
        self.take(":")
        op.operand_types = split_list(self.bracketed())
        self.take("->")
        op.result_types = split_list(self.bracketed()) if self.peek() == "(" else [self._type()]
        return op

    def _result(self, token: str) -> list[str]:
        name, _, count = token.partition(":")
        return [f"{name}#{i}" for i in range(int(count))] if count else [name]

    def _table(self, text: str) -> dict[str, str | None]:
        table: dict[str, str | None] = {}
        for item in split_list(text):
            name, equals, value = item.partition(" = ")
            table[name] = value if equals else None
        return table

    def _type(self) -> str:
        """A standalone type: up to the end of its line, or to an unmatched closing bracket."""
        self.peek()
        depth, start = 0, self.place
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            if depth == 0 and ("\n" in token or token[0] == "/" or token in CLOSE or token == ","):
                break
            depth += (token in OPEN) - (token in CLOSE)
            self.place += 1
        return "".join(self.tokens[start : self.place]).strip()

    def _region(self) -> list[Block]:
        self.take("{")
        blocks = [Block()]
        while self.peek() != "}":
            if self.peek().startswith("^"):
                label = self.take()
                block = Block(label.rstrip(":"))
                if self.peek() == "(":
                    pairs = [item.partition(": ") for item in split_list(self.bracketed())]
                    block.arguments = [(name, type_) for name, _, type_ in pairs]
                if not label.endswith(":"):
                    self.take(":")
                blocks.append(block)
            else:
                blocks[-1].ops.append(self.op())
        self.take()
        return [b for b in blocks if b.label or b.ops] or [Block()]
