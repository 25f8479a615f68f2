//===- Locations.cpp - Locations of ONNX nodes ----------------------------===//

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

static StringRef typeOf(NameLoc name) {
  auto type = name ? dyn_cast<NameLoc>(name.getChildLoc()) : NameLoc();
  return type ? type.getName().getValue() : StringRef();
}

StringRef mpc::nodeType(Location loc) { return typeOf(findName(loc)); }

void mpc::visitNodes(Location loc,
                     function_ref<void(StringRef, StringRef)> visit) {
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      visitNodes(part, visit);
  } else if (NameLoc name = findName(loc)) {
    visit(name.getName().getValue(), typeOf(name));
  }
}

Location mpc::gradientLoc(Location loc) {
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    SmallVector<Location> parts =
        llvm::map_to_vector(fused.getLocations(), gradientLoc);
    return FusedLoc::get(loc.getContext(), parts);
  }
  NameLoc name = findName(loc);
  if (!name)
    return loc;
  if (name.getName().getValue().ends_with(kGradientSuffix))
    return name;
  return NameLoc::get(
      StringAttr::get(loc.getContext(),
                      name.getName().getValue() + kGradientSuffix),
      name.getChildLoc());
}
