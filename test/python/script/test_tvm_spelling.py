"""Spellings of TVM that differ from this project's: both read as the same module, or TVM's is refused."""
# ruff: noqa: E501 - programs are quoted verbatim

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import RelaxError, ScriptError, UnsupportedError
from relax_mlir.script import ir, parse, relax, tir

PRIMS = """
    @T.prim_func
    def scale(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")):
        for i, j in T.grid(n, 4):
            B[i, j] = A[i, j] * T.float32(2)

    @T.prim_func
    def fill(k: T.int64, B: T.Buffer(("n", 4), "float32")):
        for i, j in T.grid(n, 4):
            B[i, j] = T.float32(k)

    @T.prim_func
    def last(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32"), k: T.int64):
        for i, j in T.grid(n, 4):
            B[i, j] = A[i, j] + T.float32(k)

    @T.prim_func
    def negate(A: T.Buffer(("n", 4), "float32")):
        for i, j in T.grid(n, 4):
            A[i, j] = -A[i, j]
"""
HEAD = """@I.ir_module
class Module:{prims}
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), k: R.Prim("int64")):
{body}
"""


def module(body: str, prims: str = PRIMS) -> rx.IRModule:
    lines = "\n".join("        " + line for line in body.splitlines())
    return parse(HEAD.format(prims=prims, body=lines))


OUT = 'R.Tensor((n, 4), "float32")'
SAME = {
    "cls of the module": (
        "cls = Module\nreturn R.call_tir(cls.scale, (x,), {out})",
        "return R.call_tir(cls.scale, (x,), {out})",
    ),
    "name of the class": (
        "return R.call_tir(Module.scale, (x,), {out})",
        "return R.call_tir(cls.scale, (x,), {out})",
    ),
    "out_ty": (
        "return R.call_tir(cls.scale, (x,), out_ty={out})",
        "return R.call_tir(cls.scale, (x,), {out})",
    ),
    "out_sinfo": (
        "return R.call_tir(cls.scale, (x,), out_sinfo={out})",
        "return R.call_tir(cls.scale, (x,), {out})",
    ),
    "gvar": (
        "return R.call_tir(gvar=cls.scale, args=(x,), out_ty={out})",
        "return R.call_tir(cls.scale, (x,), {out})",
    ),
    "one argument": ("return R.call_tir(cls.scale, x, {out})", "return R.call_tir(cls.scale, (x,), {out})"),
    "a list of arguments": (
        "return R.call_tir(cls.scale, [x], {out})",
        "return R.call_tir(cls.scale, (x,), {out})",
    ),
    "an int among the arguments": (
        "return R.call_tir(cls.fill, (3,), {out})",
        "return R.call_tir(cls.fill, (R.prim_value(3),), {out})",
    ),
    "a symbol among the arguments": (
        "return R.call_tir(cls.fill, [n], {out})",
        "return R.call_tir(cls.fill, (R.prim_value(n),), {out})",
    ),
    "tir_vars as a shape": (
        "return R.call_tir(cls.last, x, {out}, tir_vars=R.shape([n * 2]))",
        "return R.call_tir(cls.last, (x,), {out}, tir_vars=[n * 2])",
    ),
    "inplace_indices": (
        "return R.call_tir_inplace(cls.negate, x, inplace_indices=0, out_ty={out})",
        "return R.call_tir_inplace(cls.negate, (x,), [0], {out})",
    ),
    "dps of one": (
        'return R.call_dps_packed("f", x, out_ty={out})',
        'return R.call_dps_packed("f", [x], {out})',
    ),
    "dps of a tuple": (
        'return R.call_dps_packed("f", (x, R.str("a")), out_sinfo={out})',
        'return R.call_dps_packed("f", [x, "a"], {out})',
    ),
    "packed with ty_args": (
        'return R.call_packed("f", x, ty_args=[{out}])',
        'return R.call_packed("f", x, out={out})',
    ),
    "packed with several": (
        'return R.call_packed("f", x, sinfo_args=({out}, R.Object))',
        'return R.call_packed("f", x, out=R.Tuple({out}, R.Object()))',
    ),
    "pure packed": (
        'return R.call_pure_packed(R.ExternFunc("f"), x, ty_args={out})',
        'return R.call_pure_packed("f", x, out={out})',
    ),
    "packed with nothing said": (
        'y = R.call_packed("f", x)\nreturn y',
        'y = R.call_packed("f", x, out=R.Object())\nreturn y',
    ),
    "packed with an annotation": (
        'y: {out} = R.call_packed("f", x)\nreturn y',
        'y: {out} = R.call_packed("f", x, out={out})\nreturn y',
    ),
    "a symbol that is declared": (
        "m = T.int64()\ny = R.match_cast(x, R.Tensor((m, 4)))\nreturn y",
        'y = R.match_shape(x, ("m", 4))\nreturn y',
    ),
    "a symbol with an annotation": (
        'm: R.Prim("int64") = T.int64()\nreturn R.match_cast(x, R.Tensor((m, 4), "float32"))',
        'return R.match_shape(x, ("m", 4), "float32")',
    ),
    "symbols side by side": (
        "m, p = T.int64(), T.int64()\nreturn R.match_cast(x, R.Tensor((m, p)))",
        'return R.match_shape(x, ("m", "p"))',
    ),
    "a symbol beside a number": (
        "m, p = T.int64(), I.meta_var(T.int64(4))\nreturn R.match_cast(x, R.Tensor((m, p)))",
        'return R.match_shape(x, ("m", 4))',
    ),
    "a block without a result": (
        "with R.dataflow():\n    y = R.exp(x)\n    R.output()\nreturn x",
        "with R.dataflow():\n    y = R.exp(x)\n    R.output()\nreturn x",
    ),
    "shapes by R.shape": ("return R.reshape(x, R.shape([n * 4]))", "return R.reshape(x, (n * 4,))"),
    "dims with a type": (
        "return R.reshape(x, R.shape([n * T.int64(2), T.int64(2)]))",
        "return R.reshape(x, (n * 2, 2))",
    ),
    "functions of dims": (
        'return R.zeros(R.shape([T.max(n, 4), T.floordiv(n, 2), T.Cast("int64", n)]), "float32")',
        'return R.zeros(("max(n, 4)", n // 2, n), "float32")',
    ),
    "dims in strings": (
        'return R.zeros(R.shape(["T.min(n, 4) * 2", "n // 2"]), "float32")',
        'return R.zeros(("min(n, 4) * 2", n // 2), "float32")',
    ),
    "operators of dims": (
        'return R.zeros((T.Add(n, T.Mul(n, 2)),), "float32")',
        'return R.zeros((n * 3,), "float32")',
    ),
    "fields": ("t = (x, x)\nreturn R.TupleGetItem(t, 1)", "t = (x, x)\nreturn t[1]"),
    "infinity": ('return R.const("-inf", "float32")', 'return R.const(float("-inf"), "float32")'),
    "booleans": ("return R.prim_value(True)", 'return R.const(True, "bool")'),
    "floats": ("return R.prim_value(T.float16(1.5))", 'return R.const(1.5, "float16")'),
    "comparisons": ("return R.prim_value(k % 16 == 0)", "return k % 16 == 0"),
    "annotated as anything": ("y: R.Any = R.exp(x)\nreturn y", "y = R.exp(x)\nreturn y"),
    "effects with a name": (
        '_ = R.print(x)\np: R.Tuple = R.print(x, format="{}")\nreturn x',
        'R.print(x)\nR.print(x, format="{}")\nreturn x',
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_same_module(name: str) -> None:
    theirs, ours = (text.replace("{out}", OUT) for text in SAME[name])
    assert_structural_equal(module(theirs), module(ours))


SIGNATURES = {
    "R.Any": ("f(x: R.Any) -> R.Any", "f(x: R.Object()) -> R.Object()"),
    "R.Object": ("f(x: R.Object) -> R.Object", "f(x: R.Object()) -> R.Object()"),
    "unknown rank": (
        'f(x: R.Tensor(dtype="int8", ndim=-1)) -> R.Tensor(None, "int8")',
        'f(x: R.Tensor(None, "int8")) -> R.Tensor(None, "int8")',
    ),
    "booleans": (
        'f(x: R.Prim("bool")) -> R.Prim("bool")',
        'f(x: R.Tensor((), "bool")) -> R.Tensor((), "bool")',
    ),
    "numbers": ("f(x: T.float32) -> T.float32", 'f(x: R.Tensor((), "float32")) -> R.Tensor((), "float32")'),
    "integers": ("f(x: T.int64) -> T.int64", 'f(x: R.Prim("int64")) -> R.Prim("int64")'),
    "functions": (
        "f(x: R.Callable(R.Object, R.Object, purity=True)) -> R.Callable(params=[R.Object], ret=R.Object, purity=True)",
        "f(x: R.Callable((R.Object(),), R.Object(), pure=True)) -> R.Callable((R.Object(),), R.Object(), pure=True)",
    ),
    "lists": (
        "f(x: R.Tuple([R.Tensor, R.Shape])) -> R.Tuple(R.Tensor, R.Shape)",
        "f(x: R.Tuple(R.Tensor(None, None), R.Shape(None))) -> R.Tuple(R.Tensor(None, None), R.Shape(None))",
    ),
    "a list as a shape": (
        'f(x: R.Tensor(["n", "n * 2"], "int8")) -> R.Tensor(["n", "2 * n"], "int8")',
        'f(x: R.Tensor((n, n * 2), "int8")) -> R.Tensor((n, n * 2), "int8")',
    ),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_same_signature(name: str) -> None:
    theirs, ours = (parse(f"@R.function\ndef {head}:\n    return x\n") for head in SIGNATURES[name])
    assert_structural_equal(theirs, ours)


def test_results_of_any_kind() -> None:
    """``-> R.Any`` gives no information, unless a call has relied on it before the function was read."""
    text = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f(x: R.Tensor((4,), "float32")) -> R.Any:
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = cls.f(x)
        return R.log(y)
"""
    assert_structural_equal(parse(text), parse(text.replace(" -> R.Any", "")))
    early = text.replace("def f(", "def z(").replace("cls.f", "cls.z").replace("return R.exp(x)", "return cls.last(x)")
    early += """
    @R.function(private=True)
    def last(x: R.Tensor((4,), "float32")) -> R.Any:
        return R.exp(x)
"""
    with pytest.raises(RelaxError, match=r"'last' is annotated to return Object\(\), but returns Tensor"):
        parse(early)


DECORATED = """
@I.ir_module{module}
class Module:
    @T.prim_func{prim}
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({{"tirx.noalias": True}})
        for i in range(4):
            with T.{block}("b"):
                v = T.axis.spatial(4, i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] + T.float32(1)

    @R.function{function}
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.call_tir(cls.f, (x,), R.Tensor((4,), "float32"))
"""
PLAIN = {"module": "", "prim": "", "block": "block", "function": ""}


@pytest.mark.parametrize(
    "changed",
    [
        {"module": "(s_tir=True)"},
        {"module": "(check_well_formed=False)"},
        {"prim": "(private=True, s_tir=True, check_well_formed=True)"},
        {"function": "(pure=True)"},
        {"function": "(pure=False, check_well_formed=False)"},
        {"block": "sblock"},
    ],
)
def test_decorators(changed: dict[str, str]) -> None:
    assert_structural_equal(parse(DECORATED.format(**PLAIN | changed)), parse(DECORATED.format(**PLAIN)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"module": "(s_tri=True)"}, "unknown option of @I.ir_module 's_tri'; did you mean 's_tir'?"),
        ({"module": "(True)"}, "@I.ir_module takes its options by name"),
        ({"prim": "(s_tir=1)"}, "s_tir is True or False, written out"),
        ({"prim": "(pure=True)"}, "unknown option of @T.prim_func 'pure'"),
        ({"function": "(public=True)"}, "unknown option of @R.function 'public'"),
    ],
)
def test_wrong_options(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(DECORATED.format(**PLAIN | changed))
    assert message in str(caught.value)


def test_what_is_pure_must_be() -> None:
    text = '@R.function(pure={})\ndef main(x: R.Tensor((4,), "float32")):\n    R.print(x)\n    return x\n'
    parse(text.format(False))
    with pytest.raises(ScriptError, match="'main' is declared pure=True, but has effects"):
        parse(text.format(True))
    parse(text.format(True).replace("    R.print", '    R.func_attr({"relax.force_pure": True})\n    R.print'))


def test_ill_formed_programs_are_refused_whatever_is_said() -> None:
    """``check_well_formed=False`` disables no check."""
    text = """
@I.ir_module(check_well_formed=False)
class Module:
    @R.function(check_well_formed=False)
    def main(x: R.Tensor((4,), "float32")):
        return R.zeros(R.shape([m]), "float32")
"""
    with pytest.raises(RelaxError, match="symbol 'm', which is not defined here"):
        parse(text)


REFUSED = {
    "y = R.exp(x)\nR.add(x, x)\nreturn y": "nothing uses this value: bind it to a name, or leave it out",
    "m = T.int32()\nreturn x": "symbols are integers of 64 bits: write m = T.int64()",
    "with R.dataflow():\n    y = R.exp(x)\n    R.output(x, y)\nreturn y": "'x' is bound outside of the block",
    'return R.zeros(R.shape([T.exp(n)]), "float32")': "T.exp has no meaning in a dimension",
    'return R.zeros((T.Cast("float32", n),), "float32")': "a dimension is an int64",
    'return R.zeros((T.Cast("int32", n),), "float32")': "int32 may not hold n, and a dimension is an int64",
    'return R.zeros((4, T.cast(n + 1, "int32")), "float32")': "write T.int64(n + 1)",
    'return R.zeros((T.int32(n),), "float32")': "write T.int64(n)",
    'return R.zeros((T.int32(2**31),), "float32")': "int32 may not hold 2147483648",
    "return R.call_tir(cls.scale, (x,), {out}, out_ty={out})": "argument 'out' is given twice",
    'return R.call_packed("f", x, out={out}, ty_args={out})': "what it returns is given twice",
    'return R.call_packed("f", x, type={out})': "call_packed takes no argument 'type'",
    "return R.call_tir(cls.scale, (x,), {out}, tir_vars=x)": "expected a shape: a tuple such as (n, 4)",
    'y: R.Tensor((n, 4), "float32", vdevice="cuda") = x\nreturn y': "there is one device, the CPU: leave vdevice out",
    'R.func_attr({"global_symbol": "other"})\nreturn x': "'global_symbol' is 'other', but the function is exported as 'main'",
    'R.func_attr({"tir_var_upper_bound": 3})\nreturn x': "'tir_var_upper_bound' is a dictionary of symbols and integers",
    "mod = Module\nreturn x": "unknown name 'Module'",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str) -> None:
    with pytest.raises(RelaxError) as caught:
        module(body.replace("{out}", OUT))
    assert REFUSED[body] in str(caught.value)


DEVICES = """
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]}})

    @R.function
    def main(x: R.Tensor((4,), "float32"{tensor})):
        return R.to_vdevice(R.hint_on_device(x, tvm.cpu()), {device})
"""


@pytest.mark.parametrize("tensor", ["", ', "llvm"', ', "llvm:0:global"', ', vdevice="llvm:0"'])
@pytest.mark.parametrize("device", ['"llvm"', 'I.vdevice("llvm", 0)', 'tvm.ir.VDevice("llvm", 0, "global")', '"cpu:0"'])
def test_the_cpu_is_a_device(tensor: str, device: str) -> None:
    plain = '@R.function\ndef main(x: R.Tensor((4,), "float32")):\n    return x\n'
    assert_structural_equal(parse(DEVICES.format(tensor=tensor, device=device))["main"], parse(plain)["main"])


@pytest.mark.parametrize("tensor", ['"cuda:0"', 'vdevice="vdevice:1"', 'I.vdevice("cuda", 0)', "tvm.cuda()"])
def test_other_devices_are_refused(tensor: str) -> None:
    with pytest.raises(RelaxError, match=r"the device is .*; there is one device, the CPU"):
        parse(DEVICES.format(tensor=f", {tensor}", device='"llvm"'))
    if "=" not in tensor:
        with pytest.raises(RelaxError, match=r"the device is .*; there is one device, the CPU"):
            parse(DEVICES.format(tensor="", device=tensor))


def test_private_functions_have_no_exported_name() -> None:
    text = '@R.function(private=True)\ndef f(x: R.Tensor((4,), "float32")):\n    R.func_attr({"global_symbol": "f"})\n    return x\n'
    with pytest.raises(ScriptError, match="'f' is private: it has no 'global_symbol'"):
        parse(text)
    parse(text.replace("(private=True)", ""))


def test_attributes_are_kept() -> None:
    """Those of modules, of functions, and of nested functions, including dictionaries."""
    text = """
@I.ir_module
class Module:
    I.module_attrs({"system_lib": "a", "level": 3, "flags": {"fast": True, "sizes": [1, 2]}})

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        R.func_attr({"num_input": 1, "options": {"a": {"b": 1.5}, "none": None}, "tir_var_upper_bound": {"n": 8, "q": 9}})

        @R.function(pure=True)
        def inner(y: R.Tensor(("n", 4), "float32")):
            R.func_attr({"Composite": "my.exp", "Primitive": True})
            return R.exp(y)

        return inner(x)
"""
    module = parse(text)
    printed = module.script()
    assert 'I.module_attrs({"flags": {"fast": True, "sizes": [1, 2]}, "level": 3, "system_lib": "a"})' in printed
    assert 'R.func_attr({"Composite": "my.exp", "Primitive": True})' in printed
    assert '"num_input": 1' in printed and '"tir_var_upper_bound": {"q": 9}' in printed
    assert '"symbol_bounds": {"n": (0, 8)}' in printed
    assert parse(printed).script() == printed
    x = np.ones((3, 4), "float32")
    np.testing.assert_allclose(np.from_dlpack(rx.build(module)["main"](x)), np.exp(x), rtol=1e-6)


def test_attributes_of_prim_funcs_are_kept() -> None:
    """Attributes that only state what holds for all prim funcs are dropped."""
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True, "global_symbol": "f", "x": {"y": [1, 2.5, "a"], "z": None}})
        for i in range(4):
            B[i] = A[i] + 1.0

    @T.prim_func
    def g(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "other"})
        for i in range(4):
            with T.block("b"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * 2.0

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_tir(cls.f, (x,), R.Tensor((4,), "float32"))
        return R.call_tir(cls.g, (y,), R.Tensor((4,), "float32"))
"""
    made = parse(text)
    printed = made.script()
    assert 'T.func_attr({"global_symbol": "f", "op_pattern": 0, "x": {"y": [1, 2.5, "a"], "z": None}})' in printed
    assert 'T.func_attr({"global_symbol": "other"})' in printed
    assert_structural_equal(parse(printed), made)
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(np.from_dlpack(rx.build(made)["main"](x)), (x + 1) * 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('{"a": f(1)}', "attribute 'a' of a prim func is a literal, not `f(1)`"),
        ("3", "T.func_attr takes a dictionary of names and values"),
        ("{1: 2}", "the attributes of a prim func have strings as names"),
        ('{"a": {1: 2}}', "attribute 'func_attr.a': {1: 2} is neither a literal nor an I.attribute"),
    ],
)
def test_attributes_that_are_none(given: str, message: str) -> None:
    with pytest.raises(RelaxError) as caught:
        parse(f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    T.func_attr({given})\n    A[0] = 1.0\n')
    assert message in str(caught.value)


def test_functions_lifted_out_keep_their_attributes() -> None:
    from relax_mlir.passes.lambda_lift import LambdaLift

    module = parse(
        "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n"
        "    def inner(y: R.Tensor((4,), 'float32')):\n"
        '        R.func_attr({"Composite": "my.exp"})\n        return R.exp(y)\n'
        "    return inner(x)\n"
    )
    module.apply_(LambdaLift())
    assert '"Composite": "my.exp"' in module.script()


def test_explicit_memory() -> None:
    """TVM's order of arguments, and prim funcs called on tensors by their names."""
    prims = """
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @T.prim_func
    def shifted(A: T.Buffer((4,), "float32"), s: T.int64, B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[(i + s) % 4]
"""
    theirs = """
storage = R.memory.alloc_storage(R.shape([64]), virtual_device_index=0, storage_scope="global", dtype="float32")
a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
_: R.Tuple = cls.double(z, a)
other = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("uint8"))
b = R.vm.alloc_tensor(other, R.prim_value(0), R.shape([4]), R.dtype("float32"))
_1 = cls.double(a, b)
c = R.builtin.alloc_tensor(R.shape([4]), dtype="float32", runtime_device_index=0)
cls.double(b, c)
R.vm.call_tir_dyn(cls.double, (c, a, R.shape([])))
return a
"""
    ours = """
storage = R.memory.alloc_storage((64,), 0, "global", "float32")
a = R.memory.alloc_tensor(storage, (4,), 0, "float32")
R.call_prim(cls.double, (z, a))
other = R.vm.alloc_storage((16,), 0, "global", "uint8")
b = R.vm.alloc_tensor(other, (4,), 0, "float32")
R.call_prim(cls.double, (a, b))
held = R.memory.alloc_storage((16,), 0, "global", "float32")
c = R.memory.alloc_tensor(held, (4,), 0, "float32")
R.call_prim(cls.double, (b, c))
t = (c, a)
s = R.shape([])
R.vm.call_tir_dyn(cls.double, t, s)
return a
"""
    head = "z = R.const([1.0, 2.0, 3.0, 4.0], 'float32')\n"
    assert_structural_equal(module(head + theirs.strip(), prims), module(head + ours.strip(), prims))


def test_explicit_memory_is_no_native_code() -> None:
    """An op without a result, on a tensor that is known only at run time: refused, naming the op."""
    made = module(
        'y = R.call_packed("f", x)\nz = R.match_cast(y, R.Tensor((3,)))\n_ = R.vm.kill_object(z)\nreturn x',
        "",
    )
    with pytest.raises(UnsupportedError, match=r"relax\.vm_kill_object is explicit memory"):
        rx.build(made)


@pytest.mark.parametrize("names", [ir, tir, relax], ids=["I", "T", "R"])
def test_all_names_are_exported(names: ModuleType) -> None:
    """A function of the script module is in `__all__`, which `import *`, the docs and type checkers read."""
    defined = {
        name
        for name, value in vars(names).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == names.__name__
    }
    assert defined <= set(names.__all__)
