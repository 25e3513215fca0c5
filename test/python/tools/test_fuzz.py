"""Mutated modules through parser, verifier and passes: no crash, no hang, no internal error."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from mutate import mutate, tokens
from relax_mlir.transform import registry

LIT = Path(__file__).parents[2] / "lit"
SEED = int(os.environ.get("RELAX_MLIR_FUZZ_SEED", "20261121"))
CASES = int(os.environ.get("RELAX_MLIR_FUZZ_CASES", "600"))
CASE_SECONDS = 20
TOTAL_SECONDS = 55 * CASES / 600
AT_LEAST = 500
MOST_LINES = 120
FULL = "relax-to-llvm"
PIPELINE = f"builtin.module({FULL if registry.is_known(FULL) else 'canonicalize,cse,symbol-dce'})"

SEEDS = (
    """
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
    "relax.output"(%1) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
""",
    """
func.func @main(%a: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%d, %n) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %in : f32
      linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
""",
)


def corpus() -> list[str]:
    """The modules of the lit tests, and some of our own."""
    found = list(SEEDS)
    for path in sorted(LIT.rglob("*.mlir")):
        for part in path.read_text(encoding="utf-8").split("// -----"):
            lines = [line for line in part.split("\n") if not line.lstrip().startswith("//")]
            if any(lines) and len(lines) <= MOST_LINES:
                found.append("\n".join(lines))
    return found


@dataclass
class Worker:
    """The process that runs the cases, started anew when it dies or hangs."""

    process: subprocess.Popen[bytes] | None = None
    stderr: Path = field(default_factory=lambda: Path(os.devnull))

    def run(self, data: bytes) -> str:
        """How the case ended: the worker's answer, or ``crash`` or ``hang``."""
        process = self.process or self._start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"%d\n" % len(data) + data)
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ready = selector.select(CASE_SECONDS)
        answer = process.stdout.readline().decode() if ready else ""
        if answer:
            return answer.strip()
        self.stop()
        return f"crash {process.returncode}" if ready else "hang"

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(Path(__file__).with_name("fuzz_worker.py")), PIPELINE]
        with self.stderr.open("ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        return self.process

    def stop(self) -> None:
        if self.process is None:
            return
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.kill()
        self.process.wait()
        self.process = None


def test_tokens_lose_nothing() -> None:
    for text in corpus():
        assert "".join(tokens(text)) == text


def test_corpus_itself_runs() -> None:
    worker = Worker()
    try:
        answers = [worker.run(text.encode()) for text in corpus()]
    finally:
        worker.stop()
    assert not [a for a in answers if not a.startswith(("ok", "rejected"))]
    assert "ok" in answers


def test_mutated_modules(tmp_path: Path) -> None:
    texts = corpus()
    random = Random(SEED)
    worker = Worker(stderr=tmp_path / "stderr.txt")
    counts: Counter[str] = Counter()
    bad: list[str] = []
    deadline = time.monotonic() + TOTAL_SECONDS
    try:
        for number in range(CASES):
            if time.monotonic() > deadline and number >= AT_LEAST:
                break
            data = mutate(random.choice(texts), texts, random)
            answer = worker.run(data)
            kind = answer.split()[0]
            counts[kind] += 1
            if kind not in ("ok", "rejected"):
                path = tmp_path / f"case-{number}.mlir"
                path.write_bytes(data)
                bad.append(f"{path}: {answer}")
    finally:
        worker.stop()
    print(f"seed {SEED}: {dict(counts)}")
    assert not bad, "\n".join(bad)
    assert counts["ok"] >= 10 and counts["rejected"] >= 100
