"""The debugger's commands, one per line."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable
from typing import TextIO

from relax_mlir.error import ArgumentError
from relax_mlir.vm.debugger import Debugger

PROMPT = "(vm) "
HELP = """\
run FUNCTION [VALUE ...]  run a function with numbers, strings, tuples
break FUNCTION [NUMBER]   stop before an instruction (0 is the first)
catch FUNCTION            stop before calls of a function
clear                     forget all breakpoints
step, s                   one instruction, into functions
next, n                   one instruction, with what it calls
finish, f                 go on until the function returns
continue, c               go on to the next breakpoint
where, w                  the functions that are active
registers, r [FRAME]      what registers hold
list, l [FUNCTION]        the instructions
help, h                   this text
quit, q                   leave
An empty line repeats the last command."""

SHORT = {
    "s": "step",
    "n": "next",
    "f": "finish",
    "c": "continue",
    "w": "where",
    "r": "registers",
    "l": "list",
    "h": "help",
    "q": "quit",
    "b": "break",
}


def interact(debugger: Debugger, commands: TextIO, output: TextIO) -> None:
    """Execute the commands in a stream. Errors of the program are printed and keep the debugger's state."""
    last = ""
    while True:
        output.write(PROMPT)
        output.flush()
        line = commands.readline()
        if not line:
            output.write("\n")
            return
        line = line.strip() or last
        last = line
        if not line:
            continue
        try:
            words = shlex.split(line)
            name = SHORT.get(words[0], words[0])
            if name == "quit":
                return
            shown = _obey(debugger, name, words[1:])
        except Exception as error:  # any error of a packed function
            shown = f"{type(error).__name__}: {error}"
        if shown:
            output.write(f"{shown}\n")


def _obey(debugger: Debugger, name: str, words: list[str]) -> str:
    known: dict[str, tuple[int, int, Callable[..., object]]] = {
        "run": (1, 4096, lambda function, *values: debugger.run(function, *map(_value, values))),
        "break": (1, 2, lambda function, number="0": debugger.break_at(function, _number(number))),
        "catch": (1, 1, debugger.break_on_call),
        "clear": (0, 0, debugger.clear),
        "step": (0, 0, debugger.step),
        "next": (0, 0, debugger.next),
        "finish": (0, 0, debugger.finish),
        "continue": (0, 0, debugger.continue_),
        "where": (0, 0, debugger.where),
        "registers": (0, 1, lambda frame="0": debugger.registers(_number(frame))),
        "list": (0, 1, debugger.listing),
        "help": (0, 0, lambda: HELP),
    }
    if name not in known:
        raise ArgumentError(f"unknown command '{name}'; help lists them")
    least, most, function = known[name]
    if not least <= len(words) <= most:
        raise ArgumentError(f"{name}: {len(words)} words behind it; help tells what it takes")
    shown = function(*words)
    return "" if shown is None else str(shown)


def _number(word: str) -> int:
    if not word.isdecimal():
        raise ArgumentError(f"'{word}' is no number")
    return int(word)


def _value(word: str) -> object:
    """Parse a number, a tuple, True or None; anything else is a string."""
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return word
