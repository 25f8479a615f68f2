// Opens the digits as a file, as arrays and through callbacks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

void check(mpc_status_t status) {
  if (!status)
    return;
  printf("error %d: %s\n", mpc_status_code(status), mpc_status_message(status));
  exit(1);
}

static void print_message(void *user, mpc_message_kind_t kind,
                          const char *text) {
  static const char *const kinds[] = {"note", "warning", "progress", "summary"};
  fprintf(user, "%s: %s\n", kinds[kind], text);
}

mpc_train_options_t *parse_options(char **texts) {
  mpc_train_options_t *options;
  check(mpc_train_options_create(&options));
  for (; *texts; ++texts) {
    char *equal = strchr(*texts, '=');
    *equal = 0;
    check(mpc_train_options_set(options, *texts, equal + 1));
    *equal = '=';
  }
  mpc_train_options_set_handler(options, print_message, stderr);
  return options;
}

// Reads the values of FOLDER/NAME.npy, which follow the header.
static char *read_npy(const char *folder, const char *name, size_t *size) {
  char path[4096];
  unsigned char head[10];
  long begin;
  char *data;
  FILE *file;
  snprintf(path, sizeof(path), "%s/%s.npy", folder, name);
  file = fopen(path, "rb");
  if (!file || fread(head, 1, 10, file) != 10)
    check(mpc_status_make(MPC_IO, "cannot read '%s'", path));
  begin = 10 + head[8] + 256 * head[9];
  fseek(file, 0, SEEK_END);
  *size = (size_t)(ftell(file) - begin);
  fseek(file, begin, SEEK_SET);
  data = malloc(*size);
  if (!data || fread(data, 1, *size, file) != *size)
    check(mpc_status_make(MPC_IO, "cannot read '%s'", path));
  fclose(file);
  return data;
}

enum { kPixels = 64 };
static const char *images; // f32[N, 1, 8, 8]
static const char *labels; // i64[N]

static mpc_status_t read_samples(void *user, const uint64_t *samples,
                                 size_t num_samples,
                                 const mpc_tensor_t *tensors,
                                 size_t num_tensors) {
  const size_t bytes[2] = {kPixels * sizeof(float), sizeof(int64_t)};
  if (user)
    return mpc_status_make(MPC_IO, "the disk is gone");
  for (size_t t = 0; t < num_tensors; ++t)
    for (size_t i = 0; i < num_samples; ++i)
      memcpy((char *)tensors[t].data + i * bytes[t],
             (t == 0 ? images : labels) + samples[i] * bytes[t], bytes[t]);
  return NULL;
}

mpc_dataset_t *open_data(const mpc_program_t *program, const char *entry,
                         const char *kind, const char *path,
                         const mpc_train_options_t *options) {
  mpc_dataset_t *data;
  size_t image_bytes, label_bytes;
  int64_t samples;
  if (!strcmp(kind, "file")) {
    check(mpc_dataset_open(program, entry, path, options, &data));
    return data;
  }
  images = read_npy(path, "images", &image_bytes);
  labels = read_npy(path, "labels", &label_bytes);
  samples = (int64_t)(label_bytes / sizeof(int64_t));
  if (!strcmp(kind, "arrays")) {
    const int64_t shape[4] = {samples, 1, 8, 8};
    const char *const names[2] = {"labels", "images"};
    mpc_tensor_t tensors[2];
    memset(tensors, 0, sizeof(tensors));
    tensors[0].struct_size = tensors[1].struct_size = sizeof(mpc_tensor_t);
    tensors[0].dtype = MPC_DTYPE_I64, tensors[0].rank = 1;
    tensors[1].dtype = MPC_DTYPE_F32, tensors[1].rank = 4;
    tensors[0].shape = tensors[1].shape = shape;
    tensors[0].data = (void *)labels, tensors[1].data = (void *)images;
    check(mpc_dataset_from_arrays(program, entry, names, tensors, 2, options,
                                  &data));
  } else {
    mpc_dataset_callbacks_t callbacks = {.struct_size = sizeof(callbacks)};
    callbacks.num_samples = (uint64_t)samples;
    callbacks.read = read_samples;
    callbacks.background = !strcmp(kind, "background");
    callbacks.user = !strcmp(kind, "broken") ? &data : NULL;
    check(
        mpc_dataset_from_callbacks(program, entry, &callbacks, options, &data));
  }
  return data;
}
