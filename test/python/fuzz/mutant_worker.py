"""The process that runs mutants: reads jobs from stdin, one JSON object a line, and answers with stages and a report.

A job is ``{"seed": S, "number": N}``, with ``keep`` for some of its mutations, or ``{"mutant": {…}}``. Answers are
lines: ``mutant <json>``, ``stage <text>``, and at last ``report <json>``.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

os.environ["RELAX_MLIR_REPRODUCERS"] = "0"
ADDRESS_SPACE = 12 << 30


def main() -> None:
    """Answer jobs until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)  # what mutants print is no answer
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import oracle
    from mutants import Mutant, make

    def say(kind: str, text: str) -> None:
        answers.write(f"{kind} {text}\n".replace("\r", " "))
        answers.flush()

    oracle.register_functions()
    say("ready", "")
    for line in sys.stdin:
        job: dict[str, Any] = json.loads(line)
        if "mutant" in job:
            mutant = Mutant.of_json(job["mutant"])
        else:
            say("stage", "make")
            mutant = make(job["seed"], job["number"], job.get("keep"))
            say("mutant", json.dumps(mutant.as_json()))
        quick = bool(job.get("compile_only"))
        report = oracle.run(mutant, lambda stage: say("stage", stage.replace("\n", " ")), quick)
        say("report", json.dumps(report))


if __name__ == "__main__":
    main()
