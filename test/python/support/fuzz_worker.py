"""The process that runs mutated modules, one after the other, and reports each outcome.

Reads cases from stdin (a decimal length, a newline, that many bytes). Writes ``stage <what>`` before each step, and at
last ``ok``, ``rejected <error>``, or ``internal <what escaped>``. The parent detects when it crashes or hangs.
"""

from __future__ import annotations

import sys
import traceback

from relax_mlir.analysis import well_formed
from relax_mlir.diagnostics import collect, parse_module
from relax_mlir.dialects import dialect
from relax_mlir.error import PassError, RelaxError
from relax_mlir.instrument import PassInstrument
from relax_mlir.mlir import ir
from relax_mlir.module_file import module_text
from relax_mlir.transform import PassContext, PassInfo, parse_pipeline

RELAX, LOWER = "relax-to-llvm", "relax-to-llvm{start=tensors}"


def say(line: str) -> None:
    """One line to the parent."""
    sys.stdout.buffer.write(line.encode(errors="replace") + b"\n")
    sys.stdout.buffer.flush()


class Stages(PassInstrument):
    """Reports the running pass."""

    def run_before_pass(self, module: ir.Module, info: PassInfo) -> None:
        if not info.composite:
            say(f"stage {info.text}")


def run(data: bytes) -> str:
    """Parse, verify, print, clean up, lower to the end (modules without Relax from memrefs on), print again."""
    context = dialect.context()
    lowering = RELAX if b"relax" in data else LOWER
    with collect(context, lambda diagnostic: None), PassContext(instruments=[Stages()]):
        try:
            say("stage parser")
            module = parse_module(data, context)
            say("stage verifier and printer")
            module.operation.verify()
            module_text(module)
            say("stage well-formedness")
            well_formed.check(module)
            parse_pipeline(f"canonicalize,cse,symbol-dce,{lowering}").apply_(module)
            say("stage printer")
            module_text(module)
        except ir.MLIRError as error:
            return f"rejected {_line(error)}"
        except PassError as error:
            kind = "internal" if "internal error" in str(error) else "rejected"
            return f"{kind} {_line(error)}"
        except RelaxError as error:
            return f"rejected {type(error).__name__}: {_line(error)}"
        except Exception:
            return f"internal {' | '.join(traceback.format_exc().splitlines()[-6:])}"
    return "ok"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def main() -> None:
    while header := sys.stdin.buffer.readline():
        say(run(sys.stdin.buffer.read(int(header))))


if __name__ == "__main__":
    main()
