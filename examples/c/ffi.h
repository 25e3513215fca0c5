/* What both examples need of the TVM FFI's C API. */
#ifndef EXAMPLES_C_FFI_H_
#define EXAMPLES_C_FFI_H_

#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

/* What is behind the head of an object of the FFI. */
static inline const void *contents(TVMFFIObjectHandle object) { return (const char *)object + sizeof(TVMFFIObject); }

/* Print the error that a call has set, and take it away. */
static inline void print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  const TVMFFIErrorCell *cell = contents(error);
  fprintf(stderr, "%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
}

/* An argument that is an array of the caller. */
static inline TVMFFIAny tensor_argument(DLTensor *tensor) {
  TVMFFIAny any;
  memset(&any, 0, sizeof any);
  any.type_index = kTVMFFIDLTensorPtr;
  any.v_ptr = tensor;
  return any;
}

#endif
