"""Mutants of modules, scripts and calls through execution: no crash, no hang, no internal error, no silent difference.

`make fuzz` runs more of them; ``RELAX_MLIR_FUZZ_SEED`` chooses others than the usual ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import cold_process
import op_semantics
import oracle
import pytest
import relax_mlir as rx
import seed_modules
from call_arguments import Call
from campaign import Campaign, signature
from generic_text import parse
from mutants import Mutant, make
from relax_mlir.mlir import ir
from repro_file import write_repro
from shrink import shrunk
from worker_pool import Worker

SEED = int(os.environ.get("RELAX_MLIR_FUZZ_SEED", "20261125"))
COUNT = 500
CALLS = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{
  %a = "relax.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %t = builtin.unrealized_conversion_cast %x : tensor<3xf32> to tuple<tensor<3xf32>>
  %n = "relax.negative"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %o = "relax.call_packed"(%t) {{func = "{name}", arg_spec = [unit]}} : (tuple<tensor<3xf32>>) -> !relax.object
  return %n : tensor<3xf32>
}}
"""
UNFIT = """
func.func @sum(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %a = "relax.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}
func.func @product(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %a = "relax.matmul"(%x, %y) {out_dtype} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %a : tensor<?x?xf32>
}
"""


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker(seconds=60)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """The campaign, after running all its mutants."""
    found = Campaign(SEED, seconds=120, out=tmp_path_factory.mktemp("mutants"))
    found.run(range(COUNT))
    return found


def test_no_mutant_fails(campaign: Campaign) -> None:
    assert not campaign.failures, campaign.summary()


def test_mutants_are_executed_and_compared(campaign: Campaign) -> None:
    """32 % are executed, 22 % compared, less 2.5 standard deviations of 500: changed lit files draw other mutants."""
    assert campaign.counts["mutants"] == COUNT
    assert campaign.counts["executed"] >= 0.27 * COUNT, campaign.counts
    assert campaign.counts["compared"] >= 0.17 * COUNT, campaign.counts


def test_trees_lose_nothing() -> None:
    texts = [t for i in range(0, len(seed_modules.relax_texts()), 7) if (t := seed_modules.relax_module(i))]
    assert len(texts) > 20
    for text in texts:
        again = ir.Module.parse(parse(text).text(), seed_modules.shared_context())
        assert again.operation.get_asm() == ir.Module.parse(text, seed_modules.shared_context()).operation.get_asm()


def test_mutants_are_reproducible() -> None:
    for number in range(0, 60, 7):
        assert make(SEED, number) == make(SEED, number)
    assert len({make(SEED, number).text for number in range(20)}) == 20


@pytest.mark.slow
def test_crashes_and_hangs_are_found(worker: Worker, tmp_path: Path) -> None:
    works, hangs, crashes = (
        Mutant(0, "ir", CALLS.format(name=f"fuzz.{name}")).as_json() for name in ("nothing", "sleep", "abort")
    )
    assert "executed" in worker.run({"mutant": works}).report["reached"]
    worker.seconds = 4  # most of the following builds are cached
    answer = worker.run({"mutant": hangs})
    assert answer.kind == "hang" and answer.stage.startswith("call main(")
    worker.seconds = 60
    answer = worker.run({"mutant": crashes})
    assert answer.kind == "crash" and "SIGABRT" in answer.failure and answer.stage.startswith("call main(")


@pytest.mark.slow
def test_a_failure_is_shrunk_and_written(worker: Worker, tmp_path: Path) -> None:
    mutant = Mutant(0, "ir", seed_modules.generic(_module(CALLS.format(name="fuzz.raw"))))
    answer = worker.run({"mutant": mutant.as_json()})
    answer.mutant = mutant.as_json()
    small = shrunk(worker, 0, 0, answer, signature)
    assert answer.kind == "internal" and "KeyError" in answer.failure
    assert "fuzz.raw" in small["text"] and "relax.add" not in small["text"]
    path = write_repro(tmp_path, 0, 0, small, answer)
    done = cold_process.run([str(path)])
    assert "fuzz.raw" in done.stderr and "PackedFunctionError" in done.stderr


def _module(text: str) -> ir.Module:
    return ir.Module.parse(text, seed_modules.shared_context())


def test_errors_of_packed_functions_are_their_own() -> None:
    """A function is called with fewer arguments than it takes."""
    oracle.register_functions()
    report = oracle.run(Mutant(0, "ir", CALLS.format(name="differential.negate")), lambda stage: None)
    assert report["failure"] == "" and "executed" in report["reached"]


@pytest.mark.parametrize("function", ["sum", "product"])
def test_sizes_that_do_not_fit_fail_on_both_sides(function: str) -> None:
    module = rx.IRModule.parse(UNFIT)
    sizes = "(3,)", "(4,)"
    if function == "product":
        sizes = "(2, 3)", "(4, 2)"
    call = Call(function, tuple(f"draw(1, {size}, 'float32')" for size in sizes), hostile=False)
    with pytest.raises(oracle.FailsError):
        oracle._interpreted(module, call, oracle.arguments_of(call))
    report = {"reached": [], "skipped": "", "compared": 0}
    oracle._check(module, rx.build(module), call, lambda stage: None, report)
    assert report["reached"] == ["executed"]


def test_differences_and_internal_errors_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle.register_functions()
    mutant = Mutant(0, "ir", CALLS.format(name="differential.copy"))
    assert oracle.run(mutant, lambda stage: None)["failure"] == ""
    assert oracle.run(mutant, lambda stage: None)["compared"] > 0
    monkeypatch.setitem(op_semantics.SEMANTICS, "add", lambda args, values, dim: values[0])
    assert "internal: difference: main(" in oracle.run(mutant, lambda stage: None)["failure"]
    monkeypatch.setattr(oracle, "parsed", lambda mutant: {}["missing"])
    assert "KeyError" in oracle.run(mutant, lambda stage: None)["failure"]
