//===- Elements.cpp - Load and store tensor elements ----------------------===//

#include "tools/mpc/compare/Elements.h"
#include "tools/mpc/Command.h"

#include <cstring>

using namespace mpc::tool;
using mpc::reference::Element;

/// Calls `use` with a value of the C++ type, and with the member of Element
/// that holds it.
template <typename Use> static void withType(mpc_dtype_t dtype, Use use) {
  switch (dtype) {
  case MPC_DTYPE_F64:
    return use(double(), &Element::real);
  case MPC_DTYPE_F32:
    return use(float(), &Element::real);
  case MPC_DTYPE_I64:
    return use(int64_t(), &Element::whole);
  case MPC_DTYPE_I32:
    return use(int32_t(), &Element::whole);
  case MPC_DTYPE_BOOL:
  case MPC_DTYPE_U8:
    return use(uint8_t(), &Element::whole);
  default:
    throw Failure(Error, std::string("cannot compare tensors of ") +
                             mpc_dtype_name(dtype));
  }
}

std::vector<Element> mpc::tool::loadElements(mpc_dtype_t dtype,
                                             const void *bytes, size_t count) {
  std::vector<Element> elements(count);
  auto *next = static_cast<const char *>(bytes);
  withType(dtype, [&](auto number, auto member) {
    for (Element &element : elements) {
      std::memcpy(&number, next, sizeof(number));
      element.*member = number;
      next += sizeof(number);
    }
  });
  return elements;
}

void mpc::tool::storeElements(mpc_dtype_t dtype,
                              const std::vector<Element> &elements,
                              void *bytes) {
  auto *next = static_cast<char *>(bytes);
  withType(dtype, [&](auto number, auto member) {
    for (const Element &element : elements) {
      number = static_cast<decltype(number)>(element.*member);
      std::memcpy(next, &number, sizeof(number));
      next += sizeof(number);
    }
  });
}
