"""Builders of the virtual machine's builtins: ``R.vm.load_shape(heap, [0, 1])``."""

from relax_mlir.dialects.builders import builders as _builders

globals().update(_builders("vm"))

__all__ = [*_builders("vm")]
