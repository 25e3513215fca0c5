"""How each ONNX op becomes ops of this project, one family per file."""
