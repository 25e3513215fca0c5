"""A child process that runs cases: a line ``suite name`` in, a line of JSON out; ``names`` asks for the names."""

from __future__ import annotations

import json
import os
import sys
import warnings


def main() -> None:
    """Answer until the input ends. What cases print goes to the standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    from onnx_suites import KINDS, case_names, run_case
    from relax_mlir.error import UnsupportedError

    for line in sys.stdin:
        if line == "names\n":
            answers.write(json.dumps({kind: case_names(kind) for kind in KINDS}) + "\n")
            continue
        kind, name = line.split()
        verdict, reason = "passed", ""
        try:
            run_case(kind, name)
        except UnsupportedError as error:
            verdict, reason = "refused", str(error)
        except BaseException as error:
            verdict, reason = "failed", f"{type(error).__name__}: {error}"
        answers.write(json.dumps([kind, name, verdict, " ".join(reason.split())[:2000]]) + "\n")


if __name__ == "__main__":
    main()
