// Sums over the samples of an evaluation.

#include <algorithm>
#include <cinttypes>

#include "runtime/src/base/guard.h"
#include "runtime/src/program/roles.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

const schema::Buffer* output_named(const schema::Entry& entry,
                                   const char* name) {
  int index = find_binding(entry.outputs(), name);
  return index < 0
             ? nullptr
             : entry.outputs()->Get(static_cast<uint32_t>(index))->buffer();
}

// The sum of the first `count` values in order, in f64. Downloads the values in
// small pieces, so that nothing needs to be allocated.
template <typename Float>
mpc_status_t sum_of(const Device& device, const schema::Buffer& buffer,
                    uint64_t count, double* out_sum) {
  constexpr uint64_t kPiece = 1024;
  Float piece[kPiece];
  double sum = 0;
  for (uint64_t done = 0; done < count; done += kPiece) {
    uint64_t size = std::min(kPiece, count - done);
    MPC_RETURN_IF_ERROR(device.download(buffer.space(),
                                        buffer.offset() + done * sizeof(Float),
                                        piece, size * sizeof(Float)));
    for (uint64_t i = 0; i < size; ++i) sum += static_cast<double>(piece[i]);
  }
  *out_sum = sum;
  return nullptr;
}

mpc_status_t sum_first(mpc_session_t* session, const schema::Buffer& buffer,
                       uint64_t count, double* out_sum) {
  const Device& device = *session->device;
  return note_loss(session,
                   buffer.dtype() == schema::DType::F64
                       ? sum_of<double>(device, buffer, count, out_sum)
                       : sum_of<float>(device, buffer, count, out_sum));
}

// Adds the losses of a sum, each on its own, if the caller asks for them.
mpc_status_t add_parts(mpc_session_t* session, const schema::Entry& entry,
                       uint64_t count, const mpc_metrics_t& sums) {
  size_t part = 0;
  for (const schema::Binding* output : *entry.outputs()) {
    if (!sums.part_sums || part == sums.num_parts) break;
    if (!is_part_of_loss(*output)) continue;
    double loss;
    MPC_RETURN_IF_ERROR(sum_first(session, *output->buffer(), count, &loss));
    sums.part_sums[part++] += loss;
  }
  return nullptr;
}

mpc_status_t evaluate(mpc_session_t* session, const mpc_tensor_t* inputs,
                      size_t num_inputs, size_t num_valid,
                      mpc_metrics_t* metrics) {
  const int found = find_entry(*session->variant, schema::EntryRole::Evaluate);
  if (found < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the program has no entry point 'evaluate'");
  mpc_metrics_t sums;
  MPC_RETURN_IF_ERROR(copy_in(metrics, "the metrics", &sums));
  const uint32_t index =
      entry_for(*session, static_cast<uint32_t>(found), inputs, num_inputs);
  const schema::Entry& entry = *session->variant->entries()->Get(index);
  const schema::Buffer* losses = output_named(entry, "sample_loss");
  uint64_t batch = losses ? static_cast<uint64_t>(losses->shape()->Get(0))
                          : std::max<uint64_t>(1, batch_size_of(entry));
  if (num_valid > batch)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "%zu valid samples in a batch of %" PRIu64,
                           num_valid, batch);
  if (!losses && num_valid != batch)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the loss has no value for each sample, so all "
                           "%" PRIu64 " samples must be valid, not %zu",
                           batch, num_valid);

  MPC_RETURN_IF_ERROR(run_entry(session, index, inputs, num_inputs));
  sums.samples += num_valid;
  if (losses) {
    const schema::Buffer* correct = output_named(entry, "sample_correct");
    const schema::Buffer* counts = output_named(entry, "sample_counted");
    double loss, weight, counted, hits = 0;
    MPC_RETURN_IF_ERROR(sum_first(session, *losses, num_valid, &loss));
    MPC_RETURN_IF_ERROR(sum_first(
        session, *output_named(entry, "sample_weight"), num_valid, &weight));
    counted = weight;
    if (counts)
      MPC_RETURN_IF_ERROR(sum_first(session, *counts, num_valid, &counted));
    if (correct)
      MPC_RETURN_IF_ERROR(sum_first(session, *correct, num_valid, &hits));
    MPC_RETURN_IF_ERROR(add_parts(session, entry, num_valid, sums));
    sums.loss_sum += loss;
    sums.weight_sum += weight;
    sums.counted += counted;
    sums.correct += hits;
    sums.has_accuracy = correct != nullptr;
  } else {
    double loss;
    MPC_RETURN_IF_ERROR(
        sum_first(session, *output_named(entry, "loss"), 1, &loss));
    sums.loss_sum += loss * static_cast<double>(num_valid);
    sums.weight_sum += static_cast<double>(num_valid);
    sums.has_accuracy = 0;
  }
  return copy_out(sums, metrics);
}

}  // namespace

}  // namespace mpc::runtime

mpc_status_t mpc_session_evaluate(mpc_session_t* session,
                                  const mpc_tensor_t* inputs, size_t num_inputs,
                                  size_t num_valid, mpc_metrics_t* metrics) {
  if (!session || !metrics)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return mpc::runtime::guard([&] {
    return mpc::runtime::evaluate(session, inputs, num_inputs, num_valid,
                                  metrics);
  });
}
