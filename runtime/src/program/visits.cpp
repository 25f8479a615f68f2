// Checks that visiting all of a package's tables costs no more than its size.

#include "runtime/src/program/program.h"

namespace mpc::runtime {

namespace {

// Counts bytes each time they are reached; fails when the sum exceeds the size
// of the file.
class Visits {
 public:
  explicit Visits(uint64_t size) : left_(size) {}

  bool program(const schema::Program& root) {
    return text(root.producer()) && text(root.model()) &&
           all(root.options(), &Visits::option) &&
           all(root.states(), &Visits::state) &&
           all(root.variants(), &Visits::variant) &&
           all(root.segments(), &Visits::segment);
  }

 private:
  bool take(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  // Counts a string with its length and final NUL; an absent one costs nothing.
  bool text(const flatbuffers::String* string) {
    return !string || take(uint64_t{string->size()} + 5);
  }
  bool numbers(const flatbuffers::Vector<int64_t>* vector) {
    return !vector || take(uint64_t{vector->size()} * 8 + 4);
  }
  // Counts 8 bytes for each table: its offset in the vector and the offset of
  // its vtable.
  template <typename Table>
  bool all(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables,
           bool (Visits::*visit)(const Table&)) {
    if (!tables) return true;
    for (const Table* table : *tables)
      if (!take(8) || !(this->*visit)(*table)) return false;
    return true;
  }

  bool option(const schema::Option& table) {
    return text(table.name()) && text(table.value());
  }
  bool state(const schema::State& table) {
    return text(table.name()) && numbers(table.shape()) &&
           all(table.slots(), &Visits::slot);
  }
  bool slot(const schema::Slot& table) {
    return text(table.name()) && numbers(table.shape());
  }
  bool segment(const schema::Segment& table) { return text(table.target()); }
  bool function(const schema::Function& table) { return text(table.symbol()); }
  bool buffer(const schema::Buffer& table) { return numbers(table.shape()); }
  bool binding(const schema::Binding& table) {
    return text(table.name()) && take(8) && buffer(*table.buffer());
  }
  bool instruction(const schema::Instruction& table) {
    return text(table.name()) && all(table.operands(), &Visits::buffer) &&
           numbers(table.attributes()) && numbers(table.item_elements());
  }
  bool entry(const schema::Entry& table) {
    return text(table.name()) && all(table.inputs(), &Visits::binding) &&
           all(table.outputs(), &Visits::binding) &&
           all(table.instructions(), &Visits::instruction) &&
           all(table.observations(), &Visits::observation) &&
           numbers(table.tested());
  }
  bool observation(const schema::Observation& table) {
    return text(table.name()) && text(table.op()) && text(table.type()) &&
           numbers(table.shape()) && numbers(table.reads());
  }
  bool variant(const schema::Variant& table) {
    if (!text(table.device()) || !text(table.cpu())) return false;
    if (const auto* features = table.cpu_features())
      for (const flatbuffers::String* feature : *features)
        if (!take(4) || !text(feature)) return false;
    return all(table.entries(), &Visits::entry) &&
           all(table.functions(), &Visits::function);
  }

  uint64_t left_;
};

}  // namespace

bool has_no_shared_parts(const schema::Program& root, uint64_t size) {
  return Visits(size).program(root);
}

}  // namespace mpc::runtime
