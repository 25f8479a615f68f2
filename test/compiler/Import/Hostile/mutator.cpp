// Mutations of models.

#include "test/compiler/Import/Hostile/mutator.h"
#include "test/compiler/Import/importer.h"

#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/Graph/OpTable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <limits>
#include <set>

using namespace mpc;
using namespace mpc::test;
using onnx::TensorProto;

constexpr int64_t kExtremes[] = {0,
                                 1,
                                 -1,
                                 1'000'000'000'000,
                                 -1'000'000'000'000,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};

void Mutator::check(const onnx::ModelProto &model, const std::string &what) {
  constexpr int kFirst = 8, kSecond = 16; // One mutation in this many.
  if (isSecond && random() % kSecond != 0)
    return;
  SCOPED_TRACE(what + "\n" + model.graph().ShortDebugString());
  if (std::getenv("MPC_HOSTILE_VERBOSE"))
    llvm::errs() << what << " " << model.graph().ShortDebugString() << "\n";
  auto begin = std::chrono::steady_clock::now();
  importer.expectClearAnswer(model.SerializeAsString());
  EXPECT_FALSE(llvm::StringRef(importer.last).contains("internal error"))
      << importer.last;
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 20);
  ++numModels;
  if (isSecond || random() % kFirst != 0)
    return;
  isSecond = true;
  mutate(model);
  isSecond = false;
}

void Mutator::run(const onnx::ModelProto &model) {
  // The module must be destroyed before the importer's context.
  bool isFine = bool(importer.run(model.SerializeAsString()).module);
  EXPECT_TRUE(isFine) << importer.last << "\n"
                      << model.graph().ShortDebugString();
  for (const onnx::NodeProto &node : model.graph().node())
    if (model.opset_import(0).version() == kNewestOpset)
      ops.insert(qualifiedOp(node));
  mutate(model);
}

void Mutator::mutate(const onnx::ModelProto &model) {
  for (int i = 0; i < model.graph().node_size(); ++i) {
    mutateNode(model, i);
    mutateAttributes(model, i);
  }
  for (int i = 0; i < model.graph().input_size(); ++i)
    mutateInput(model, i);
  for (int i = 0; i < model.graph().initializer_size(); ++i)
    mutateInitializer(model, i);
  mutateExtents(model);
}

/// Replaces all equal extents of inputs by another one, so that shapes remain
/// consistent.
void Mutator::mutateExtents(const onnx::ModelProto &model) {
  std::set<int64_t> extents;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      extents.insert(dim.dim_value());
  for (int64_t extent : extents)
    for (int64_t other : {int64_t(5), int64_t(1) << 13, int64_t(1) << 20,
                          int64_t(1) << 30, int64_t(1) << 39}) {
      onnx::ModelProto copy = model;
      for (onnx::ValueInfoProto &input : *copy.mutable_graph()->mutable_input())
        for (auto &dim : *input.mutable_type()
                              ->mutable_tensor_type()
                              ->mutable_shape()
                              ->mutable_dim())
          if (dim.dim_value() == extent)
            dim.set_dim_value(other);
      check(copy, "extents " + std::to_string(other) + " for " +
                      std::to_string(extent));
    }
}

/// Tries missing and additional inputs and outputs, and sequences.
void Mutator::mutateNode(const onnx::ModelProto &model, int index) {
  const onnx::NodeProto &node = model.graph().node(index);
  auto change = [&](auto how, const std::string &what) {
    onnx::ModelProto copy = model;
    how(*copy.mutable_graph()->mutable_node(index));
    check(copy, what);
  };
  for (int i = 0; i < node.input_size(); ++i) {
    change([&](onnx::NodeProto &n) { n.set_input(i, ""); }, "empty input");
    change([&](onnx::NodeProto &n) { n.mutable_input()->DeleteSubrange(i, 1); },
           "an input less");
    onnx::ModelProto copy = model;
    onnx::NodeProto &sequence = *copy.mutable_graph()->add_node();
    sequence.set_op_type("SequenceEmpty");
    sequence.add_output("sequence");
    copy.mutable_graph()->mutable_node(index)->set_input(i, "sequence");
    std::rotate(copy.mutable_graph()->mutable_node()->pointer_begin(),
                copy.mutable_graph()->mutable_node()->pointer_end() - 1,
                copy.mutable_graph()->mutable_node()->pointer_end());
    check(copy, "a sequence as input");
  }
  change([](onnx::NodeProto &n) { n.add_input(""); }, "an empty input more");
  if (node.input_size() > 0)
    change([](onnx::NodeProto &n) { n.add_input(n.input(0)); }, "input more");
  change([](onnx::NodeProto &n) { n.add_output("more"); }, "an output more");
  change([](onnx::NodeProto &n) { n.add_output(""); }, "empty output more");
  change([](onnx::NodeProto &n) { n.clear_output(); }, "no output");
  onnx::ModelProto copy = model;
  copy.mutable_graph()->mutable_node(index)->add_output("more");
  copy.mutable_graph()->add_output()->set_name("more");
  check(copy, "an output more that is used");
}

void Mutator::mutateAttributes(const onnx::ModelProto &model, int index) {
  const onnx::NodeProto &node = model.graph().node(index);
  for (int a = 0; a < node.attribute_size(); ++a) {
    const onnx::AttributeProto &attribute = node.attribute(a);
    auto change = [&](auto how) {
      onnx::ModelProto copy = model;
      onnx::NodeProto &changed = *copy.mutable_graph()->mutable_node(index);
      how(*changed.mutable_attribute(a));
      check(copy, "attribute " + attribute.name());
    };
    for (int64_t extreme : kExtremes) {
      if (attribute.type() == onnx::AttributeProto::INT)
        change([&](onnx::AttributeProto &to) { to.set_i(extreme); });
      for (int i = 0; i < attribute.ints_size(); ++i)
        change([&](onnx::AttributeProto &to) { to.set_ints(i, extreme); });
    }
    for (float extreme : {0.0f, -1.0f, 1e38f, INFINITY, NAN})
      if (attribute.type() == onnx::AttributeProto::FLOAT)
        change([&](onnx::AttributeProto &to) { to.set_f(extreme); });
    change([&](onnx::AttributeProto &to) { to.clear_ints(); });
    change([&](onnx::AttributeProto &to) { to.add_ints(1); });
    change([&](onnx::AttributeProto &to) { to.set_s("nonsense"); });
    change([&](onnx::AttributeProto &to) { to.clear_type(); });
    onnx::ModelProto copy = model;
    copy.mutable_graph()
        ->mutable_node(index)
        ->mutable_attribute()
        ->DeleteSubrange(a, 1);
    check(copy, "without attribute " + attribute.name());
  }
}

/// Replaces the value `name` by a constant, of each element type.
void Mutator::replace(const onnx::ModelProto &model, const std::string &name,
                      const google::protobuf::RepeatedField<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count = extent < 0 || extent > 100 ? 0 : count * extent;
  for (int32_t type :
       {TensorProto::FLOAT, TensorProto::INT64, TensorProto::INT32,
        TensorProto::BOOL, TensorProto::STRING, TensorProto::UINT8}) {
    onnx::ModelProto copy = model;
    onnx::GraphProto &graph = *copy.mutable_graph();
    auto isIt = [&](const auto &entry) { return entry.name() == name; };
    for (int i = graph.initializer_size(); i-- > 0;)
      if (isIt(graph.initializer(i)))
        graph.mutable_initializer()->DeleteSubrange(i, 1);
    for (int i = graph.input_size(); i-- > 0;)
      if (isIt(graph.input(i)))
        graph.mutable_input()->DeleteSubrange(i, 1);
    onnx::NodeProto constant;
    constant.set_op_type("Constant");
    constant.add_output(name);
    onnx::AttributeProto &value = *constant.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(type);
    *value.mutable_t()->mutable_dims() = shape;
    for (int64_t i = 0; i < count; ++i) {
      if (type == TensorProto::FLOAT)
        value.mutable_t()->add_float_data(1.5f);
      else if (type == TensorProto::INT64)
        value.mutable_t()->add_int64_data(1);
      else if (type == TensorProto::STRING)
        value.mutable_t()->add_string_data("text");
      else
        value.mutable_t()->add_int32_data(1);
    }
    *graph.add_node() = constant;
    std::rotate(graph.mutable_node()->pointer_begin(),
                graph.mutable_node()->pointer_end() - 1,
                graph.mutable_node()->pointer_end());
    check(copy, "a constant of type " + std::to_string(type));
  }
}

void Mutator::mutateInput(const onnx::ModelProto &model, int index) {
  const onnx::ValueInfoProto &input = model.graph().input(index);
  auto change = [&](auto how, const std::string &what) {
    onnx::ModelProto copy = model;
    how(*copy.mutable_graph()
             ->mutable_input(index)
             ->mutable_type()
             ->mutable_tensor_type());
    check(copy, what + " of input " + input.name());
  };
  google::protobuf::RepeatedField<int64_t> shape;
  const auto &dims = input.type().tensor_type().shape();
  change([](auto &type) { type.mutable_shape()->clear_dim(); }, "rank 0");
  change([](auto &type) { type.mutable_shape()->add_dim()->set_dim_value(1); },
         "a dimension more");
  for (int32_t of : {TensorProto::FLOAT, TensorProto::INT64, TensorProto::INT32,
                     TensorProto::BOOL})
    change([&](auto &type) { type.set_elem_type(of); }, "another type");
  for (int d = 0; d < dims.dim_size(); ++d) {
    shape.Add(dims.dim(d).dim_value());
    for (int64_t extent : {int64_t(0), int64_t(1), int64_t(7), int64_t(1) << 30,
                           int64_t(1'000'000'000'000)})
      change(
          [&](auto &type) {
            type.mutable_shape()->mutable_dim(d)->set_dim_value(extent);
          },
          "an extent of " + std::to_string(extent));
  }
  replace(model, input.name(), shape);
  replace(model, input.name(), {});
}

void Mutator::mutateInitializer(const onnx::ModelProto &model, int index) {
  const TensorProto &tensor = model.graph().initializer(index);
  auto change = [&](auto how, const std::string &what) {
    onnx::ModelProto copy = model;
    how(*copy.mutable_graph()->mutable_initializer(index));
    check(copy, what + " of initializer " + tensor.name());
  };
  for (int i = 0; i < tensor.int64_data_size(); ++i)
    for (int64_t extreme : kExtremes)
      change([&](TensorProto &to) { to.set_int64_data(i, extreme); },
             "an extreme number");
  for (int i = 0; i < tensor.float_data_size(); ++i)
    for (float extreme : {0.0f, -1.0f, 1e-30f, 1e30f, INFINITY, NAN})
      change([&](TensorProto &to) { to.set_float_data(i, extreme); },
             "an extreme number");
  change(
      [](TensorProto &to) {
        to.clear_dims();
        if (to.int64_data_size() > 1)
          to.mutable_int64_data()->Truncate(1);
        if (to.float_data_size() > 1)
          to.mutable_float_data()->Truncate(1);
      },
      "rank 0");
  for (int d = 0; d < tensor.dims_size(); ++d)
    change(
        [&](TensorProto &to) {
          to.set_dims(d, 0);
          to.clear_int64_data();
          to.clear_float_data();
        },
        "an extent of 0");
  change([](TensorProto &to) { to.add_dims(1); }, "a dimension more");
  replace(model, tensor.name(), tensor.dims());
  replace(model, tensor.name(), {});
}
