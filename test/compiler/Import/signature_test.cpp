// The program signature of PyTorch's exporter.

#include "compiler/Import/Initializers/Signature.h"
#include "test/compiler/Import/signature_models.h"

#include "gtest/gtest.h"

using namespace mpc;
using namespace mpc::test;

namespace {

TEST(Signature, TellsParametersFromTheRest) {
  Signature signature(
      modelWith({"fc.weight", "pe", "lifted_tensor_0", "val_3"},
                "\n# inputs\np_fc_weight: PARAMETER target='fc.weight'\n"
                "p_cls: PARAMETER target='cls'\n"
                "b_pe: BUFFER target='pe' persistent=True\n"
                "c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'\n"
                "x: USER_INPUT\n\n# outputs\nlinear: USER_OUTPUT\n"));
  EXPECT_EQ(signature.roleOf("fc.weight"), Signature::Role::Parameter);
  EXPECT_EQ(signature.roleOf("pe"), Signature::Role::Buffer);
  EXPECT_EQ(signature.roleOf("lifted_tensor_0"), Signature::Role::Buffer);
  EXPECT_EQ(signature.roleOf("val_3"), Signature::Role::Computed);
  EXPECT_EQ(signature.missing(), std::vector<std::string>{"cls"});
}

TEST(Signature, IsUnknownWithoutMetadata) {
  onnx::ModelProto model;
  model.mutable_graph()->add_initializer()->set_name("w");
  Signature signature(model);
  EXPECT_EQ(signature.roleOf("w"), Signature::Role::Unknown);
  EXPECT_TRUE(signature.missing().empty());
}

/// Newer exporters record from what initializers were computed.
TEST(Signature, FollowsWhatWasComputedFromParameters) {
  onnx::ModelProto model =
      modelWith({"val_0", "mul", "const_cast"},
                "p_a: PARAMETER target='a'\np_b: PARAMETER target='b'\n");
  EXPECT_EQ(Signature(model).missing().size(), 2u);
  EXPECT_TRUE(Signature(model).mayHoldParameters("mul"));
  auto add = [&](const char *name, const char *origins) {
    onnx::StringStringEntryProto entry;
    entry.set_key("pkg.onnxscript.optimizer.folded_from");
    entry.set_value(origins);
    onnx::ValueInfoProto *value = model.mutable_graph()->add_value_info();
    value->set_name(name);
    value->GetReflection()->MutableUnknownFields(value)->AddLengthDelimited(
        4, entry.SerializeAsString());
  };
  add("val_0", "['a', 'transpose']");
  add("mul", "['arange', 'ab']");
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(model.SerializeAsString()));
  Signature signature(parsed);
  EXPECT_TRUE(signature.mayHoldParameters("val_0"));
  EXPECT_TRUE(signature.mayHoldParameters("val_0.one"));
  EXPECT_FALSE(signature.mayHoldParameters("mul.one"));
  EXPECT_FALSE(signature.mayHoldParameters("mul"));
  EXPECT_FALSE(signature.mayHoldParameters("const_cast"));
  // The other parameter is tied or not needed.
  EXPECT_EQ(signature.missing(), std::vector<std::string>{"a"});
}

TEST(Signature, MalformedEntriesAreNoParameters) {
  Signature signature(modelWith({"w"}, ": PARAMETER target='\ntarget=''\nw"));
  EXPECT_EQ(signature.roleOf("w"), Signature::Role::Computed);
  EXPECT_TRUE(signature.missing().empty());
}

} // namespace
