// The reference compared with PyTorch (test/kernels/goldens): in f64, on inputs
// for which every sum is exact, so that only divisions may differ in the last
// bit.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

const std::map<std::string, KernelId> kNames = {
#define MPC_KERNEL(name, id, inputs, outputs, attributes) \
  {#name, KernelId::name},
#include "kernels/catalog.def"
};

struct Golden {
  KernelDesc desc;
  std::vector<double> values;
};

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::istringstream in(text);
  for (std::string extent; std::getline(in, extent, ',');)
    shape.push_back(std::stoll(extent));
  return shape;
}

// case KERNEL ATTRIBUTE... ; SHAPE ; SHAPE... = VALUE...
Golden parse(const std::string& line) {
  Golden golden;
  std::istringstream in(line);
  std::string word;
  in >> word >> word;
  golden.desc.id = kNames.at(word);
  while (in >> word && word != ";")
    golden.desc.attributes.push_back(std::stoll(word));
  do {
    in >> word;
    golden.desc.operands.push_back({MPC_DTYPE_F64, parse_shape(word)});
    in >> word;
  } while (word == ";");
  for (double value; in >> value;) golden.values.push_back(value);
  return golden;
}

bool looks_up(const KernelDesc& desc) {
  return desc.id == KernelId::embedding || desc.id == KernelId::embedding_grad;
}

// If a case lists indices, they are u8, or i64 for tables.
void set_index_dtype(KernelDesc* desc) {
  if (desc->id == KernelId::max_pool) desc->operands[2].dtype = MPC_DTYPE_U8;
  if (desc->id == KernelId::max_pool_grad)
    desc->operands[1].dtype = MPC_DTYPE_U8;
  if (looks_up(*desc)) desc->operands[1].dtype = MPC_DTYPE_I64;
}

TEST(Goldens, ReferenceAgreesWithPytorch) {
  std::ifstream file(MPC_GOLDENS);
  ASSERT_TRUE(file) << MPC_GOLDENS;
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    SCOPED_TRACE(line.substr(0, line.find('=')));
    Golden golden = parse(line);
    set_index_dtype(&golden.desc);
    std::vector<std::vector<double>> inputs;
    for (size_t i = 0; i < input_count(golden.desc); ++i)
      inputs.push_back(
          eighths(static_cast<int>(i), element_count(golden.desc.operands[i])));
    if (looks_up(golden.desc)) {
      const bool forward = golden.desc.id == KernelId::embedding;
      const int64_t rows = golden.desc.operands[forward ? 0 : 2].shape[0];
      for (double& index : inputs[1])
        index = std::fmod(8 * index, static_cast<double>(rows));
    }
    if (golden.desc.id == KernelId::max_pool_grad) {
      const size_t count = inputs[1].size();
      inputs[1].assign(golden.values.end() - static_cast<long>(count),
                       golden.values.end());
      golden.values.resize(golden.values.size() - count);
    }
    std::vector<double> found;
    for (const std::vector<double>& output : exact(golden.desc, inputs))
      found.insert(found.end(), output.begin(), output.end());
    ASSERT_EQ(found.size(), golden.values.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], golden.values[i],
                  4 * 0x1p-53 * std::fabs(golden.values[i]))
          << "element " << i;
  }
  EXPECT_EQ(cases, 87);
}

}  // namespace
}  // namespace mpc::kernels::testing
