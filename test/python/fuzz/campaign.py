"""A run: mutants by number, figures, and a file for each kind of failure."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from repro_file import write_repro
from shrink import shrunk
from worker_pool import Answer, Worker

PROGRESS = 100
"""The figures are printed after each batch of this many mutants."""
STAGES = ("parsed", "verified", "built", "executed")
KINDS = {"crash": "crashes", "hang": "hangs", "internal": "internal errors", "difference": "differences"}


def signature(answer: Answer) -> str:
    """The common part of failures with one cause: the text without numbers, names and values."""
    text = answer.failure.partition(" | ")[0] if answer.kind == "internal" else answer.failure
    last = answer.failure.split(" | ")[-1] if answer.kind == "internal" else ""
    text = re.sub(r"call \S+?\(.*", "call", text) if answer.kind in ("crash", "hang") else text
    text = re.sub(r"difference: .*?\): ", "difference: ", text)
    return re.sub(r"\d+|0x[0-9a-f]+|/\S+|'[^']*'|\"[^\"]*\"", "#", f"{text} {last}")[:160]


@dataclass
class Campaign:
    """The state of a run."""

    seed: int
    seconds: float
    out: Path
    shrink: bool = True
    stop: bool = False
    compile_only: bool = False
    """Without machine code and calls, which is much faster."""
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Answer]] = field(default_factory=list)
    signatures: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, numbers: Iterable[int], workers: int = 1) -> None:
        """Run these mutants, with one thread per worker."""
        queue: SimpleQueue[int] = SimpleQueue()
        for number in numbers:
            queue.put(number)
        threads = [threading.Thread(target=self._work, args=(queue,)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, queue: SimpleQueue[int]) -> None:
        worker = Worker(self.seconds, self.compile_only)
        try:
            while not (self.stop and self.failures):
                try:
                    number = queue.get_nowait()
                except Empty:
                    return
                answer = worker.run({"seed": self.seed, "number": number})
                if answer.kind in ("crash", "hang"):
                    answer = self._confirmed(worker, number, answer)
                self._record(number, answer, worker)
        finally:
            worker.stop()

    def _confirmed(self, worker: Worker, number: int, answer: Answer) -> Answer:
        """Repeat in a fresh process: a crash may be due to an earlier mutant, a hang to a busy machine."""
        slow, worker.seconds = worker.seconds, 2 * worker.seconds
        again = worker.run({"seed": self.seed, "number": number})
        worker.seconds = slow
        if answer.kind == "hang" or again.kind == answer.kind:
            return again
        answer.failure += " (not when it runs alone)"
        return answer

    def _record(self, number: int, answer: Answer, worker: Worker) -> None:
        with self.lock:
            self.counts["mutants"] += 1
            if self.counts["mutants"] % PROGRESS == 0:
                print(self._figures(), flush=True)
            report = answer.report or {}
            self.counts.update(report.get("reached", ()))
            self.counts["compared"] += bool(report.get("compared"))
            if report.get("refused"):
                self.refused[report["refused"]] += 1
            if report.get("skipped"):
                self.skipped[report["skipped"]] += 1
            if not answer.failure:
                return
            self.counts[KINDS[answer.kind]] += 1
            self.failures.append((number, answer))
            key = signature(answer)
            self.signatures[key] += 1
            if self.signatures[key] > 1:
                return
            print(f"mutant {number}: {answer.failure[:400]}", flush=True)
        mutant = answer.mutant
        if self.shrink and mutant is not None:
            mutant = shrunk(worker, self.seed, number, answer, signature)
        if mutant is not None:
            path = write_repro(self.out, self.seed, number, mutant, answer)
            print(f"  {path}", flush=True)

    def _figures(self) -> str:
        names = ("mutants", *STAGES, "compared", *KINDS.values())
        return ", ".join(f"{name} {self.counts[name]}" for name in names)

    def summary(self) -> str:
        """The figures."""
        lines = [self._figures()]
        lines.append("refused: " + ", ".join(f"{kind} {n}" for kind, n in self.refused.most_common()))
        if self.skipped:
            lines.append("not compared: " + ", ".join(f"{why} {n}" for why, n in self.skipped.most_common(12)))
        lines += [f"{n} times: {text}" for text, n in self.signatures.most_common()]
        return "\n".join(lines)
