// Damaged and malicious models: the importer may reject them, but it must not
// crash, hang or use excessive memory. Best run with sanitizers.

#include "test/compiler/Import/importer.h"
#include "test/compiler/Import/models.h"

#include "test/fuzz/replay.h"
#include "test/fuzz/targets.h"

#include "gtest/gtest.h"

#include <random>

using namespace mpc;

namespace {

TEST(Hostile, ImportsTheUnchangedModel) {
  Importer importer;
  ImportResult result = importer.run(makeNetwork().SerializeAsString());
  EXPECT_TRUE(result.module) << importer.last;
  // One about the batch dimension, one about equal weights.
  EXPECT_EQ(result.notes.size(), 2u);
}

TEST(Hostile, TruncatedAtEveryLength) {
  Importer importer;
  std::string bytes = makeNetwork().SerializeAsString();
  for (size_t length = 0; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    importer.expectClearAnswer(bytes.substr(0, length));
  }
}

TEST(Hostile, RandomBitFlips) {
  Importer importer;
  const std::string bytes = makeNetwork().SerializeAsString();
  std::mt19937 random(20240917);
  int numImported = 0;
  for (int round = 0; round < 20000; ++round) {
    SCOPED_TRACE(round);
    std::string damaged = bytes;
    int flips = 1 + random() % 4;
    for (int i = 0; i < flips; ++i)
      damaged[random() % damaged.size()] ^= char(1 << random() % 8);
    importer.expectClearAnswer(damaged);
    numImported += importer.numErrors == 0;
  }
  // Some models are imported: changed bits in weights do no harm.
  EXPECT_GT(numImported, 1000);
  EXPECT_LT(numImported, 19000);
}

// Extreme integers, which flipping single bits does not produce.
TEST(Hostile, ExtremeIntegers) {
  const int64_t extremes[] = {
      INT64_MIN, INT64_MIN + 1,    -(int64_t(1) << 32), -2,       -1, 0, 1, 2,
      INT32_MAX, int64_t(1) << 32, int64_t(1) << 62,    INT64_MAX};
  Importer importer;
  const onnx::ModelProto model = makeNetwork();
  for (int64_t extreme : extremes) {
    for (int i = 0; i < model.graph().node_size(); ++i)
      for (int a = 0; a < model.graph().node(i).attribute_size(); ++a)
        for (int e = 0;
             e < std::max(1, model.graph().node(i).attribute(a).ints_size());
             ++e) {
          onnx::ModelProto copy = model;
          auto *attribute =
              copy.mutable_graph()->mutable_node(i)->mutable_attribute(a);
          if (attribute->ints_size() > 0)
            attribute->set_ints(e, extreme);
          else
            attribute->set_i(extreme);
          importer.expectClearAnswer(copy.SerializeAsString());
        }
    for (int i = 0; i < model.graph().initializer_size(); ++i) {
      onnx::ModelProto copy = model;
      auto *tensor = copy.mutable_graph()->mutable_initializer(i);
      if (tensor->int64_data_size() > 0)
        tensor->set_int64_data(0, extreme);
      else
        tensor->set_dims(0, extreme);
      importer.expectClearAnswer(copy.SerializeAsString());
    }
    onnx::ModelProto copy = model;
    copy.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(3)
        ->set_dim_value(extreme);
    importer.expectClearAnswer(copy.SerializeAsString());
    copy.mutable_opset_import(0)->set_version(extreme);
    importer.expectClearAnswer(copy.SerializeAsString());
  }
}

// Every data type in place of the expected one.
TEST(Hostile, WrongTypes) {
  Importer importer;
  const onnx::ModelProto model = makeNetwork();
  for (int type = -1; type < 30; ++type) {
    for (int i = 0; i < model.graph().initializer_size(); ++i) {
      onnx::ModelProto copy = model;
      copy.mutable_graph()->mutable_initializer(i)->set_data_type(type);
      importer.expectClearAnswer(copy.SerializeAsString());
    }
    for (int i = 0; i < model.graph().input_size(); ++i) {
      onnx::ModelProto copy = model;
      copy.mutable_graph()
          ->mutable_input(i)
          ->mutable_type()
          ->mutable_tensor_type()
          ->set_elem_type(type);
      importer.expectClearAnswer(copy.SerializeAsString());
    }
  }
}

// Each input of each node replaced by each other value that is already defined.
TEST(Hostile, WrongInputs) {
  Importer importer;
  const onnx::ModelProto model = makeNetwork();
  std::vector<std::string> names = {""};
  for (const auto &tensor : model.graph().initializer())
    names.push_back(tensor.name());
  for (const auto &input : model.graph().input())
    names.push_back(input.name());
  for (int i = 0; i < model.graph().node_size(); ++i) {
    for (const std::string &name : names)
      for (int k = 0; k < model.graph().node(i).input_size(); ++k) {
        SCOPED_TRACE(model.graph().node(i).op_type() + " " + name);
        onnx::ModelProto copy = model;
        copy.mutable_graph()->mutable_node(i)->set_input(k, name);
        importer.expectClearAnswer(copy.SerializeAsString());
      }
    names.push_back(model.graph().node(i).output(0));
  }
}

TEST(Hostile, DeepNesting) {
  onnx::GraphProto graph;
  for (int depth = 0; depth < 60; ++depth) {
    onnx::GraphProto outer;
    onnx::NodeProto *node = outer.add_node();
    node->set_op_type("If");
    node->add_output("y");
    onnx::AttributeProto *attribute = node->add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    attribute->mutable_g()->Swap(&graph);
    graph.Swap(&outer);
  }
  onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->Swap(&graph);
  model.mutable_graph()->add_output()->set_name("y");
  Importer importer;
  importer.expectClearAnswer(model.SerializeAsString());
  EXPECT_GT(importer.numErrors, 0u);

  importer.expectClearAnswer(std::string(1'000'000, '{'), "model.onnxtxt");
  importer.expectClearAnswer(std::string(1'000'000, '{'), "model.textproto");
}

// The survey used to read outputs before they were checked.
TEST(Hostile, ConstantWithoutOutputs) {
  onnx::ModelProto model = makeNetwork();
  onnx::NodeProto &node = *model.mutable_graph()->add_node();
  node.set_op_type("Constant");
  onnx::AttributeProto &value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  value.mutable_t()->add_float_data(1);
  Importer importer;
  importer.expectClearAnswer(model.SerializeAsString());
  EXPECT_EQ(importer.last, "has no output");
}

TEST(Hostile, DamagedText) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[N, 2] x, float[2, 2] w = {1.0, 2.0, 3.0, 4e-1}) => (float y)\n"
      "{ y = Gemm <alpha = 2.0, transB = 1> (x, w) }\n";
  Importer importer;
  for (size_t length = 0; length < text.size(); ++length)
    importer.expectClearAnswer(text.substr(0, length), "model.onnxtxt");
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = char(32 + random() % 95);
    importer.expectClearAnswer(damaged, "model.onnxtxt");
  }
}

// The seeds of fuzzing and what it found.
TEST(Hostile, Corpus) {
  mpc::fuzz::replay(MPC_FUZZ_CORPORA "/import", mpc::fuzz::import);
}

} // namespace
