// Fuzz targets for packages and checkpoints.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpc/runtime.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"
#include "test/fuzz/targets.h"
#include "test/runtime/package.h"

namespace mpc::fuzz {

namespace {

// Aborts if a condition does not hold, which libFuzzer and tests detect.
void require(bool promise) {
  if (!promise)
    std::abort();
}

// Calls every query function on a program.
void query_everything(const mpc_program_t *program) {
  for (size_t i = 0; i < mpc_program_num_states(program); ++i) {
    mpc_state_info_t info = {};
    info.struct_size = sizeof(info);
    require(!mpc_program_state(program, i, &info));
  }
  for (const char *entry : {"step", "accumulate", "evaluate", "predict"}) {
    mpc_binding_info_t info = {};
    info.struct_size = sizeof(info);
    for (size_t i = 0; i < mpc_program_num_inputs(program, entry); ++i)
      require(!mpc_program_input(program, entry, i, &info));
    for (size_t i = 0; i < mpc_program_num_outputs(program, entry); ++i)
      require(!mpc_program_output(program, entry, i, &info));
  }
  (void)mpc_program_option(program, "precision");
}

void write_file(const std::string &path, const void *data, size_t size) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  require(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size));
  ::close(file);
}

// A session, and a folder in memory for the checkpoint to load.
struct CheckpointFixture {
  CheckpointFixture() : program(test::load(test::make_package())) {
    session = test::create(program);
    char name[] = "/dev/shm/mpc-fuzz-XXXXXX";
    require(::mkdtemp(name) != nullptr);
    folder = name;
  }
  ~CheckpointFixture() {
    (void)runtime::remove_checkpoint(runtime::system_files(), folder);
  }
  test::ProgramPtr program;
  test::SessionPtr session;
  std::string folder;
};

} // namespace

void package(const uint8_t *data, size_t size) {
  test::Bytes bytes(data, data + size);
  bytes.resize(size + 16);
  test::seal(&bytes);
  mpc_program_t *program = nullptr;
  mpc_status_t status =
      mpc_program_load_memory(bytes.data(), bytes.size(), &program);
  require((program != nullptr) == (status == nullptr));
  require(mpc_status_code(status) != MPC_INTERNAL);
  mpc_status_free(status);
  if (program)
    query_everything(program);
  mpc_program_destroy(program);
}

void checkpoint(const uint8_t *data, size_t size) {
  static CheckpointFixture fixture;
  std::vector<runtime::FileRecord> records;
  for (const char *name :
       {runtime::kModelFile, runtime::kOptimizerFile, runtime::kStateFile}) {
    uint32_t length = 0;
    if (size >= sizeof(length))
      std::memcpy(&length, data, sizeof(length));
    data += size < sizeof(length) ? size : sizeof(length);
    size -= size < sizeof(length) ? size : sizeof(length);
    if (length > size)
      length = static_cast<uint32_t>(size);
    write_file(fixture.folder + '/' + name, data, length);
    records.push_back({name, length, runtime::checksum(data, length)});
    data += length;
    size -= length;
  }
  std::string manifest = runtime::manifest_text(records);
  write_file(fixture.folder + '/' + runtime::kManifestFile, manifest.data(),
             manifest.size());

  uint64_t bytes;
  mpc_status_t verified = runtime::verify_checkpoint(runtime::system_files(),
                                                     fixture.folder, &bytes);
  mpc_status_t loaded = mpc_session_load_checkpoint(fixture.session.get(),
                                                    fixture.folder.c_str());
  require((mpc_status_code(verified) == MPC_DAMAGED) ==
          (mpc_status_code(loaded) == MPC_DAMAGED));
  mpc_status_free(verified);
  mpc_status_free(loaded);
}

} // namespace mpc::fuzz
