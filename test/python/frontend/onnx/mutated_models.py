"""ONNX files with mutated bytes and parts: imported, built and called in a separate process.

Importing, building and calling any file must give a result or a `RelaxError`; anything else is a failure, and so is a
file that takes minutes: ``python test/python/frontend/onnx/mutated_models.py --count 500 --seed 7``.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from onnx_models import floats, model
from relax_mlir.error import RelaxError
from relax_mlir.frontend.onnx import InferenceSession

SECONDS = 300
"""A file that takes longer ends the process, with a traceback."""
Mutation = Callable[[random.Random, onnx.ModelProto], None]


def seeds() -> list[onnx.ModelProto]:
    """Valid models with constants, chains of shapes, control flow, windows, recurrent layers, and narrow numbers.

    The loop also ends by its condition: without a count, ONNX defines it as endless.
    """
    dense = model("g (float[n, 4] x) => (float[n, 3] y) { p = Gemm(x, w, b) y = Relu(p) }")
    dense.graph.initializer.append(onnx.numpy_helper.from_array(floats(4, 3), "w"))
    dense.graph.initializer.append(onnx.numpy_helper.from_array(floats(3), "b"))
    chain = model(
        """g (float[n, m] x) => (float[k] y) {
            s = Shape(x) i = Constant<value_ints = [0]>() a = Gather(s, i) e = Constant<value_ints = [-1]>()
            t = Concat<axis = 0>(a, e) r = Reshape(x, t) u = Transpose<perm = [1, 0]>(r)
            z = ReduceSum<keepdims = 0>(u, i) y = Softmax<axis = 0>(z)
        }"""
    )
    control = model(
        """g (float[n] x, bool c) => (float[n] y) {
            count = Constant<value_int = 3>()
            y = Loop(count, c, x) <
                body = b (int64 i, bool d, float[n] v) => (bool o, float[n] w) {
                    five = Constant<value_int = 5>() o = Less(i, five) f = Cast<to = 1>(i) w = Add(v, f)
                }
            >
        }"""
    )
    image = model(
        """g (float[n, 2, h, w] x) => (float[n, 3, a, b] y) {
            c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x, k)
            y = MaxPool<kernel_shape = [2, 2]>(c)
        }"""
    )
    image.graph.initializer.append(onnx.numpy_helper.from_array(floats(3, 2, 3, 3), "k"))
    squeezed = model(
        """g (float[n, m] x) => (float[k] y) {
            one = Constant<value_ints = [1]>() at = Constant<value_int = 1>() s = Shape(x) d = Gather(s, at)
            c = Equal(d, one)
            t = If(c) <
                then_branch = a () => (float[n] v) { v = Squeeze(x, one) },
                else_branch = b () => (float[n, m] w) { w = Identity(x) }
            >
            y = ReduceSum<keepdims = 0>(t)
        }"""
    )
    layer = model(
        """g (float[t, b, 2] x, float[1, b, 2] h) => (float[t, 1, b, 2] y, float[l, b, 2] z) {
            y, last = GRU<hidden_size = 2>(x, w, r, , , h)
            z = Scan(last) <num_scan_inputs = 1, body = s (float[b, 2] e) => (float[b, 2] f) { f = Tanh(e) }>
        }"""
    )
    for name in ("w", "r"):
        layer.graph.initializer.append(onnx.numpy_helper.from_array(floats(1, 6, 2), name))
    narrow = model(
        """g (float[n, 4] x) => (float[n, 3] y) {
            scale = Constant<value = float {0.1}>() zero = Constant<value = int8 {3}>()
            q = QuantizeLinear(x, scale, zero) d = DequantizeLinear(q, scale, zero)
            k = Constant<value_ints = [3]>() y, i = TopK(d, k)
        }"""
    )
    return [dense, chain, control, image, squeezed, layer, narrow]


def _attribute(rng: random.Random, proto: onnx.ModelProto) -> None:
    """Another number in an attribute, or another type of it."""
    attributes = [attribute for node in proto.graph.node for attribute in node.attribute]
    if not attributes:
        return
    attribute = rng.choice(attributes)
    number = rng.choice((-(2**63), -7, -1, 0, 1, 2, 5, 99, 2**31, 2**63 - 1))
    if attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = number
    elif attribute.HasField("i"):
        attribute.i = number
    else:
        attribute.type = rng.choice((1, 2, 3, 4, 6, 7, 8))


def _wire(rng: random.Random, proto: onnx.ModelProto) -> None:
    """An input of a node is replaced by another value, or omitted."""
    node = rng.choice(proto.graph.node)
    names = [name for other in proto.graph.node for name in (*other.input, *other.output)] + [""]
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def _op(rng: random.Random, proto: onnx.ModelProto) -> None:
    node = rng.choice(proto.graph.node)
    node.op_type = rng.choice(
        ("Add", "MatMul", "Reshape", "Gather", "Concat", "If", "Loop", "Conv", "Slice", "Nothing")
    )


def _dimension(rng: random.Random, proto: onnx.ModelProto) -> None:
    dims = rng.choice(proto.graph.input).type.tensor_type.shape.dim
    if dims:
        dims[rng.randrange(len(dims))].dim_value = rng.choice((-3, 0, 1, 2, 4, 2**40))


def _dtype(rng: random.Random, proto: onnx.ModelProto) -> None:
    rng.choice(proto.graph.input).type.tensor_type.elem_type = rng.randrange(30)


def _constant(rng: random.Random, proto: onnx.ModelProto) -> None:
    """A constant gets another shape, dtype, or other bytes."""
    if not proto.graph.initializer:
        return
    tensor = rng.choice(proto.graph.initializer)
    how = rng.randrange(3)
    if how == 0 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice((-1, 0, 2, 7, 2**40))
    elif how == 1:
        tensor.data_type = rng.randrange(30)
    else:
        tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]


def _opset(rng: random.Random, proto: onnx.ModelProto) -> None:
    proto.opset_import[0].version = rng.choice((-1, 0, 1, 5, 7, 9, 11, 13, 18, 99))


MUTATIONS: tuple[Mutation, ...] = (_attribute, _wire, _op, _dimension, _dtype, _constant, _opset)


def mutant(rng: random.Random, models: list[onnx.ModelProto]) -> bytes:
    """A mutant: a model with changed parts, or with changed bytes."""
    proto = onnx.ModelProto()
    proto.CopyFrom(rng.choice(models))
    if rng.random() < 0.75:
        for _ in range(rng.choice((1, 1, 2, 3))):
            rng.choice(MUTATIONS)(rng, proto)
        return proto.SerializeToString()
    data = bytearray(proto.SerializeToString())
    for _ in range(rng.choice((1, 2, 8))):
        place = rng.randrange(len(data))
        if rng.random() < 0.3:
            del data[place : place + rng.randrange(1, 9)]
        else:
            data[place] = rng.randrange(256)
        if not data:
            break
    return bytes(data)


def take(data: bytes) -> str:
    """Import, build and call a file; the kind of what came out. Raises what is no `RelaxError`, or an internal one."""
    try:
        session = InferenceSession(data)
        feeds = {}
        for info in session.get_inputs():
            dims = [dim if isinstance(dim, int) else 3 for dim in info.shape]
            if any(dim > 1000 or dim < 0 for dim in dims):
                return "large"
            kinds = {"tensor(float)": np.float32, "tensor(bool)": np.bool_, "tensor(int64)": np.int64}
            feeds[info.name] = np.ones(dims, kinds.get(info.type, np.float32))
        session.run(None, feeds)
    except RelaxError as error:
        if "internal error" in str(error):
            raise
        return type(error).__name__
    return "result"


def main() -> int:
    """Run some mutants; 1 if one raised anything but a `RelaxError`, or an internal error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="write the file that is being taken there, for crashes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    models, seen, bad = seeds(), dict[str, int](), 0
    for number in range(options.count):
        data = mutant(random.Random(options.seed * 1_000_003 + number), models)
        if options.keep:
            options.keep.write_bytes(data)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            kind = take(data)
        except Exception:
            bad += 1
            print(f"mutant {number} of seed {options.seed}:\n{traceback.format_exc()}", flush=True)
            continue
        finally:
            faulthandler.cancel_dump_traceback_later()
        seen[kind] = seen.get(kind, 0) + 1
    print(f"{options.count} mutants, {bad} bad: {dict(sorted(seen.items()))}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
