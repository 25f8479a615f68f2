// Packages with inconsistent numbers, one by one.

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "test/runtime/package.h"
#include "test/runtime/program/load.h"

namespace mpc::test {
namespace {

using program::ProgramT;

const uint64_t kHuge = UINT64_MAX - 63;

program::InstructionT& first_generated(ProgramT& p) {
  for (auto& entry : p.variants[0]->entries)
    for (auto& call : entry->instructions)
      if (call->function >= 0) return *call;
  throw std::logic_error("the package has no generated code");
}

const Edit kEdits[] = {
    {"the package has no code",
     [](ProgramT& p) { p.segments[2]->target = "cuda"; }},
    {"segment 1: lies outside", [](ProgramT& p) { p.segments[1]->size = 1e9; }},
    {"segment 1: lies outside",
     [](ProgramT& p) { p.segments[1]->offset = kHuge; }},
    {"segment 1: its checksum", [](ProgramT& p) { ++p.segments[1]->checksum; }},
    {"segment 1: does not start", [](ProgramT& p) { ++p.segments[1]->offset; }},
    {"overlaps another segment",
     [](ProgramT& p) { p.segments[1]->offset = p.segments[0]->offset; }},
    {"there is another of its kind",
     [](ProgramT& p) { p.segments[1]->kind = program::SegmentKind::States; }},
    {"tables reach into its segments",
     [](ProgramT& p) { p.segments[1]->offset = 64; }},
    {"state 'parameters': lies outside",
     [](ProgramT& p) {
       p.states[0]->shape = {1, 1 << 20};
     }},
    {"state 'parameters': its type or shape",
     [](ProgramT& p) {
       p.states[0]->shape = {-1, 1024};
     }},
    {"state 'parameters': its type or shape",
     [](ProgramT& p) {
       p.states[0]->shape = {int64_t{1} << 40, int64_t{1} << 40};
     }},
    {"state 'parameters': its type or shape",
     [](ProgramT& p) { p.states[0]->dtype = program::DType::None; }},
    {"state 'parameters': its initial value",
     [](ProgramT& p) { p.states[0]->initial_size -= 4; }},
    {"state 'parameters': its initial value",
     [](ProgramT& p) { p.states[0]->initial_offset = kHuge; }},
    {"overlaps another state",
     [](ProgramT& p) { p.states[1]->offset = p.states[0]->offset; }},
    {"state 'parameters': occurs twice",
     [](ProgramT& p) { p.states[2]->name = "parameters"; }},
    {"two states have the name 'step_count'",
     [](ProgramT& p) { p.states[0]->slots[0]->name = "step_count"; }},
    {"states: a name is not text",
     [](ProgramT& p) { p.states[0]->name = "\xff"; }},
    {"overlaps another slot",
     [](ProgramT& p) { p.states[0]->slots[1]->offset = 7; }},
    {"slot 'b' of state 'parameters': lies outside",
     [](ProgramT& p) { p.states[0]->slots[1]->offset = 1023; }},
    {"it is not the copy of a state",
     [](ProgramT& p) { p.states[1]->copy_of = 99; }},
    {"it cannot be the 16-bit copy",
     [](ProgramT& p) { p.states[1]->copy_of = 2; }},
    {"only a working copy can", [](ProgramT& p) { p.states[2]->copy_of = 0; }},
    {"the loss is scaled, but its scale is missing",
     [](ProgramT& p) { p.states[6]->name = "other"; }},
    {"state 'step_count': has the wrong type",
     [](ProgramT& p) { p.states[3]->dtype = program::DType::F64; }},
    {"accumulate: an update needs", [](ProgramT& p) { p.accumulate = 0; }},
    {"entry 'predict': occurs twice",
     [](ProgramT& p) { p.variants[0]->entries[3]->name = "predict"; }},
    {"'accumulate' and 'apply' need each other",
     [](ProgramT& p) {
       p.variants[0]->entries[3]->name = "apply";
       p.loss_scaling = false;
     }},
    {"counts more instructions that only read than it has",
     [](ProgramT& p) {
       program::EntryT& entry = *p.variants[0]->entries[0];
       entry.reads_only = static_cast<uint32_t>(entry.instructions.size()) + 1;
     }},
    {"it has more results than operands",
     [](ProgramT& p) {
       program::InstructionT& call = first_generated(p);
       call.results = static_cast<uint32_t>(call.operands.size()) + 1;
     }},
    {"its items do not divide each operand",
     [](ProgramT& p) { first_generated(p).item_elements = {1}; }},
    {"its items do not divide an operand",
     [](ProgramT& p) {
       program::InstructionT& call = first_generated(p);
       call.item_elements.assign(call.operands.size(), 1 << 30);
       call.items = 2;
     }},
    {"its items do not divide an operand",
     [](ProgramT& p) {
       program::InstructionT& call = first_generated(p);
       call.item_elements.assign(call.operands.size(), -1);
     }},
    {"its items do not divide an operand",
     [](ProgramT& p) {
       program::InstructionT& call = first_generated(p);
       call.item_elements.assign(call.operands.size(), 0);
       call.results = 1;
     }},
    {"output 'loss': is missing",
     [](ProgramT& p) { p.variants[0]->entries[0]->outputs[0]->name = "lost"; }},
    {"output 'finite': is missing",
     [](ProgramT& p) { p.variants[0]->entries[0]->outputs.pop_back(); }},
    {"output 'finite': has the wrong type",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->outputs[2]->buffer->dtype =
           program::DType::U8;
     }},
    {"different number of samples",
     [](ProgramT& p) {
       p.variants[0]->entries[1]->outputs[1]->buffer->shape = {3};
     }},
    {"entry 'evaluate': has no loss",
     [](ProgramT& p) {
       p.variants[0]->entries[1]->outputs[0]->name = "other";
     }},
    {"input 1: lies outside the arena",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->inputs[1]->buffer->offset = kHuge;
     }},
    {"input 1: lies outside the arena",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->inputs[1]->buffer->shape = {1 << 20};
     }},
    {"input 1: does not lie in the arena",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->inputs[1]->buffer->space =
           program::Space::State;
     }},
    {"overlaps another input",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->inputs[1]->buffer->offset = 0;
     }},
    {"input 1: another has its name",
     [](ProgramT& p) { p.variants[0]->entries[0]->inputs[1]->name = "x"; }},
    {"input 0: has a range",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->inputs[0]->has_range = true;
     }},
    {"its batch dimension does not exist",
     [](ProgramT& p) { p.variants[0]->entries[0]->inputs[0]->batch_dim = 2; }},
    {"instruction 0 ('test_gradient (node)'), operand 1: lies outside the "
     "state memory",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->instructions[0]->operands[1]->offset =
           p.state_size;
     }},
    {"operand 0: is not aligned",
     [](ProgramT& p) {
       p.variants[0]->entries[2]->instructions[0]->operands[0]->offset += 4;
     }},
    {"is not exactly one of function and kernel",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->instructions[0]->kernel = 1;
     }},
    {"calls a function that does not exist",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->instructions[0]->function = 99;
     }},
    {"its number of items is invalid",
     [](ProgramT& p) {
       p.variants[0]->entries[0]->instructions[0]->grain = 0;
     }},
    {"has the wrong number of operands",
     [](ProgramT& p) {
       p.variants[0]->entries[2]->instructions[0]->operands.pop_back();
     }},
    {"kernel 999 is not in this runtime's catalog",
     [](ProgramT& p) {
       p.variants[0]->entries[2]->instructions[0]->kernel = 999;
     }},
};

TEST(Program, ChecksEveryNumber) {
  for (const Edit& edit : kEdits) {
    Outcome outcome = load_edited(edit.edit);
    EXPECT_NE(outcome.code, MPC_OK) << edit.what;
    EXPECT_NE(outcome.message.find(edit.what), std::string::npos)
        << "expected '" << edit.what << "' in '" << outcome.message << "'";
  }
}

}  // namespace
}  // namespace mpc::test
