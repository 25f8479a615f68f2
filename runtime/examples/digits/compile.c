// Compiles a model and trains it on one batch, in one program:
//   mpc-digits-compile mlp.onnx
#include <mpc/compiler.h>
#include <mpc/runtime.h>
#include <stdio.h>
#include <stdlib.h>

// Prints the message and exits if a call failed.
static void check(mpc_status_t status) {
  if (!status) return;
  fprintf(stderr, "error: %s\n", mpc_status_message(status));
  exit(1);
}

int main(int argc, char** argv) {
  static float images[16 * 64];
  static int64_t labels[16];
  const int64_t image_shape[] = {16, 1, 8, 8}, label_shape[] = {16};
  const mpc_tensor_t batch[] = {
      {sizeof(mpc_tensor_t), MPC_DTYPE_F32, 4, image_shape, images, {0, 0}},
      {sizeof(mpc_tensor_t), MPC_DTYPE_I64, 1, label_shape, labels, {0, 0}}};
  mpc_compile_options_t* options;
  mpc_compilation_t* compilation;
  mpc_program_t* program;
  mpc_session_t* session;
  mpc_step_info_t info = {.struct_size = sizeof(info)};
  const void* package;
  size_t size, i;
  if (argc != 2) return fputs("usage: MODEL.onnx\n", stderr), 2;

  check(mpc_compile_options_create(&options));
  check(mpc_compile_options_set(options, "batch", "16"));
  check(mpc_compile_options_set(options, "optimizer", "sgd"));
  check(mpc_compile_options_set(options, "lr", "0.1"));
  check(mpc_compile(argv[1], NULL, options, &compilation));
  for (i = 0; i < mpc_compilation_num_notes(compilation); ++i)
    printf("note: %s\n", mpc_compilation_note(compilation, i));

  package = mpc_compilation_package(compilation, &size);
  check(mpc_program_load_memory(package, size, &program));
  check(mpc_session_create(program, NULL, &session));
  for (i = 0; i < 20; ++i) check(mpc_session_step(session, batch, 2, &info));
  printf("step %d  loss %.4f\n", (int)info.step, info.loss);

  mpc_session_destroy(session);
  mpc_program_destroy(program);
  mpc_compilation_destroy(compilation);
  mpc_compile_options_destroy(options);
  return 0;
}
