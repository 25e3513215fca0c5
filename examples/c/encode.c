/* A sentence encoder without Python: token ids in, vectors out.
 *
 *   ./encode 101 7592 2088 102        the vector of one sentence, eight numbers of it
 *   ./encode --repeat 1000000 101 102 call again and again: memory stays flat
 *
 * The encoder is a library that relax-mlir has exported (see the Makefile). Its function is a C symbol with the calling
 * convention of the TVM FFI:
 *
 *   int __tvm_ffi_main(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);
 *
 * It takes input_ids and attention_mask, int64 [b, s], and gives float32 [b, 384]. Not zero: an error is set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"

int __tvm_ffi_main(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

int main(int argc, char **argv) {
  long repeat = 1;
  int first = 1;
  if (argc > 2 && strcmp(argv[1], "--repeat") == 0) {
    repeat = strtol(argv[2], NULL, 10);
    first = 3;
  }
  int64_t count = argc - first;
  if (count < 0 || repeat < 1) {
    fprintf(stderr, "usage: encode [--repeat N] TOKEN...\n");
    return 2;
  }
  int64_t *ids = malloc((size_t)(count ? count : 1) * sizeof *ids);
  int64_t *mask = malloc((size_t)(count ? count : 1) * sizeof *mask);
  if (ids == NULL || mask == NULL) return 1;
  for (int64_t i = 0; i < count; i++) {
    ids[i] = strtoll(argv[first + i], NULL, 10);
    mask[i] = 1;
  }
  int64_t shape[2] = {1, count};
  DLTensor ids_tensor = {ids, {kDLCPU, 0}, 2, {kDLInt, 64, 1}, shape, NULL, 0};
  DLTensor mask_tensor = {mask, {kDLCPU, 0}, 2, {kDLInt, 64, 1}, shape, NULL, 0};
  TVMFFIAny args[2] = {tensor_argument(&ids_tensor), tensor_argument(&mask_tensor)};
  int status = 0;
  for (long call = 0; call < repeat && status == 0; call++) {
    TVMFFIAny result;
    memset(&result, 0, sizeof result);
    if (__tvm_ffi_main(NULL, args, 2, &result)) {
      print_error();
      status = 1;
      break;
    }
    const DLTensor *vector = contents(result.v_obj);
    if (call == repeat - 1) {
      const float *elements = vector->data;
      printf("[%lld, %lld]", (long long)vector->shape[0], (long long)vector->shape[1]);
      for (int i = 0; i < 8; i++) printf(" %.6f", elements[i]);
      printf("\n");
    }
    TVMFFIObjectDecRef(result.v_obj);
  }
  free(ids);
  free(mask);
  return status;
}
