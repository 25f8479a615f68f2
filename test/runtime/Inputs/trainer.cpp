// Uses the C++ wrappers of libmpctrain.
#include <cstdio>
#include <mpc/train.hpp>

static int fail(const mpc::Status &status) {
  std::printf("error: %s\n", status.message());
  return 1;
}

int main(int, char **argv) {
  mpc::Program program;
  mpc::TrainOptions options;
  mpc::Dataset data;
  mpc::Trainer trainer;
  mpc_trainer_info_t info;
  if (mpc::Status status = program.load_file(argv[1])) return fail(status);
  if (mpc::Status status = options.set_communicator(nullptr))
    return fail(status);
  if (mpc::Status status = data.open(program, nullptr, argv[2], options))
    return fail(status);
  if (mpc::Status status = trainer.create(program, data, options))
    return fail(status);
  if (mpc::Status status = trainer.run(&info)) return fail(status);
  std::printf("trained %d steps\n", static_cast<int>(info.step));
  return fail(options.set("epoch", "3")) - 1;
}
