#include "runtime/src/ranks/shards.h"

#include <algorithm>

#include "kernels/kernel.h"
#include "runtime/src/program/roles.h"

namespace mpc::runtime {

namespace {

uint64_t divide_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit;
}

uint64_t size_of(schema::DType dtype) {
  return mpc_dtype_size(dtype_of(dtype));
}

// The elements of the gradients that an item of the instruction is for; 0 if
// its items cannot be shared.
uint64_t gradients_of_item(const schema::Instruction& instruction,
                           uint64_t elements) {
  const auto* counts = instruction.item_elements();
  if (!counts) return 0;
  uint64_t found = 0;
  for (uint32_t i = 0; i < counts->size(); ++i)
    if (counts->Get(i) > 0 &&
        count_of(instruction.operands()->Get(i)->shape()) == elements)
      found = static_cast<uint64_t>(counts->Get(i));
  if (found > 0 && instruction.items() == 1) return Owners::kUnit;
  return found > 0 && Owners::kUnit % found == 0 ? found : 0;
}

// How many operands, at the end, an instruction writes; SIZE_MAX if that is not
// known.
size_t results_of(const schema::Instruction& instruction) {
  if (instruction.function() >= 0)
    return instruction.results() > 0 ? instruction.results() : SIZE_MAX;
  switch (instruction.kernel()) {
#define MPC_KERNEL(name, id, inputs, outputs, attributes) \
  case id:                                                \
    return outputs;
#include "kernels/catalog.def"
    default:
      return SIZE_MAX;
  }
}

bool is_same(const Piece& a, const Piece& b) {
  return a.space == b.space && a.begin == b.begin && a.end == b.end &&
         a.elements == b.elements && a.bytes == b.bytes;
}

// The places of a piece that other entry points than `apply` use.
std::vector<ByteRange> places_used(const Piece& piece,
                                   const schema::Variant& variant,
                                   uint32_t apply) {
  std::vector<ByteRange> used;
  const auto use = [&](const schema::Buffer& buffer) {
    const uint64_t end = buffer.offset() + bytes_of(buffer);
    if (piece.overlaps(buffer.space(), buffer.offset(), end))
      used.push_back(
          {std::max(piece.begin, buffer.offset()), std::min(piece.end, end)});
  };
  for (uint32_t i = 0; i < variant.entries()->size(); ++i) {
    const schema::Entry& entry = *variant.entries()->Get(i);
    if (entry.outputs())
      for (const schema::Binding* output : *entry.outputs())
        use(*output->buffer());
    // Before the first update, or not with ranks that share an update.
    const bool is_other = entry.role() == schema::EntryRole::Initialize ||
                          entry.role() == schema::EntryRole::Observe;
    if (i == apply || is_other || !entry.instructions()) continue;
    for (const schema::Instruction* instruction : *entry.instructions())
      for (const schema::Buffer* buffer : *instruction->operands())
        use(*buffer);
  }
  std::sort(
      used.begin(), used.end(),
      [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> merged;
  for (const ByteRange& range : used)
    if (merged.empty() || merged.back().end < range.begin)
      merged.push_back(range);
    else
      merged.back().end = std::max(merged.back().end, range.end);
  return merged;
}

}  // namespace

Owners::Owners(const std::vector<Bucket>& buckets,
               const schema::State& gradients, uint64_t size)
    : elements_(count_of(gradients.shape())),
      element_bytes_(size_of(gradients.dtype())),
      ranks_(size) {
  for (const Bucket& bucket : buckets) {
    const uint64_t begin = bucket.begin / element_bytes_;
    const uint64_t end = bucket.end / element_bytes_;
    const uint64_t units = divide_up(end - begin, kUnit);
    std::vector<uint64_t> bounds;
    for (uint64_t rank = 0; rank <= size; ++rank)
      bounds.push_back(std::min(end, begin + units * rank / size * kUnit));
    bounds_.push_back(std::move(bounds));
  }
}

Shards::Shards(const schema::Variant& variant, uint32_t apply,
               const schema::State& gradients,
               const std::vector<Bucket>& buckets, uint32_t rank, uint32_t size)
    : owners_(buckets, gradients, size),
      rank_(rank),
      gradients_{
          schema::Space::State, gradients.offset(),
          gradients.offset() + owners_.elements() * owners_.element_bytes(),
          Owners::kUnit, Owners::kUnit * owners_.element_bytes()} {
  // States that keep their parts are apart when the next update begins, which
  // may require that more is gathered. They only become fewer.
  plan(variant, apply);
  for (size_t kept = kept_.size() + 1; kept_.size() < kept;) {
    kept = kept_.size();
    plan(variant, apply);
  }
}

std::vector<ByteRange> Shards::ranges_of(const Piece& piece,
                                         uint64_t rank) const {
  std::vector<ByteRange> ranges;
  for (size_t i = 0; i < owners_.buckets(); ++i) {
    const std::vector<uint64_t>& bounds = owners_.bounds(i);
    const ByteRange range = {piece.place(bounds[rank]),
                             piece.place(bounds[rank + 1])};
    if (range.begin < range.end) ranges.push_back(range);
  }
  return ranges;
}

void Shards::plan(const schema::Variant& variant, uint32_t apply) {
  scattered_ = kept_;
  scattered_.push_back(gradients_);
  const auto& instructions = *variant.entries()->Get(apply)->instructions();
  items_.assign(instructions.size(), {});
  steps_.assign(1, {{}, {0, instructions.size(), items_.data()}});
  for (uint32_t i = 0; i < instructions.size(); ++i)
    visit(*instructions.Get(i), i);
  finish(variant, apply);
}

void Shards::visit(const schema::Instruction& instruction, size_t index) {
  const uint64_t gradients = gradients_of_item(instruction, owners_.elements());
  const auto& buffers = *instruction.operands();
  const size_t results = results_of(instruction);
  std::vector<Operand> operands;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const schema::Buffer& buffer = *buffers.Get(i);
    const uint64_t each =
        gradients > 0
            ? static_cast<uint64_t>(instruction.item_elements()->Get(i))
            : 0;
    // The parts of rows and of other blocks of gradients have the same places.
    const Piece piece = {buffer.space(), buffer.offset(),
                         buffer.offset() + bytes_of(buffer), Owners::kUnit,
                         each * size_of(buffer.dtype()) *
                             (gradients > 0 ? Owners::kUnit / gradients : 0)};
    operands.push_back(
        {piece, results != SIZE_MAX && i + results >= buffers.size()});
  }

  std::vector<Piece> left, gathers;
  for (const Piece& piece : scattered_) {
    bool is_read = false, is_replaced = false;
    for (const Operand& operand : operands) {
      const Piece& own = operand.piece;
      if (!piece.overlaps(own.space, own.begin, own.end)) continue;
      if (operand.is_result && own.begin <= piece.begin && piece.end <= own.end)
        is_replaced = true;
      else if (!is_same(piece, own))
        is_read = true;
    }
    if (is_read) gathers.push_back(piece);
    if (!is_read && !is_replaced) left.push_back(piece);
  }
  scattered_ = std::move(left);
  if (!gathers.empty()) {
    const size_t end = steps_.back().part.end;
    steps_.back().part.end = index;
    if (steps_.back().part.begin == index) {
      Step& step = steps_.back();
      step.gathers.insert(step.gathers.end(), gathers.begin(), gathers.end());
      step.part.end = end;
    } else {
      steps_.push_back({std::move(gathers), {index, end, items_.data()}});
    }
  }
  if (gradients == 0) return;
  own_items(gradients, instruction.items(), &items_[index]);
  for (const Operand& operand : operands)
    if (operand.is_result) scattered_.push_back(operand.piece);
}

void Shards::own_items(uint64_t elements_of_item, uint64_t items,
                       ItemRanges* out) {
  out->are_some = true;
  for (size_t i = 0; i < owners_.buckets(); ++i) {
    const std::vector<uint64_t>& bounds = owners_.bounds(i);
    const uint64_t begin = bounds[rank_] / elements_of_item;
    const uint64_t end =
        std::min(items, divide_up(bounds[rank_ + 1], elements_of_item));
    if (bounds[rank_] < bounds[rank_ + 1] && begin < end)
      out->ranges.push_back(
          {static_cast<int64_t>(begin), static_cast<int64_t>(end)});
  }
}

// Decides what is left in parts when `apply` ends.
void Shards::finish(const schema::Variant& variant, uint32_t apply) {
  kept_.clear();
  last_gathers_.clear();
  for (Piece& piece : scattered_) {
    if (piece.space != schema::Space::State || is_same(piece, gradients_))
      continue;
    piece.used = places_used(piece, variant, apply);
    uint64_t bytes = 0;
    for (const ByteRange& range : piece.used) bytes += range.end - range.begin;
    // If much of it is used, all of it is as simple.
    if (bytes > (piece.end - piece.begin) / 2) {
      piece.used.clear();
      last_gathers_.push_back(piece);
    } else {
      kept_.push_back(piece);
    }
  }
}

}  // namespace mpc::runtime
