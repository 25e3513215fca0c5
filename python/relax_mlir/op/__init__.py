"""All op builders: ``from relax_mlir import op as R``, then ``R.add(x, y)``, ``R.nn.relu(x)``.

Each function emits its op at the current insertion point of a `BlockBuilder` and returns its value.
"""

from __future__ import annotations

import sys as _sys
from types import ModuleType as _ModuleType

from relax_mlir.dialects.builders import NAMESPACES as _NAMESPACES
from relax_mlir.dialects.builders import builders as _builders
from relax_mlir.op.op_registry import Op, infer_rule, register_op_attr, unregister_op

_DOCS = {
    "grad": "Builders of gradients: ``R.grad.take_backward(g, x, i, 0)``.",
    "image": "Builders of the ops on images: ``R.image.resize2d(x, (64, 64))``.",
    "memory": "Builders of explicit memory: ``R.memory.alloc_storage((4 * n,))``.",
    "nn": "Builders of the neural network ops: ``R.nn.softmax(x)``.",
    "random": "Builders of random numbers: ``R.random.uniform(state, (n, 4))`` returns numbers and the next state.",
    "vision": "Builders of the ops of object detection: ``R.vision.roi_align(x, rois, 7, 0.0625)``.",
    "vm": "Builders of the virtual machine's builtins: ``R.vm.load_shape(heap, [0, 1])``.",
}
"""The docstrings of the modules of this package, which have no files."""


def _module(namespace: str) -> _ModuleType:
    """A module with the builders of a namespace, which can be imported by its name."""
    module = _ModuleType(f"{__name__}.{namespace}", _DOCS[namespace])
    vars(module).update(_builders(namespace), __all__=[*_builders(namespace)])
    _sys.modules[module.__name__] = module
    return module


globals().update(_builders(), **{namespace: _module(namespace) for namespace in _NAMESPACES})

__all__ = ["Op", "infer_rule", "register_op_attr", "unregister_op", *_NAMESPACES, *_builders()]
