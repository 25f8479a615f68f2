//===- ConvertArray.h - Convert arrays to another type ----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_CONVERTARRAY_H
#define MPC_TOOLS_MPC_DATA_CONVERTARRAY_H

#include "tools/mpc/data/Elements.h"

#include "mpc/dtype.h"

#include <string>
#include <vector>

namespace mpc::tool {

/// NumPy's name of a type; "" for bf16 and FP8, which NumPy does not have.
std::string numpyName(mpc_dtype_t dtype);

/// Whether arrays of a type may be converted, if their values fit: floats and
/// integers to floats, integers to integers, booleans as 0 and 1. Floats are
/// never converted to integers, and nothing is converted to f16: the file must
/// hold f16.
bool mayConvert(const std::string &from, mpc_dtype_t to);

/// Whether all elements are 0 or 1.
bool isZeroOrOne(const StoredArray &array);

/// Whether all elements are whole numbers.
bool areWhole(const StoredArray &array);

/// Whether the elements are floats.
bool isFloat(const npz::ArrayType &array);

struct Conversion {
  std::string
      fault; ///< "holds 300, which uint8 cannot hold ..."; "" if there is none.
  std::string remark; ///< More for the note: "; values from 0 to 255 ...".
};

/// Whether the elements can be converted: floats are rounded; integers must
/// keep their values.
Conversion checkConversion(const StoredArray &array, mpc_dtype_t to);

/// Converts `count` elements.
using Convert = void (*)(const char *from, uint64_t count, char *to);

/// The function for two types; null if there is none.
Convert findConversion(const std::string &from, mpc_dtype_t to);

/// The function that converts the elements of an array. Throws a Failure if one
/// does not keep its value (checkConversion).
Convert requireConversion(const StoredArray &array, mpc_dtype_t to);

/// The converted elements of an array; throws like requireConversion().
std::vector<char> convertAll(const StoredArray &array, mpc_dtype_t to);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_CONVERTARRAY_H
