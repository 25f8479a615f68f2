//===- Notes.cpp - Decisions that mpc tells the user ----------------------===//

#include "compiler/Support/Notes.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

void mpc::addNote(ModuleOp module, const Twine &text) {
  SmallVector<Attribute> notes;
  if (auto old = module->getAttrOfType<ArrayAttr>(kNotesAttr))
    llvm::append_range(notes, old);
  notes.push_back(StringAttr::get(module.getContext(), text));
  module->setAttr(kNotesAttr, ArrayAttr::get(module.getContext(), notes));
}

std::vector<std::string> mpc::takeNotes(ModuleOp module) {
  std::vector<std::string> texts;
  if (Attribute notes = module->removeAttr(kNotesAttr))
    for (auto note : cast<ArrayAttr>(notes).getAsRange<StringAttr>())
      texts.push_back(note.getValue().str());
  return texts;
}
