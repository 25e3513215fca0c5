"""Replacements for mutations: types, values, names, families of ops."""

from __future__ import annotations

import re

TYPES = (
    *("f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "ui8", "index", "none", "i9999", "!relax.any"),
    *("tensor<4xf32>", "tensor<?x?xf32>", "tensor<*xf32>", "tensor<f32>", "tensor<0xi64>", "tensor<i1>"),
    *('tensor<?x4xf32, #relax.shape<["n", 4]>>', 'tensor<?xf32, #relax.shape<["n"]>>', "tuple<>"),
    *(
        '!relax.shape_value<["n"]>',
        "!relax.shape_value<unit>",
        "!relax.object",
        "memref<?xf32>",
        "vector<4xf32>",
    ),
    *('tensor<?xf32, #relax.shape<["n*m"]>>', "tuple<tensor<4xf32>, i64>", "tensor<4x!relax.any>"),
    *("!relax.callable<[tensor<4xf32>], tensor<4xf32>, true>", "!relax.callable<unit, unit, false>"),
    *(
        "tuple<tuple<>, !relax.object>",
        "tensor<4xf8E4M3FN>",
        "complex<f32>",
        "(f32) -> f32",
        "tensor<*x!relax.any>",
    ),
    *(
        "tensor<9223372036854775807xf32>",
        "tensor<4294967296x4294967296xf32>",
        "tensor<4xi128>",
        "tensor<4xi4>",
    ),
)
INTEGERS = (
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "64",
    "-2",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
)
DIMS = ("0", "1", "2", "3", "5", "7", "16", "33")
HUGE_DIMS = ("65536", "2147483648", "4294967296", "9223372036854775807")
FLOATS = (
    *("0.000000e+00", "-1.000000e+00", "1.000000e+00", "0x7F800000", "0x7FC00000", "1.000000e-45", "3.0e+38"),
    *("1.000000e+400", "-0.000000e+00"),
)
ATTRIBUTES: tuple[str | None, ...] = (
    *(
        None,
        "true",
        "false",
        '""',
        '"n"',
        '"n*m"',
        "[]",
        "{}",
        "[0, 0]",
        "[unit]",
        "@main",
        "@missing",
        "f32",
        "i64",
    ),
    *("0 : i64", "-1 : i64", "1 : i32", "1.0 : f32", "dense<0.0> : tensor<4xf32>", "array<i64: 1, -1>"),
    *(
        "[0 : i64]",
        '["n", 4 : i64]',
        "#relax.shape<[]>",
        "dense<> : tensor<0xi64>",
        "9223372036854775807 : i64",
    ),
    *(
        "99999999999999999999999999 : i128",
        "[[]]",
        '{a = "b"}',
        "tensor<4xf32>",
        '["?"]',
        "[-1]",
        "dense<1> : tensor<i1>",
    ),
)
SYMBOLS = (
    "m",
    "n",
    "k",
    "2*n",
    "n + 1",
    "n*m",
    "n - 1",
    "min(n, 4)",
    "n*n",
    "n // 2",
    "n % 4",
    "max(n, m)",
    "0*n",
)
HOSTILE_SYMBOLS = (
    *(
        "-n",
        "n - 100",
        "4611686018427387904*n",
        "10000000000000000000000*n",
        "n // 0",
        "n % 0",
        "?",
        "",
        "n+",
        "1",
    ),
    *("n*n*n*n*n*n*n*n", "n // (n - n)", "(n", "n.m", "é", "-1", "9223372036854775807 + n", "max(n)"),
)
FUNCTION_ATTRIBUTES = (
    ("relax.force_pure", None),
    ("relax.prim_func", None),
    ("relax.check", '"x"'),
    ("relax.constant", "0 : i64"),
    ("relax.packed", '"differential.copy"'),
    ("relax.signature", '""'),
    ("relax.kernel", '"softmax"'),
    ("relax.kernel", "1 : i64"),
    ("relax.pattern", '"elementwise"'),
    ("relax.pattern", '"reduction"'),
    ("relax.symbol_bounds", "{n = [1 : i64, 8 : i64]}"),
    ("relax.symbol_bounds", "{n = [-1 : i64, unit]}"),
    ("relax.symbol_bounds", "[]"),
    ("relax.prologue", "@main"),
    ("relax.params", "[]"),
    ("relax.latency_critical", None),
    ("relax.may_fail", None),
    ("llvm.emit_c_interface", None),
    ("no_inline", None),
)
ELEMENT_TYPES = ("f32", "f64", "f16", "bf16", "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
FAMILIES = tuple(
    tuple(f"relax.{name}" for name in names.split())
    for names in (
        "abs negative square sign floor ceil round trunc nn_relu exp log sqrt rsqrt sigmoid tanh erf sin cos tan atan "
        "expm1 log1p log2 log10 "
        "asin acos sinh cosh asinh acosh atanh nn_gelu nn_gelu_tanh nn_silu",
        "add subtract multiply divide maximum minimum floor_divide floor_mod mod power atan2 log_add_exp bitwise_and "
        "bitwise_or bitwise_xor left_shift right_shift",
        "equal not_equal less less_equal greater greater_equal",
        "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor",
        "isnan isinf isfinite logical_not",
        "sum max min mean prod variance std",
        "argmax argmin",
        "logical_any logical_all",
        "tril triu",
        "cumsum cumprod",
        "nn_softmax nn_log_softmax",
        "ones_like zeros_like",
        "ones zeros",
        "call_packed call_pure_packed call_dps_packed",
        "invoke_closure invoke_pure_closure",
    )
)
ELEMENT = re.compile(r"(?<=[x<])(?:bf16|f16|f32|f64|u?i\d+)(?=[,>])|(?<= : )(?:bf16|f16|f32|f64|u?i\d+)(?=[,>\s}])")
"""Element types of tensors, and scalar types after values."""
SIZES = (0, 1, 1, 2, 3, 3, 5, 8, 17)
"""The values of symbols in calls."""
