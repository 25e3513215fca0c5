"""The process that runs mutated modules: one after the other, and says how each ended.

Reads cases from stdin (a decimal length, a newline, that many bytes) and writes one line per case: ``ok``,
``rejected <error>``, or ``internal <what escaped>``. The parent notices when it dies or hangs.
"""

from __future__ import annotations

import sys
import traceback

from relax_mlir.diagnostics import collect
from relax_mlir.dialects import dialect
from relax_mlir.error import PassError, RelaxError
from relax_mlir.mlir import ir
from relax_mlir.module_text import module_text
from relax_mlir.transform import PassContext, parse_pipeline


def run(data: bytes, pipeline: str) -> str:
    """Parse, verify, print, transform and print again."""
    context = dialect.context()
    context.allow_unregistered_dialects = False
    with collect(context, lambda diagnostic: None):
        try:
            module = ir.Module.parse(data, context)
            module.operation.verify()
            module_text(module)
            with PassContext():
                parse_pipeline(pipeline)(module)
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


def main(pipeline: str) -> None:
    while header := sys.stdin.buffer.readline():
        data = sys.stdin.buffer.read(int(header))
        answer = run(data, pipeline)
        sys.stdout.buffer.write(answer.encode(errors="replace") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
