//===- LanguageModel.cpp - The next token of a text -----------------------===//

#include "tools/mpc/generation/LanguageModel.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include "runtime/src/base/number.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mpc::tool;

static bool isInteger(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_I64 || dtype == MPC_DTYPE_I32;
}

static bool isLogits(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F32 || dtype == MPC_DTYPE_BF16 ||
         dtype == MPC_DTYPE_F16;
}

static uint64_t bytesOf(const Binding &binding) {
  uint64_t bytes = mpc_dtype_size(binding.dtype);
  for (int64_t extent : binding.shape)
    bytes *= extent;
  return bytes;
}

static std::vector<mpc_tensor_t>
tensorsOf(const std::vector<Binding> &bindings,
          std::vector<std::vector<char>> &data) {
  std::vector<mpc_tensor_t> tensors;
  for (size_t i = 0; i < bindings.size(); ++i)
    tensors.push_back({sizeof(mpc_tensor_t),
                       bindings[i].dtype,
                       static_cast<uint32_t>(bindings[i].shape.size()),
                       bindings[i].shape.data(),
                       data[i].data(),
                       {}});
  return tensors;
}

static void storeInteger(const Binding &input, std::vector<char> &data,
                         uint64_t index, int64_t value) {
  if (input.dtype == MPC_DTYPE_I64) {
    std::memcpy(data.data() + index * sizeof(value), &value, sizeof(value));
    return;
  }
  int32_t narrow = value;
  std::memcpy(data.data() + index * sizeof(narrow), &narrow, sizeof(narrow));
}

/// Whether the input is one that a mask of tokens or their positions are given
/// to, as Hugging Face names them.
static bool isMask(const Binding &input) {
  return input.name == "attention_mask" || input.name == "mask";
}
static bool isPositions(const Binding &input) {
  return input.name == "position_ids" || input.name == "positions";
}

LanguageModel::LanguageModel(Session &session, const Program &program,
                             const std::string &output, uint64_t wanted)
    : session(session), path(program.path) {
  if (!program.has("predict"))
    throw Failure(Usage, path + ": the program has no entry point 'predict'");
  const std::string entry =
      program.entryFor("predict", program.batchSizeFor("predict", wanted));
  inputs = program.inputs(entry.c_str());
  outputs = program.outputs(entry.c_str());
  size_t found = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Binding &input = inputs[i];
    if (isMask(input) || isPositions(input))
      continue;
    if (!isInteger(input.dtype) || input.shape.size() != 2)
      throw Failure(Usage, path + ": input '" + input.name + "' (" +
                               formatType(input.dtype, input.shape) +
                               ") is not one of a language model: tokens "
                               "[batch, length], attention_mask or "
                               "position_ids");
    ids = i;
    ++found;
  }
  if (found != 1)
    throw Failure(Usage, path +
                             ": a language model has one input of tokens, "
                             "but this one has " +
                             std::to_string(found));
  batch = inputs[ids].shape[0];
  positions = inputs[ids].shape[1];

  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<int64_t> &shape = outputs[i].shape;
    if (!isLogits(outputs[i].dtype) || shape.size() != 3 || shape[0] != batch ||
        shape[1] != positions || shape[2] < 1 ||
        (!output.empty() && outputs[i].name != output))
      continue;
    logits = i;
    classes = shape[2];
    names.push_back("'" + outputs[i].name + "'");
  }
  if (names.size() != 1)
    throw Failure(
        Usage, path + (names.empty()
                           ? ": no output " +
                                 (output.empty() ? "" : "'" + output + "' ") +
                                 "has logits [" + std::to_string(batch) + ", " +
                                 std::to_string(positions) + ", tokens]"
                           : ": choose the output of logits with --output: " +
                                 joinWords(names, "or")));
  for (const Binding &input : inputs)
    inputData.emplace_back(bytesOf(input));
  for (const Binding &found : outputs)
    outputData.emplace_back(bytesOf(found));
}

void LanguageModel::requireToken(int64_t token) const {
  const Binding &input = inputs[ids];
  if (token >= 0 && token < classes &&
      (!input.range || input.range->allows(token)))
    return;
  throw Failure(Usage, "token " + std::to_string(token) + " is not in [0, " +
                           std::to_string(classes) + "), the tokens of '" +
                           path + "'");
}

/// Runs the model on the last tokens of texts, which begin at position 0 and
/// are followed by `padding`.
void LanguageModel::run(const std::vector<std::vector<int64_t>> &texts,
                        int64_t padding) {
  int64_t used = std::min<int64_t>(texts[0].size(), positions);
  for (size_t i = 0; i < inputs.size(); ++i)
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t t = 0; t < positions; ++t) {
        const std::vector<int64_t> &text = texts[b];
        int64_t value = t < used ? text[text.size() - used + t] : padding;
        if (isMask(inputs[i]))
          value = t < used;
        else if (isPositions(inputs[i]))
          value = t;
        storeInteger(inputs[i], inputData[i], b * positions + t, value);
      }
  std::vector<mpc_tensor_t> in = tensorsOf(inputs, inputData);
  std::vector<mpc_tensor_t> out = tensorsOf(outputs, outputData);
  check(mpc_session_run(session.get(), "predict", in.data(), in.size(),
                        out.data(), out.size()),
        path);
  const char *data = outputData[logits].data();
  next.resize(batch * classes);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t c = 0; c < classes; ++c) {
      int64_t index = (b * positions + used - 1) * classes + c;
      float &value = next[b * classes + c];
      uint16_t bits;
      if (outputs[logits].dtype == MPC_DTYPE_F32) {
        std::memcpy(&value, data + index * sizeof(value), sizeof(value));
      } else {
        std::memcpy(&bits, data + index * sizeof(bits), sizeof(bits));
        value = outputs[logits].dtype == MPC_DTYPE_BF16
                    ? runtime::f32_from_bf16(bits)
                    : runtime::f32_from_f16(bits);
      }
      if (std::isnan(value))
        throw Failure(Numeric, path + ": a logit is nan; the weights may not "
                                      "be those of a trained model");
    }
}

const std::vector<float> &
LanguageModel::predict(const std::vector<std::vector<int64_t>> &texts) {
  run(texts, 0);
  return next;
}

void LanguageModel::requireCausal(const std::vector<int64_t> &text) {
  if (static_cast<int64_t>(text.size()) >= positions || classes < 2)
    return;
  std::vector<std::vector<int64_t>> texts(batch, text);
  run(texts, 0);
  std::vector<float> before = next;
  run(texts, classes - 1);
  if (before != next)
    throw Failure(Usage, path + ": the model is not causal: its output for a "
                                "token depends on later tokens, so it cannot "
                                "continue a text");
}
