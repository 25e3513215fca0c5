// A sentence encoder without Python: token ids in, vectors out, by the C++ headers of the TVM FFI.
//
//   ./encode ./encoder.so 101 7592 2088 102
//
// encoder.so is a library that relax-mlir has exported (see the Makefile); its function `main` takes input_ids and
// attention_mask, int64 [b, s], and gives float32 [b, 384].
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;

// A tensor of the caller's numbers, for the time of a call.
static DLTensor view(std::vector<int64_t>& numbers, std::vector<int64_t>& shape) {
  return {numbers.data(), {kDLCPU, 0}, static_cast<int32_t>(shape.size()), {kDLInt, 64, 1}, shape.data(), nullptr, 0};
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: encode LIBRARY TOKEN...\n";
    return 2;
  }
  std::vector<int64_t> ids;
  for (int i = 2; i < argc; ++i) ids.push_back(std::stoll(argv[i]));
  std::vector<int64_t> mask(ids.size(), 1), shape{1, static_cast<int64_t>(ids.size())};
  DLTensor ids_view = view(ids, shape), mask_view = view(mask, shape);
  try {
    ffi::Module library = ffi::Module::LoadFromFile(argv[1]);
    ffi::Function encode = library->GetFunction("main").value();
    ffi::Tensor vector = encode(&ids_view, &mask_view).cast<ffi::Tensor>();
    std::cout << vector.shape();
    const float* elements = static_cast<const float*>(vector.data_ptr());
    for (int i = 0; i < 8; ++i) std::cout << " " << elements[i];
    std::cout << "\n";
  } catch (const ffi::Error& error) {
    std::cerr << error.kind() << ": " << error.message() << "\n";
    return 1;
  }
  return 0;
}
