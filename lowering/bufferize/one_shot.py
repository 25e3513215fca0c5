"""From level T to M: one-shot bufferisation of whole modules, including functions in destination-passing style."""

from __future__ import annotations

from relax_mlir.lowering.bufferize.call_exposed_prim_funcs import CallExposedPrimFuncs
from relax_mlir.lowering.bufferize.drop_destination_results import DropDestinationResults
from relax_mlir.lowering.bufferize.materialize_results import MaterializeResults
from relax_mlir.lowering.bufferize.place_results import PlaceResults
from relax_mlir.lowering.bufferize.protect_carried import ProtectCarried
from relax_mlir.lowering.bufferize.protect_inputs import ProtectInputs
from relax_mlir.lowering.bufferize.separate_empties import SeparateEmpties
from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.transform import Pass
from relax_mlir.transform.upstream import known_passes


def bufferize() -> list[Pass]:
    """The passes that bufferise a module.

    Results of calls are written to their destinations or to new buffers, functions return no buffers, and memory of
    temporaries is planned.
    """
    return [
        ProtectInputs(),
        MaterializeResults(),
        ProtectCarried(),
        PlaceResults(),
        SeparateEmpties(),
        known_passes(
            "one-shot-bufferize{allow-return-allocs-from-loops=true bufferize-function-boundaries=true "
            "function-boundary-type-conversion=identity-layout-map}"
        ),
        DropDestinationResults(),
        CallExposedPrimFuncs(),
        known_passes("canonicalize,cse"),
        PlanMemory(),
    ]
