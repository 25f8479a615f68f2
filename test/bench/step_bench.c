/* mpc-step-bench PACKAGE [--steps=N] [--warm-up=N] [--threads=N]
 * [--deterministic]: nanoseconds per training step on random inputs. */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpc/runtime.h"

enum { kMaxInputs = 16 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void check(mpc_status_t status) {
  if (!status) return;
  fprintf(stderr, "mpc-step-bench: %s\n", mpc_status_message(status));
  exit(1);
}

/* Floats from 0 to 1; integers from 0 to 9, classes of the digits. */
static mpc_tensor_t random_input(const mpc_binding_info_t* info) {
  size_t count = 1;
  for (size_t i = 0; i < info->rank; ++i) count *= (size_t)info->shape[i];
  void* data = calloc(count + 1, mpc_dtype_size(info->dtype));
  if (!data) exit(1);
  for (size_t i = 0; i < count; ++i) {
    if (info->dtype == MPC_DTYPE_F32)
      ((float*)data)[i] = (float)rand() / (float)RAND_MAX;
    else if (info->dtype == MPC_DTYPE_I64)
      ((int64_t*)data)[i] = rand() % 10;
  }
  mpc_tensor_t tensor = {.struct_size = sizeof(tensor),
                         .dtype = info->dtype,
                         .rank = info->rank,
                         .shape = info->shape,
                         .data = data};
  return tensor;
}

static int option(const char* text, const char* name, int* value) {
  size_t length = strlen(name);
  if (strncmp(text, name, length) != 0) return 0;
  *value = atoi(text + length);
  return 1;
}

int main(int argc, char** argv) {
  int steps = 500, warm_up = 100, threads = 2;
  mpc_session_options_t options = {0};
  options.struct_size = sizeof(options);
  for (int i = 2; i < argc; ++i) {
    if (!strcmp(argv[i], "--deterministic"))
      options.deterministic = 1;
    else if (!option(argv[i], "--steps=", &steps) &&
             !option(argv[i], "--warm-up=", &warm_up) &&
             !option(argv[i], "--threads=", &threads))
      argc = 0;
  }
  if (argc < 2 || steps < 1) {
    fprintf(stderr,
            "usage: mpc-step-bench PACKAGE [--steps=N] [--warm-up=N] "
            "[--threads=N] [--deterministic]\n");
    return 2;
  }
  options.threads = (unsigned)threads;
  mpc_program_t* program;
  mpc_session_t* session;
  check(mpc_program_load_file(argv[1], &program));
  check(mpc_session_create(program, &options, &session));
  size_t inputs = mpc_program_num_inputs(program, "step");
  if (inputs > kMaxInputs) return 1;
  mpc_tensor_t tensors[kMaxInputs];
  for (size_t i = 0; i < inputs; ++i) {
    mpc_binding_info_t info = {0};
    info.struct_size = sizeof(info);
    check(mpc_program_input(program, "step", i, &info));
    tensors[i] = random_input(&info);
  }
  mpc_step_info_t info = {0};
  info.struct_size = sizeof(info);
  for (int i = 0; i < warm_up; ++i)
    check(mpc_session_step(session, tensors, inputs, &info));
  double start = now();
  for (int i = 0; i < steps; ++i)
    check(mpc_session_step(session, tensors, inputs, &info));
  printf("%.0f\n", (now() - start) / steps);
  for (size_t i = 0; i < inputs; ++i) free((void*)tensors[i].data);
  mpc_session_destroy(session);
  mpc_program_destroy(program);
  return 0;
}
