#include "test/cuda/programs/simulated.h"

#include "test/cuda/fake/fake_driver.h"
#include "test/cuda/fake/fake_libraries.h"

namespace mpc::test {

namespace {

FakeDriverOptions simulator() {
  FakeDriverOptions options;
  options.architecture = "sim";
  return options;
}

}  // namespace

struct SimulatedDevice::Parts {
  FakeDriver driver{simulator()};
  FakeLibraries libraries{&driver};
};

SimulatedDevice::SimulatedDevice() : parts_(std::make_unique<Parts>()) {}

SimulatedDevice::~SimulatedDevice() = default;

}  // namespace mpc::test
