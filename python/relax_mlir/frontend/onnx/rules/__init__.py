"""Conversion rules of ONNX ops, one family per file."""
