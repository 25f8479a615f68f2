//===- GpuTiles.cpp - Tiles transposed in shared memory -------------------===//
//
// An operand that is not contiguous along the columns is loaded along the
// dimension in which it is contiguous, `across`, and read from shared memory
// along the columns: both memories are accessed in whole vectors.
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/Cuda/GpuEmitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <set>

using namespace mlir;
using namespace mpc;

/// Bytes of static shared memory that a block may declare on any GPU.
static constexpr int64_t kMaxSharedBytes = 48 * 1024;

/// Row pitch of a tile in elements: padding by one word or half a word puts the
/// rows that a warp reads together into different banks.
static int64_t pitchOf(int64_t side, unsigned bytes) {
  return side + (bytes == 1 ? 2 : 1);
}

/// The first element of the block's tile along the columns and along `across`;
/// leaves the indices of all other dimensions in `at`.
std::pair<Value, Value> GpuEmitter::findTileOfBlock(Position &at) {
  const unsigned dim = schedule.tileDim;
  const int64_t side = schedule.tileSide;
  Value number = toIndex(block);
  auto part = [&](int64_t size) {
    Value rest = arith::RemUIOp::create(builder, loc, number, i64(size));
    number = arith::DivUIOp::create(builder, loc, number, i64(size));
    return rest;
  };
  Value column = scaled(part(llvm::divideCeil(domain.columns(), side)), side);
  Value across = scaled(part(llvm::divideCeil(domain.sizes[dim], side)), side);
  at.row.resize(domain.columnBegin);
  for (unsigned d = domain.columnBegin; d-- > 0;)
    if (d != dim)
      at.row[d] = part(domain.sizes[d]);
  return {column, across};
}

/// Calls `body` for each vector of the tile that belongs to this thread.
/// Neighbouring threads get neighbouring vectors along `across` if `turned`,
/// else along the columns. `body` gets the position, and the column and the
/// index along `across` of the first element relative to the tile's corner.
void GpuEmitter::eachTileVector(
    const Position &tile, Value firstColumn, Value firstAcross, bool turned,
    llvm::function_ref<void(const Position &, Value, Value)> body) {
  const unsigned dim = schedule.tileDim;
  const int64_t columns = domain.columns(), across = domain.sizes[dim];
  const int64_t side = schedule.tileSide;
  Value along = scaled(toIndex(threadOfGroup), schedule.lanes);
  for (int64_t i = 0; i < side; i += schedule.groups) {
    Value step = add(toIndex(group), i64(i));
    Value ofColumn = turned ? step : along, ofAcross = turned ? along : step;
    Position at = tile;
    at.lanes = schedule.lanes;
    at.column = add(firstColumn, ofColumn);
    at.row[dim] = add(firstAcross, ofAcross);
    Value exists;
    if (columns % side != 0)
      exists = isLess(at.column, i64(columns));
    if (across % side != 0)
      exists = both(exists, isLess(at.row[dim], i64(across)));
    onlyIf(exists, [&] { body(at, ofColumn, ofAcross); });
  }
}

/// Loads a vector of `access` along `across`, in its storage type.
Value GpuEmitter::loadAcross(const KernelAccess &access, const Position &at) {
  accesses.load(operandOf.at(access.root), access);
  Type element = storageType(access.elementType);
  Value pointer = rowPointer(access, at);
  pointer = LLVM::GEPOp::create(
      builder, loc, pointer.getType(), element, pointer,
      ValueRange{scaled(at.column, columnStride(access.strides))});
  return LLVM::LoadOp::create(builder, loc, vectorType(element, at.lanes),
                              pointer,
                              alignmentOf(at.lanes, storageBytes(element)));
}

/// Writes a vector to its row of a tile, in the largest pieces that stay
/// aligned with the pitch.
void GpuEmitter::putInTile(Value memory, Value vector, Value row, Value place) {
  auto type = cast<VectorType>(vector.getType());
  Type piece = type.getElementType();
  const unsigned bytes = storageBytes(piece);
  Value first = add(scaled(row, pitchOf(schedule.tileSide, bytes)), place);
  Value address = elementAt(memory, piece, first);
  int64_t count = type.getNumElements();
  if (bytes == 1 && count > 1) {
    piece = builder.getI16Type();
    count /= 2;
    vector = vector::BitCastOp::create(builder, loc,
                                       VectorType::get(count, piece), vector);
  }
  for (int64_t i = 0; i < count; ++i)
    LLVM::StoreOp::create(
        builder, loc, vector::ExtractOp::create(builder, loc, vector, i),
        elementAt(address, piece, i64(i)), storageBytes(piece));
}

/// Reads a vector along the columns, one element from each row of a tile.
Value GpuEmitter::takeFromTile(Value memory, Type element, Value row,
                               Value place) {
  const unsigned bytes = storageBytes(element);
  const int64_t pitch = pitchOf(schedule.tileSide, bytes);
  Value address = elementAt(memory, element, add(scaled(row, pitch), place));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < schedule.lanes; ++i)
    elements.push_back(LLVM::LoadOp::create(
        builder, loc, element, elementAt(address, element, i64(i * pitch)),
        bytes));
  return vector::FromElementsOp::create(
      builder, loc, VectorType::get(elements.size(), element), elements);
}

/// Finds the operands that the block transposes, and assigns shared memory to
/// each.
std::vector<GpuEmitter::Tile> GpuEmitter::findTiles() {
  std::vector<Tile> tiles;
  std::set<AccessKey> known;
  const int64_t side = schedule.tileSide;
  int64_t sharedBytes = 0;
  for (const KernelNode &node : domain.nodes)
    for (const KernelAccess &input : node.inputs) {
      if (!operandOf.count(input.root) || producers.count(input.root) ||
          columnStride(input.strides) <= 1 ||
          input.strides[schedule.tileDim] != 1 || known.count(keyOf(input)))
        continue;
      const unsigned bytes = storageBytes(storageType(input.elementType));
      const int64_t size = side * pitchOf(side, bytes) * bytes;
      // Operands that do not fit are read directly.
      if (sharedBytes + size > kMaxSharedBytes)
        continue;
      sharedBytes += size;
      known.insert(keyOf(input));
      tiles.push_back(
          {&input, sharedMemory("tile" + std::to_string(tiles.size()), size)});
    }
  return tiles;
}

void GpuEmitter::emitTiles() {
  Position tile;
  auto [firstColumn, firstAcross] = findTileOfBlock(tile);
  const std::vector<Tile> tiles = findTiles();
  eachTileVector(tile, firstColumn, firstAcross, /*turned=*/true,
                 [&](const Position &at, Value ofColumn, Value ofAcross) {
                   for (const Tile &turned : tiles)
                     putInTile(turned.memory, loadAcross(*turned.input, at),
                               ofColumn, ofAcross);
                 });
  barrier();
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, domain.nodes.size()));
  eachTileVector(tile, firstColumn, firstAcross, /*turned=*/false,
                 [&](const Position &at, Value ofColumn, Value ofAcross) {
                   newPosition();
                   loadRowScalars(at);
                   for (const Tile &turned : tiles) {
                     Type element = storageType(turned.input->elementType);
                     loaded[keyOf(*turned.input)] =
                         fromStorage(turned.input->elementType,
                                     takeFromTile(turned.memory, element,
                                                  ofColumn, ofAcross));
                   }
                   storeOutputs(all, at);
                 });
  newPosition();
}
