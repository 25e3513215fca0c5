"""Prim funcs of many kinds, as text; those with a dtype are formatted with it."""

from __future__ import annotations

DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)

FLOATS = DTYPES[8:]

SCAN = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        if i == 0:
            B[i] = A[i]
        else:
            B[i] = B[i - 1] + A[i]
"""

HISTOGRAM = """
@T.prim_func
def k(A: T.Buffer(("n",), "int64"), H: T.Buffer((10,), "int32")):
    for i in range(10):
        H[i] = 0
    for i in range(n):
        H[A[i]] += 1
"""

TRIANGLE = """
@T.prim_func
def k(A: T.Buffer(("n", "n"), "float64"), B: T.Buffer(("n", "n"), "float64"), S: T.Buffer(("n",), "float64")):
    for i in T.serial(n):
        S[i] = 0.0
        for j in T.serial(n):
            B[i, j] = 0.0
        for j in T.serial(i, n):
            B[i, j] = A[i, j]
            S[i] = S[i] + A[j, i]
"""

CONV = """
@T.prim_func
def k(X: T.Buffer(("n", "m"), "float32"), W: T.Buffer((3, 3), "float32"), Y: T.Buffer(("n", "m"), "float32")):
    P = T.alloc_buffer((n + 2, m + 2), "float32")
    for i, j in T.grid(n + 2, m + 2):
        with T.block("pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(1 <= vi and vi < n + 1 and vj >= 1 and vj <= m, X[vi - 1, vj - 1], 0.0)
    for i, j, di, dj in T.grid(n, m, 3, 3):
        with T.block("conv"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.spatial(m, j)
            vdi = T.axis.reduce(3, di)
            vdj = T.axis.reduce(3, dj)
            with T.init():
                Y[vi, vj] = 0.0
            Y[vi, vj] += P[vi + vdi, vj + vdj] * W[vdi, vdj]
"""

WHILE = """
@T.prim_func
def k(A: T.Buffer(("n",), "int64"), B: T.Buffer(("n",), "int64")):
    x = T.alloc_buffer((1,), "int64")
    for i in range(n):
        x[0] = A[i] % 100
        B[i] = 0
        while x[0] > 1:
            if x[0] % 2 == 0:
                x[0] = x[0] // 2
            else:
                x[0] = 3 * x[0] + 1
            B[i] += 1
"""

LAZY = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "bool"), C: T.Buffer(("n",), "float32")):
    for i in range(n):
        B[i] = i > 0 and A[i - 1] > 0.0 or not (i < n - 1 and A[i + 1] <= 0.0)
        left = A[i - 1] if i > 0 else A[i]
        C[i] = left * 2.0
"""

INTEGER_PARAMETER = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("m * 2",), "float32"), m: T.int64, s: T.int32):
    for i in range(m * 2):
        B[i] = T.if_then_else(i + s < n, A[i + s], -1.0)
"""

ARITHMETIC = """
@T.prim_func
def k(
    A: T.Buffer(("n",), "{0}"),
    B: T.Buffer(("n",), "{0}"),
    C: T.Buffer((8, "n"), "{0}"),
    D: T.Buffer((4, "n"), "bool"),
):
    for i in range(n):
        C[0, i] = A[i] + B[i]
        C[1, i] = A[i] - B[i]
        C[2, i] = A[i] * B[i]
        C[3, i] = A[i] // B[i]
        C[4, i] = A[i] % B[i]
        C[5, i] = max(A[i], B[i])
        C[6, i] = T.min(A[i], B[i])
        C[7, i] = A[i] // 3 + A[i] % 5
        D[0, i] = A[i] < B[i]
        D[1, i] = A[i] >= B[i]
        D[2, i] = A[i] == B[i]
        D[3, i] = 1 < A[i] <= 3
"""

MATH = """
@T.prim_func
def k(A: T.Buffer(("n",), "{0}"), C: T.Buffer((16, "n"), "{0}")):
    for i in range(n):
        C[0, i] = T.exp(A[i])
        C[1, i] = T.log(T.abs(A[i]))
        C[2, i] = T.sqrt(abs(A[i]))
        C[3, i] = T.tanh(A[i])
        C[4, i] = T.sigmoid(A[i])
        C[5, i] = T.erf(A[i])
        C[6, i] = T.sin(A[i])
        C[7, i] = T.cos(A[i])
        C[8, i] = T.floor(A[i])
        C[9, i] = T.ceil(A[i])
        C[10, i] = T.round(A[i])
        C[11, i] = T.trunc(A[i])
        C[12, i] = A[i] / 3.0
        C[13, i] = -A[i]
        C[14, i] = T.rsqrt(T.abs(A[i]) + 1.0)
        C[15, i] = T.tan(A[i])
"""

REDUCTION = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "{0}"), B: T.Buffer(("n",), "{0}")):
    for i, k in T.grid(n, m):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {1}
            B[vi] = {2}
"""

FACTORIAL_LETS = """
@T.prim_func
def k(A: T.Buffer((), "int64"), B: T.Buffer((), "int64")):
    x = A[()]
    y: T.int64 = x * x
    B[()] = y + x
"""

BITS = """
@T.prim_func
def k(A: T.Buffer(("n",), "{0}"), B: T.Buffer((5, "n"), "{0}")):
    for i in range(n):
        B[0, i] = A[i] & 12
        B[1, i] = A[i] | 3
        B[2, i] = A[i] ^ 5
        B[3, i] = ~A[i]
        B[4, i] = (A[i] << 2) + (A[i] >> 1)
"""
