"""Errors that cross the TVM FFI as their own classes: the project's, and Python's built-in ones.

The FFI transfers the name of an error's class and its message. Exceptions of unknown classes arrive as `RuntimeError`;
`tvm_ffi.register_error` makes more classes known.
"""

from __future__ import annotations

import builtins

import tvm_ffi

from relax_mlir import error

# Classes that cannot be constructed from a message alone.
_OTHER_ARGUMENTS = (UnicodeError, error.UnknownNameError, error.PassError)
_GROUP = getattr(builtins, "BaseExceptionGroup", UnicodeError)


def register_errors() -> None:
    """Register the classes by name; repeated calls change nothing."""
    for cls in (*vars(builtins).values(), *vars(error).values()):
        if not (isinstance(cls, type) and issubclass(cls, Exception)):
            continue
        if not issubclass(cls, (*_OTHER_ARGUMENTS, _GROUP)):
            tvm_ffi.register_error(cls.__name__, cls)
