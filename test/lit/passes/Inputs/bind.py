"""Passes that bind what only Python can give: arrays, and integers by name."""

import numpy as np
from relax_mlir.error import RelaxError
from relax_mlir.transform import BindParams, BindSymbolicVars, module_pass

ARRAYS = {name: np.zeros(shape, "float32") for name, shape in (("d", (2, 3)), ("r", (4,)), ("t", (5,)), ("s", ()))}


@module_pass(name="bind-arrays")
def bind_arrays(module, ctx):
    """Print the pass and the errors of wrong arguments, and bind the arrays."""
    for wrong in ({3: ARRAYS["d"]}, {"d": [1, 2, 3]}):
        try:
            BindParams("partly", wrong)
        except RelaxError as error:
            print(error)
    print(BindParams("partly", ARRAYS))
    return BindParams.of({"v": np.ones((), "int64")}, "other")(BindParams("partly", ARRAYS)(module))


@module_pass(name="bind-integers")
def bind_integers(module, ctx):
    """Bind the symbols of one function, then of all."""
    return BindSymbolicVars.of({"a": 4})(BindSymbolicVars.of({"z": 0}, "zero")(module))
