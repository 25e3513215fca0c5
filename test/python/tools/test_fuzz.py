"""Mutated modules through parser, verifier and passes: no crash, no hang, no internal error."""

from __future__ import annotations

import os
import select
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
import sweep
import warm_process
from fuzz_corpus import MAKERS, corpus
from mutate import mutate, tokens
from warm_process import PipedChild

SEED = int(os.environ.get("RELAX_MLIR_FUZZ_SEED", "20261121"))
CASES = int(os.environ.get("RELAX_MLIR_FUZZ_CASES", "600" if sweep.ALL else "300"))
CASE_SECONDS = 20
TOTAL_SECONDS = 55 * CASES / 600
AT_LEAST = 5 * CASES // 6
PARSER_CRASHES = 0.01
"""Share of cases that may crash MLIR's own parser: the project cannot prevent that, but relax-opt survives."""


@dataclass
class Worker:
    """The process that runs the cases, forked again after it crashes or hangs."""

    process: PipedChild | None = None
    stderr: Path = field(default_factory=lambda: Path(os.devnull))

    def run(self, data: bytes) -> str:
        """The outcome of the case: the worker's answer, or ``crash`` or ``hang``."""
        process = self.process or self._start()
        process.stdin.write(b"%d\n" % len(data) + data)
        stage = "start"
        while ready := select.select([process.stdout], [], [], CASE_SECONDS)[0]:
            answer = process.stdout.readline().decode().strip()
            if not answer.startswith("stage "):
                break
            stage = answer.removeprefix("stage ")
        if ready and answer:
            return answer
        self.stop()
        return f"{'crash' if ready else 'hang'} in {stage}"

    def _start(self) -> PipedChild:
        script = Path(__file__).parents[1] / "support" / "fuzz_worker.py"
        with self.stderr.open("ab") as errors:
            self.process = PipedChild([str(script)], errors.fileno(), os.environ)
        return self.process

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process = None


def test_tokens_lose_nothing() -> None:
    for text in corpus():
        assert "".join(tokens(text)) == text


@pytest.mark.slow
def test_corpus_itself_runs() -> None:
    worker = Worker()
    texts = corpus()
    relax = len(MAKERS)
    try:
        answers = [worker.run(text.encode()) for text in (*texts[:relax], *sweep.every(texts[relax:], 32))]
    finally:
        worker.stop()
    assert not [a for a in answers if not a.startswith(("ok", "rejected"))]
    assert "ok" in answers


def assert_relax_opt_survives(path: Path) -> None:
    """The command reports the crash of MLIR's parser as an error."""
    done = warm_process.run(["-m", "relax_mlir.tools.opt", str(path), "-o", os.devnull])
    assert (done.returncode, b"error: crashed" in done.stderr) == (1, True)


@pytest.mark.slow
def test_mutated_modules(tmp_path: Path) -> None:
    texts = corpus()
    random = Random(SEED)
    worker = Worker(stderr=tmp_path / "stderr.txt")
    counts: Counter[str] = Counter()
    bad: list[str] = []
    parser_crashes: list[Path] = []
    deadline = time.monotonic() + TOTAL_SECONDS
    try:
        for number in range(CASES):
            if time.monotonic() > deadline and number >= AT_LEAST:
                break
            data = mutate(random.choice(texts), texts, random)
            answer = worker.run(data)
            kind = answer.split()[0]
            counts[kind] += 1
            if kind in ("ok", "rejected"):
                continue
            path = tmp_path / f"case-{number}.mlir"
            path.write_bytes(data)
            if answer == "crash in parser":
                parser_crashes.append(path)
            else:
                bad.append(f"{path}: {answer}")
    finally:
        worker.stop()
    print(f"seed {SEED}: {dict(counts)}")
    assert not bad, "\n".join(bad)
    assert len(parser_crashes) <= PARSER_CRASHES * CASES, parser_crashes
    for path in parser_crashes:
        assert_relax_opt_survives(path)
    assert counts["ok"] >= CASES // 120 and counts["rejected"] >= CASES // 6
