// Trains a compiled model on the digits with libmpctrain, as `mpc train` does:
//   mpc-digits-trainer mlp.mpc digits-train.npz digits-test.npz
#include <mpc/train.h>
#include <stdio.h>
#include <stdlib.h>

// Prints the message and exits if a call failed.
static void check(mpc_status_t status) {
  if (!status) return;
  fprintf(stderr, "error: %s\n", mpc_status_message(status));
  exit(1);
}

int main(int argc, char** argv) {
  mpc_program_t* program;
  mpc_train_options_t* options;
  mpc_dataset_t* data;
  mpc_trainer_t* trainer;
  mpc_trainer_info_t info = {.struct_size = sizeof(info)};
  double accuracy;
  if (argc != 4)
    return fputs("usage: MODEL.mpc TRAIN.npz TEST.npz\n", stderr), 2;

  check(mpc_program_load_file(argv[1], &program));
  check(mpc_train_options_create(&options));
  check(mpc_train_options_set(options, "epochs", "30"));
  check(mpc_train_options_set(options, "eval-data", argv[3]));
  check(mpc_train_options_set(options, "checkpoint-dir", "digits-run"));
  check(mpc_train_options_set(options, "resume", "yes"));
  check(mpc_dataset_open(program, NULL, argv[2], options, &data));
  check(mpc_trainer_create(program, data, NULL, options, &trainer));

  while (!info.done) {
    check(mpc_trainer_step(trainer, &info));
    if (!info.evaluated) continue;
    check(mpc_trainer_metric(trainer, "accuracy", &accuracy));
    printf("step %3d  loss %.4f  accuracy %.4f\n", (int)info.step, info.loss,
           accuracy);
  }
  printf("checkpoint: %s\n", mpc_trainer_checkpoint(trainer));

  mpc_trainer_destroy(trainer);
  mpc_dataset_destroy(data);
  mpc_train_options_destroy(options);
  mpc_program_destroy(program);
  return 0;
}
