"""Two modules, for tests of tools that read Python files."""

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Twice:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.add(x, x)


@I.ir_module
class Square:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.multiply(x, x)
