/* A function of any size, found by its name at run time: out[i, j] = x[i, j] * factor[i], written into the caller's array.
 *
 *   ./scale_rows ./scale_rows.so 3 4     three rows of four numbers
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"

typedef int (*function_t)(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) {
    fprintf(stderr, "usage: scale_rows LIBRARY ROWS COLUMNS [FACTORS]\n");
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  function_t scale_rows = (function_t)dlsym(library, "__tvm_ffi_scale_rows");
  if (scale_rows == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int64_t rows = atoll(argv[2]), columns = atoll(argv[3]), factors = argc == 5 ? atoll(argv[4]) : rows;
  float *x = calloc((size_t)(rows * columns) + 1, sizeof *x), *out = calloc((size_t)(rows * columns) + 1, sizeof *out);
  float *factor = calloc((size_t)factors + 1, sizeof *factor);
  if (x == NULL || out == NULL || factor == NULL) return 1;
  for (int64_t i = 0; i < rows * columns; i++) x[i] = (float)i;
  for (int64_t i = 0; i < factors; i++) factor[i] = (float)(i + 1);
  int64_t matrix[2] = {rows, columns}, vector[1] = {factors};
  DLDataType f32 = {kDLFloat, 32, 1};
  DLTensor x_tensor = {x, {kDLCPU, 0}, 2, f32, matrix, NULL, 0};
  DLTensor factor_tensor = {factor, {kDLCPU, 0}, 1, f32, vector, NULL, 0};
  DLTensor out_tensor = {out, {kDLCPU, 0}, 2, f32, matrix, NULL, 0};
  TVMFFIAny args[3] = {tensor_argument(&x_tensor), tensor_argument(&factor_tensor), tensor_argument(&out_tensor)};
  TVMFFIAny result;
  memset(&result, 0, sizeof result);
  int status = scale_rows(NULL, args, 3, &result);
  if (status) {
    print_error();
  } else {
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t j = 0; j < columns; j++) printf("%g ", out[i * columns + j]);
      printf("\n");
    }
  }
  free(x);
  free(out);
  free(factor);
  return status != 0;
}
