#include "runtime/src/device/direct_outputs.h"

namespace mpc::runtime {

namespace {

bool touches(const schema::Buffer& a, const schema::Buffer& b) {
  return a.space() == b.space() && a.offset() < b.offset() + bytes_of(b) &&
         b.offset() < a.offset() + bytes_of(a);
}

bool contains(const schema::Buffer& a, const schema::Buffer& b) {
  return a.offset() <= b.offset() &&
         b.offset() + bytes_of(b) <= a.offset() + bytes_of(a);
}

bool touches_any(const schema::Buffer& buffer, const Bindings* bindings) {
  if (bindings)
    for (const schema::Binding* binding : *bindings)
      if (binding->buffer() != &buffer && touches(*binding->buffer(), buffer))
        return true;
  return false;
}

}  // namespace

DirectOutputs::DirectOutputs(const schema::Entry& entry, uint8_t* arena)
    : arena_(arena) {
  if (!entry.outputs()) return;
  for (const schema::Binding* binding : *entry.outputs()) {
    const schema::Buffer& output = *binding->buffer();
    bool alone = output.space() == schema::Space::Arena &&
                 !touches_any(output, entry.inputs()) &&
                 !touches_any(output, entry.outputs());
    std::vector<Place> places;
    size_t index = 0;
    if (entry.instructions())
      for (const schema::Instruction* instruction : *entry.instructions())
        for (const schema::Buffer* operand : *instruction->operands()) {
          if (touches(*operand, output)) {
            alone &= contains(output, *operand);
            places.push_back({index, operand->offset() - output.offset()});
          }
          ++index;
        }
    if (!alone) places.clear();
    offsets_.push_back(output.offset());
    places_.push_back(std::move(places));
  }
}

bool DirectOutputs::is_direct(size_t index, const void* data) const {
  return !places_[index].empty() &&
         reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

void DirectOutputs::redirect(const Output* outputs, size_t count,
                             void** operands) const {
  for (size_t i = 0; i < count; ++i)
    if (outputs[i].data && is_direct(i, outputs[i].data))
      for (const Place& place : places_[i])
        operands[place.operand] =
            static_cast<uint8_t*>(outputs[i].data) + place.offset;
}

void DirectOutputs::restore(void** operands) const {
  for (size_t i = 0; i < places_.size(); ++i)
    for (const Place& place : places_[i])
      operands[place.operand] = arena_ + offsets_[i] + place.offset;
}

}  // namespace mpc::runtime
