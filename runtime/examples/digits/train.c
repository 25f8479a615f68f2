// Trains a compiled model on the digits in C; needs only libmpcrt:
//   mpc-digits-train mlp.mpc images.npy labels.npy
#include <mpc/runtime.h>
#include <stdio.h>
#include <stdlib.h>

// Prints the message and exits if a call failed.
static void check(mpc_status_t status) {
  if (!status) return;
  fprintf(stderr, "error: %s\n", mpc_status_message(status));
  exit(1);
}

// Reads the values of a .npy file. They follow the header, whose length is in
// bytes 8 and 9.
static char* read_npy(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  unsigned char head[10];
  if (!file || fread(head, 1, 10, file) != 10 || head[0] != 0x93)
    check(mpc_status_make(MPC_IO, "cannot read '%s'", path));
  long begin = 10 + head[8] + 256 * head[9];
  fseek(file, 0, SEEK_END);
  *size = (size_t)(ftell(file) - begin);
  fseek(file, begin, SEEK_SET);
  char* data = malloc(*size);
  if (!data || fread(data, 1, *size, file) != *size)
    check(mpc_status_make(MPC_IO, "cannot read '%s'", path));
  fclose(file);
  return data;
}

int main(int argc, char** argv) {
  if (argc != 4)
    return fputs("usage: MODEL.mpc IMAGES.npy LABELS.npy\n", stderr), 2;
  mpc_program_t* program;
  mpc_session_t* session;
  check(mpc_program_load_file(argv[1], &program));
  check(mpc_session_create(program, NULL, &session));

  // The inputs of a step: images, then labels.
  mpc_binding_info_t images = {.struct_size = sizeof(images)};
  mpc_binding_info_t labels = {.struct_size = sizeof(labels)};
  check(mpc_program_input(program, "step", 0, &images));
  check(mpc_program_input(program, "step", 1, &labels));
  size_t image_bytes, label_bytes, batch = (size_t)images.shape[0];
  char* image_data = read_npy(argv[2], &image_bytes);
  char* label_data = read_npy(argv[3], &label_bytes);
  size_t samples = label_bytes / sizeof(int64_t);
  size_t image_size = samples ? image_bytes / samples : 0;

  for (int epoch = 1; epoch <= 30; ++epoch) {
    double loss = 0;
    for (size_t i = 0; i < samples / batch; ++i) {
      mpc_tensor_t inputs[2] = {
          {.struct_size = sizeof(mpc_tensor_t),
           .dtype = images.dtype,
           .rank = images.rank,
           .shape = images.shape,
           .data = image_data + i * batch * image_size},
          {.struct_size = sizeof(mpc_tensor_t),
           .dtype = labels.dtype,
           .rank = labels.rank,
           .shape = labels.shape,
           .data = label_data + i * batch * sizeof(int64_t)}};
      mpc_step_info_t info = {.struct_size = sizeof(info)};
      check(mpc_session_step(session, inputs, 2, &info));
      loss += info.loss;
    }
    printf("epoch %2d  loss %.4f\n", epoch, loss / (double)(samples / batch));
  }
  check(mpc_session_save_checkpoint(session, "digits-checkpoint"));
  free(image_data), free(label_data);
  mpc_session_destroy(session);
  mpc_program_destroy(program);
  return 0;
}
