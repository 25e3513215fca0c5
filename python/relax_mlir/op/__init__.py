"""All op builders: ``from relax_mlir import op as R``, then ``R.add(x, y)``, ``R.nn.relu(x)``.

Each function emits its op at the current insertion point of a `BlockBuilder` and returns its value.
"""

from __future__ import annotations

from relax_mlir.dialects.builders import builders as _builders
from relax_mlir.op import grad, image, memory, nn, random, vision, vm
from relax_mlir.op.op_registry import Op, infer_rule, register_op_attr, unregister_op

globals().update(_builders())

__all__ = [
    "Op",
    "grad",
    "image",
    "infer_rule",
    "memory",
    "nn",
    "random",
    "register_op_attr",
    "unregister_op",
    "vision",
    "vm",
    *_builders(),
]
