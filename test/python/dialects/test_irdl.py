"""The committed IRDL text is the one generated from the Python definitions, and MLIR loads it."""

import subprocess
import sys
import typing

import pytest
from relax_mlir.dialects import base, dialect
from relax_mlir.dialects.generate_irdl import IRDL_FILE
from relax_mlir.dialects.manipulate import StridedSliceOp
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir, irdl


def test_the_committed_text_is_current() -> None:
    """Checked in a separate process: the order of the ops is the import order of their classes."""
    script = "from relax_mlir.dialects.generate_irdl import irdl_text; print(irdl_text(), end='')"
    made = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert IRDL_FILE.read_text() == made, (
        "dialects/relax.irdl.mlir is stale: run python -m relax_mlir.dialects.generate_irdl"
    )


def test_a_plain_context_loads_it_and_parses_relax() -> None:
    with ir.Context(), ir.Location.unknown():
        irdl.load_dialects(ir.Module.parse(IRDL_FILE.read_text()))
        module = ir.Module.parse(
            """
            func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
              %0 = "relax.add"(%x, %x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>,
                tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
              return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
            }
            """
        )
        assert '"relax.add"' in str(module)


def test_alternatives_are_those_that_the_loader_knows() -> None:
    """Builds of MLIR with assertions abort if an alternative is an ``irdl.base``."""
    known = {"irdl.is", "irdl.parametric", "irdl.all_of", "irdl.any_of"}
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(IRDL_FILE.read_text())
        unions = ops_of(module.operation, "irdl.any_of")
        assert {operand.owner.name for op in unions for operand in op.operands} <= known


def test_threads_see_all_kinds_of_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that ask while another one finds them."""
    monkeypatch.setattr(base, "_kinds", {})
    seen: list[object] = []

    def get_args(constraint: object) -> tuple[object, ...]:
        if not seen:
            seen.append(None)
            seen[0] = dict(base._attribute_kinds(StridedSliceOp))
        return typing.get_args(constraint)

    monkeypatch.setattr(base, "get_args", get_args)
    assert base._attribute_kinds(StridedSliceOp) == seen[0] != {}


def test_loading_twice_does_nothing() -> None:
    context = dialect.context()
    dialect.load(context)
    dialect.load(dialect.context())
