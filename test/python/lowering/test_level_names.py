"""A level, the phase that leads to it, its pipeline, and the form that relax-compile prints have one name."""

from __future__ import annotations

import pytest
from relax_mlir.dialects import dialect
from relax_mlir.error import UnknownNameError, VerifyError
from relax_mlir.lowering.legality import LEVELS
from relax_mlir.lowering.pipeline import PIPELINES, memory_phases, phases, pipeline_phases
from relax_mlir.mlir import ir
from relax_mlir.tools.compile_command import FORMS
from relax_mlir.transform import create_pass, registry

CODE = {"llvm-ir", "asm", "bytecode"}


def test_one_name() -> None:
    names = [phase.name for phase in (*phases(), *memory_phases())]
    assert set(names) == set(LEVELS) == set(FORMS) - CODE
    assert len(names) == len(set(names))
    assert {name.removeprefix("relax-to-") for name in PIPELINES} == set(names)
    assert set(PIPELINES) == {name for name in registry.names() if name.startswith("relax-to-")}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_ends_at_its_level(name: str) -> None:
    assert name == f"relax-to-{pipeline_phases(name)[-1].name}"
    assert list(pipeline_phases(name)[-1].as_pass().passes)[-1].info.text == (
        f"check-legality{{level={name.removeprefix('relax-to-')}}}"
    )


def test_where_a_pipeline_starts() -> None:
    for start in ("llvm", "vm", "flat", "bufferize", "kernels "):
        with pytest.raises(UnknownNameError, match="unknown level from which 'relax-to-flat' starts"):
            create_pass("relax-to-flat", f"start={start}" if " " not in start else f'start="{start}"')
    module = ir.Module.parse(
        'func.func @f(%x: tensor<2xf32>) { "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn }',
        dialect.context(),
    )
    with pytest.raises(VerifyError, match=r"relax\.exp is not allowed at level kernels \(loops and vectors\)"):
        create_pass("relax-to-flat", "start=kernels").apply_(module)
