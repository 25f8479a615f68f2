//===- Locations.cpp - From an op back to its ONNX node -------------------===//

#include "compiler/Support/Locations.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

/// The outermost NameLoc of `loc`, null if there is none.
static NameLoc findName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name;
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (NameLoc name = findName(part))
        return name;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return findName(call.getCallee());
  return nullptr;
}

Location mpc::makeNodeLoc(MLIRContext *context, StringRef name,
                          StringRef type) {
  Location typeLoc = NameLoc::get(StringAttr::get(context, type));
  return NameLoc::get(StringAttr::get(context, name), typeLoc);
}

StringRef mpc::nodeName(Location loc) {
  NameLoc name = findName(loc);
  return name ? name.getName().getValue() : StringRef();
}

StringRef mpc::nodeType(Location loc) {
  NameLoc name = findName(loc);
  auto type = name ? dyn_cast<NameLoc>(name.getChildLoc()) : NameLoc();
  return type ? type.getName().getValue() : StringRef();
}

Location mpc::gradientLoc(Location loc) {
  NameLoc name = findName(loc);
  if (!name)
    return loc;
  if (name.getName().getValue().ends_with(".grad"))
    return name;
  return NameLoc::get(
      StringAttr::get(loc.getContext(), name.getName().getValue() + ".grad"),
      name.getChildLoc());
}
