"""Support functions are compiled separately from the modules that declare them, and mark correctly what may fail."""

from __future__ import annotations

import sys
import warnings

import cold_process
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.capi import spare_context
from relax_mlir.error import ShapeError
from relax_mlir.lowering.base.module_parts import Part
from relax_mlir.lowering.base.support import (
    CORE_MAY_FAIL,
    CORE_NAMES,
    ENTRY_CALLS,
    SEPARATE_SUPPORT,
    define_support,
    early_support,
)
from relax_mlir.lowering.checks import LowerChecks
from relax_mlir.lowering.llvm.to_llvm import code_to_flat
from relax_mlir.lowering.runtime_lib.vm_builtins import ENTRIES, MEMORY_ADDRESS, builtins_text
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import functions, is_declaration, symbol_name
from relax_mlir.runtime.compile_units import BODY, PartCompiler, lowered_part
from relax_mlir.runtime.process_codegen import part_of
from relax_mlir.transform import PassContext


def elementwise() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            result = bb.emit_output(R.exp(x))
        bb.emit_func_output(result)
    return bb.get()


def test_what_may_fail() -> None:
    """`lower-checks` adds a status to the listed functions, and to no others."""
    with spare_context(), ir.Location.unknown():
        module = ir.Module.parse(SEPARATE_SUPPORT)
        before = {name: list(op.type.results) for name, op in functions(module).items()}
        for step in code_to_flat():
            step.apply_(module)
        LowerChecks().run(module, PassContext())
        status = ir.IntegerType.get_signless(32)
        changed = {
            name
            for name, op in functions(module).items()
            if name in before and list(op.type.results) == [status, *before[name]]
        }
    assert changed == CORE_MAY_FAIL


@pytest.mark.parametrize("is_separate", [False, True])
def test_all_are_there(is_separate: bool) -> None:
    with spare_context(), ir.Location.unknown():
        module = ir.Module.create()
        define_support(module, is_separate)
        there = {symbol_name(op): is_declaration(op) for op in module.body.operations}
    found = {name for name, declared in there.items() if name in CORE_NAMES and declared == is_separate}
    assert found == (ENTRY_CALLS if is_separate else CORE_NAMES)


def test_part() -> None:
    """The unit exports all of them, and uses internal names for those that it declares as used."""
    part = early_support()
    assert set(part.exported) == CORE_NAMES
    module = lowered_part(part, low_precision=False)
    defined = {symbol_name(op) for op in module.body.operations if not is_declaration(op)}
    assert {*CORE_NAMES, *(BODY + name for name in CORE_NAMES)} <= defined
    text = str(module)
    for name in CORE_NAMES:  # an alias of each, and calls of its body
        assert text.count(f"@{name}(") == 0
        assert (text.count(f"@{BODY}{name}(") > 1) == (name in part.used_within)
    assert "relax.propagate" not in text


def test_builtins_of_the_machine_say_no_lines_of_their_text() -> None:
    """Otherwise the location ``(at -:802:12)`` would appear when a builtin runs out of memory."""
    part = part_of(builtins_text(), (MEMORY_ADDRESS, *ENTRIES.values()), has_checks=True)
    text = str(lowered_part(part, low_precision=False))
    assert "cannot allocate" in text
    assert " (at " not in text


def test_compiled_once_and_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[Part] = []
    add = PartCompiler.add

    def record(self: PartCompiler, more: list[Part]) -> None:
        parts.extend(more)
        add(self, more)

    monkeypatch.setattr(PartCompiler, "add", record)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a second attempt would warn
        main = rx.build(elementwise(), cache=False)["main"]
    assert parts.count(early_support()) == 1
    own = next(part for part in parts if ("__tvm_ffi_relax.entry", "__tvm_ffi_main") in part.renamed)
    assert "relax.rt.tensor" in own.external
    x = np.linspace(-3, 3, 35, dtype=np.float32).reshape(5, 7)
    np.testing.assert_allclose(np.from_dlpack(main(x)), np.exp(x), rtol=1e-6)
    strided = np.asfortranarray(x)
    np.testing.assert_allclose(np.from_dlpack(main(strided)), np.exp(x), rtol=1e-6)
    with pytest.raises(ShapeError, match="has rank 1"):
        main(x[0])


NO_MEMORY = """
import numpy as np, resource, sys
import relax_mlir as rx
sys.path.insert(0, sys.argv[1])
from test_early_support import elementwise
main = rx.build(elementwise(), cache=False)["main"]
x = np.broadcast_to(np.float32(1), (1 << 20, 1 << 12))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), -1))
try:
    main(x)
except MemoryError as error:
    print("MemoryError:", error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
def test_no_memory() -> None:
    """An error in a separately compiled function propagates through its callers."""
    folder = __file__.rpartition("/")[0]
    result = cold_process.run(["-c", NO_MEMORY, folder])
    assert result.stdout.startswith("MemoryError: cannot allocate 171798"), result.stdout + result.stderr
