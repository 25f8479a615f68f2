// Finds the first op whose result is not finite, from the statistics that
// `observe` returns for each op.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/observation.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

using Rows = flatbuffers::Vector<flatbuffers::Offset<schema::Observation>>;

// The statistics of one tensor.
struct Row {
  const schema::Observation* of;
  const double* numbers;

  bool has_nan() const { return numbers[kernels::kNans] > 0; }
  bool is_finite() const {
    return !has_nan() && !(numbers[kernels::kInfinities] > 0);
  }
};

// The origin of values in a tensor that are not finite; -1 if there is none.
struct Origin {
  int64_t non_finite = -1;  // The row.
  int64_t meant =
      -1;  // The row with infinities that may be intended, as in masks.
};

// Observes nothing: the run continues to the end.
class NullObserver : public Observer {
 public:
  bool before(const schema::Instruction&) override { return true; }
  bool after(const schema::Instruction&) override { return true; }
};

// The earlier of two rows; -1 means no row.
int64_t earlier(int64_t a, int64_t b) {
  return a < 0 || b < 0 ? std::max(a, b) : std::min(a, b);
}

// The origin of a row. Infinities in constants, and perhaps in inputs, are
// intended, as are infinities that an op computes from these alone: they are no
// fault until they produce a NaN. Otherwise the origin is the first op whose
// result is not finite.
Origin origin_of(const Row& row, int64_t index,
                 const std::vector<Origin>& origins) {
  Origin found;
  if (row.is_finite()) return found;
  using Kind = schema::ObservationKind;
  const Kind kind = row.of->kind();
  if (row.of->reads())
    for (int64_t read : *row.of->reads()) {
      const Origin& of = origins[static_cast<size_t>(read)];
      found.non_finite = earlier(found.non_finite, of.non_finite);
      found.meant = earlier(found.meant, of.meant);
    }
  if (found.non_finite >= 0) return found;
  const bool may_be_meant = kind == Kind::Constant || kind == Kind::Input ||
                            found.meant >= 0 || row.of->meant();
  if (row.has_nan() || !may_be_meant)
    found.non_finite = index;
  else if (found.meant < 0)
    found.meant = index;
  return found;
}

std::string text_of(const flatbuffers::String* string) {
  return string ? string->str() : "";
}

const char* phase_of(schema::ObservationKind kind) {
  switch (kind) {
    case schema::ObservationKind::Backward:
      return "backward";
    case schema::ObservationKind::Update:
      return "update";
    default:
      return "forward";
  }
}

// "nan at position 3"
std::string place_of_broken(const Row& row) {
  char text[64];
  std::snprintf(text, sizeof(text), "%s at position %.0f",
                row.has_nan() ? "nan" : "inf",
                row.numbers[kernels::kFirstNonFinite]);
  return text;
}

// "'fc1' (Gemm, forward, train.matmul)"
std::string describe_op(const schema::Observation& of) {
  std::string text = "'" + of.name()->str() + "' (";
  if (std::string type = text_of(of.type()); !type.empty()) text += type + ", ";
  return text + phase_of(of.kind()) + ", " + text_of(of.op()) + ")";
}

std::string describe_source(const Row& row) {
  const std::string name = "'" + row.of->name()->str() + "'";
  const std::string place = " (" + place_of_broken(row) + ")";
  using Kind = schema::ObservationKind;
  if (row.of->kind() == Kind::Input)
    return "input " + name + " is not finite" + place;
  if (mpc_dtype_size(dtype_of(row.of->dtype())) < 4)
    return "the weight " + name + " exceeds the range of " +
           mpc_dtype_name(dtype_of(row.of->dtype())) + place;
  return "state " + name + " is not finite" + place;
}

bool is_source(const schema::Observation& of) {
  return of.kind() < schema::ObservationKind::Forward;
}

std::string describe(const Row& row, const char* what) {
  if (is_source(*row.of)) return describe_source(row);
  return std::string("the first ") + what + " appears in " +
         describe_op(*row.of) + ": " + place_of_broken(row) + " of " +
         type_text(dtype_of(row.of->dtype()), extents_of(row.of->shape()),
                   rank_of(row.of->shape()));
}

// Describes an origin and the intended infinities that led to it.
std::string describe(const Origin& origin, const std::vector<Row>& rows) {
  const char* const non_finite = "value that is not finite";
  auto row = [&](int64_t index) { return rows[static_cast<size_t>(index)]; };
  if (origin.non_finite < 0)
    return origin.meant < 0 ? "" : describe(row(origin.meant), non_finite);
  if (origin.meant < 0 || origin.meant > origin.non_finite)
    return describe(row(origin.non_finite), non_finite);
  const Row meant = row(origin.meant);
  const std::string text = describe(row(origin.non_finite), "nan");
  return is_source(*meant.of) ? describe_source(meant) + ", and " + text
                              : text + ", from infinite values produced by " +
                                    describe_op(*meant.of);
}

mpc_status_t read_rows(mpc_session_t* session, const schema::Entry& entry,
                       std::vector<double>* numbers, std::vector<Row>* rows) {
  const schema::Buffer& table = *entry.outputs()
                                     ->Get(static_cast<uint32_t>(find_binding(
                                         entry.outputs(), "observations")))
                                     ->buffer();
  numbers->resize(count_of(table.shape()));
  MPC_RETURN_IF_ERROR(session->device->download(
      table.space(), table.offset(), numbers->data(), bytes_of(table)));
  for (uint32_t i = 0; i < entry.observations()->size(); ++i)
    rows->push_back({entry.observations()->Get(i),
                     numbers->data() + i * kernels::kObservationWidth});
  return nullptr;
}

}  // namespace

mpc_status_t find_origin(mpc_session_t* session, bool of_update,
                         std::string* out_text) {
  const auto index = static_cast<uint32_t>(session->known.observe);
  const schema::Entry& entry = *session->variant->entries()->Get(index);
  NullObserver observer;
  MPC_RETURN_IF_ERROR(session->executable->trace(index, observer));
  std::vector<double> numbers;
  std::vector<Row> rows;
  MPC_RETURN_IF_ERROR(read_rows(session, entry, &numbers, &rows));
  std::vector<Origin> origins;
  for (size_t i = 0; i < rows.size(); ++i)
    origins.push_back(origin_of(rows[i], static_cast<int64_t>(i), origins));
  if (of_update) {
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i].of->kind() == schema::ObservationKind::Update &&
          origins[i].non_finite == static_cast<int64_t>(i)) {
        *out_text = describe(origins[i], rows);
        return nullptr;
      }
    return nullptr;
  }
  // The earlier of the origins in the loss and in the gradients.
  Origin first;
  if (entry.tested())
    for (int64_t row : *entry.tested()) {
      const Origin& of = origins[static_cast<size_t>(row)];
      first.non_finite = earlier(first.non_finite, of.non_finite);
      if (of.non_finite == first.non_finite) first.meant = of.meant;
    }
  *out_text = describe(first, rows);
  return nullptr;
}

}  // namespace mpc::runtime
