"""The virtual machine: stateful calls, saved functions, times, and a profile."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import numpy as np
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def scale(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        with R.dataflow():
            total = R.add(x, y)
            product = R.multiply(x, y)
            R.output(total, product)
        return (total, product)


x = tvm.nd.array(np.arange(6, dtype="float32"))
y = tvm.nd.array(np.full(6, 2, "float32"))
for mode in ("compiled", "bytecode"):
    vm = relax.VirtualMachine(relax.build(Module, target="llvm", exec_mode=mode, profile=mode == "compiled"), tvm.cpu())
    vm.set_input("scale", x, y)
    vm.invoke_stateful("scale")
    total, product = vm.get_outputs("scale")
    np.testing.assert_array_equal(total.numpy(), x.numpy() + 2)
    np.testing.assert_array_equal(product.numpy(), x.numpy() * 2)
    vm.save_function("scale", "saved", x, y)
    np.testing.assert_array_equal(vm["saved"]()[1].numpy(), product.numpy())
    times = vm.time_evaluator("saved", tvm.cpu(), number=3, repeat=2)()
    assert len(times.results) == 2 and times.min <= times.median <= times.max
    assert vm.profile("scale", x, y) is not None

target = tvm.nd.array(np.zeros(6, "float32"))
x.copyto(target)
assert target.shape == (6,) and target.dtype == "float32" and target.numpy().tolist() == x.numpy().tolist()
