// RUN: mpc-opt %s --mpc-lower-to-linalg --split-input-file | FileCheck %s

// A row outside the table is not read: the branch is part of the body, and so is the
// read of the captured tensor. Only the indices are an operand.
// CHECK-DAG:   #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @gather
// CHECK-SAME:    (%[[TABLE:.*]]: tensor<7x8xbf16>, %[[INDICES:.*]]: tensor<5xi64>)
// CHECK:         linalg.generic {indexing_maps = [#[[$ROW]], #{{.*}}], {{.*}}} ins(%[[INDICES]] : tensor<5xi64>)
// CHECK-NEXT:    ^bb0(%[[INDEX:.*]]: i64, %{{.*}}: bf16):
// CHECK:           %[[COLUMN:.*]] = linalg.index 1
// CHECK:           %[[PLACE:.*]] = arith.index_cast %[[INDEX]] : i64 to index
// CHECK:           %[[FROM_END:.*]] = arith.addi %[[PLACE]], %c7
// CHECK:           %[[IS_NEGATIVE:.*]] = arith.cmpi slt, %[[PLACE]], %c0
// CHECK:           %[[AT:.*]] = arith.select %[[IS_NEGATIVE]], %[[FROM_END]], %[[PLACE]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[AT]], %c7
// CHECK:           %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
// CHECK:           scf.if %[[EXISTS]] -> (f32) {
// CHECK-NEXT:        %[[READ:.*]] = tensor.extract %[[TABLE]][%[[AT]], %[[COLUMN]]] : tensor<7x8xbf16>
// CHECK-NEXT:        %[[WIDE:.*]] = arith.extf %[[READ]] : bf16 to f32
// CHECK-NEXT:        scf.yield %[[WIDE]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[NAN]]
func.func @gather(%t: tensor<7x8xbf16>, %i: tensor<5xi64>) -> tensor<5x8xbf16> {
  %0 = train.gather %t, %i : (tensor<7x8xbf16>, tensor<5xi64>) -> tensor<5x8xbf16>
  return %0 : tensor<5x8xbf16>
}

// -----

// Integers and bools are not converted, and have no NaN.
// CHECK-LABEL: func.func @gather_bools
// CHECK-SAME:    (%[[TABLE:.*]]: tensor<7xi1>,
// CHECK:         %[[FALSE:.*]] = arith.constant false
// CHECK:         scf.if %{{.*}} -> (i1) {
// CHECK-NEXT:      %[[READ:.*]] = tensor.extract %[[TABLE]][%{{.*}}] : tensor<7xi1>
// CHECK-NEXT:      scf.yield %[[READ]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[FALSE]]
func.func @gather_bools(%t: tensor<7xi1>, %i: tensor<5xi32>) -> tensor<5xi1> {
  %0 = train.gather %t, %i : (tensor<7xi1>, tensor<5xi32>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

// -----

// The position of a tap is stride * position - pad + dilation * tap; outside the image
// the value is the padding.
// CHECK-LABEL: func.func @unfold
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x9xf32>)
// CHECK:         linalg.generic
// CHECK-NOT:       ins(
// CHECK:           %[[POSITION:.*]] = linalg.index 3
// CHECK:           %[[TAP:.*]] = linalg.index 2
// CHECK:           %[[CHANNEL:.*]] = linalg.index 1
// CHECK:           %[[IMAGE:.*]] = linalg.index 0
// CHECK:           %[[DILATED:.*]] = arith.muli %[[TAP]], %c3
// CHECK:           %[[STRIDED:.*]] = arith.muli %[[POSITION]], %c2
// CHECK:           %[[FIRST:.*]] = arith.subi %[[STRIDED]], %c1
// CHECK:           %[[AT:.*]] = arith.addi %[[FIRST]], %[[DILATED]]
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %c9
// CHECK:           %[[PADDING:.*]] = arith.constant -1.000000e+00 : f32
// CHECK:           scf.if %[[INSIDE]] -> (f32) {
// CHECK-NEXT:        %[[READ:.*]] = tensor.extract %[[X]][%[[IMAGE]], %[[CHANNEL]], %[[AT]]]
// CHECK-NEXT:        scf.yield %[[READ]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[PADDING]]
func.func @unfold(%x: tensor<2x3x9xf32>) -> tensor<2x3x2x4xf32> {
  %0 = train.unfold %x {kernel_shape = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 3>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>, padding = -1.0 : f64} : (tensor<2x3x9xf32>) -> tensor<2x3x2x4xf32>
  return %0 : tensor<2x3x2x4xf32>
}

// -----

// Each element sums the elements before it, in f32. All run the same number of
// iterations, so that vectors share one loop; elements that do not count are not read.
// CHECK-LABEL: func.func @cumsum
// CHECK-SAME:    (%[[X:.*]]: tensor<4x10xbf16>)
// CHECK:         linalg.generic
// CHECK-NOT:       ins(
// CHECK:           %[[ROW:.*]] = linalg.index 0
// CHECK:           %[[OWN:.*]] = linalg.index 1
// CHECK:           %[[ALL:.*]] = scf.for %[[TURN:.*]] = %c0{{.*}} to %c10{{.*}} step %c1{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32) {
// CHECK:             %[[AT:.*]] = arith.addi %{{.*}}, %[[TURN]]
// CHECK:             %[[BEFORE:.*]] = arith.cmpi slt, %[[AT]], %[[OWN]]
// CHECK:             %[[ITSELF:.*]] = arith.cmpi eq, %[[AT]], %[[OWN]]
// CHECK:             %[[EITHER:.*]] = arith.ori %[[BEFORE]], %[[ITSELF]]
// CHECK:             %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %c10
// CHECK:             %[[COUNTS:.*]] = arith.andi %[[EITHER]], %[[INSIDE]]
// CHECK:             %[[TERM:.*]] = scf.if %[[COUNTS]] -> (f32) {
// CHECK-NEXT:          %[[READ:.*]] = tensor.extract %[[X]][%[[ROW]], %[[AT]]] : tensor<4x10xbf16>
// CHECK-NEXT:          arith.extf %[[READ]]
// CHECK:             %[[NEXT:.*]] = arith.addf %[[SUM]], %[[TERM]] : f32
// CHECK:             scf.yield %[[NEXT]] : f32
// CHECK:           arith.truncf %[[ALL]] : f32 to bf16
func.func @cumsum(%x: tensor<4x10xbf16>) -> tensor<4x10xbf16> {
  %0 = train.cumsum %x {axis = 1 : i64} : (tensor<4x10xbf16>) -> tensor<4x10xbf16>
  return %0 : tensor<4x10xbf16>
}

// -----

// Exclusive and from the end: strictly after.
// CHECK-LABEL: func.func @cumsum_reverse
// CHECK:         %[[OWN:.*]] = linalg.index 1
// CHECK:         scf.for
// CHECK:           %[[AFTER:.*]] = arith.cmpi slt, %[[OWN]], %[[AT:.*]] : index
// CHECK-NOT:       arith.cmpi eq
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]],
// CHECK:           %[[COUNTS:.*]] = arith.andi %[[AFTER]], %[[INSIDE]]
// CHECK:           scf.if %[[COUNTS]]
func.func @cumsum_reverse(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %0 = train.cumsum %x {axis = 1 : i64, exclusive, reverse} : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

// 1000 elements: first sums of 32 blocks of 32; then each element sums the blocks
// before its own, and the elements of its own block.
// CHECK-LABEL: func.func @cumsum_blocks
// CHECK-SAME:    (%[[X:.*]]: tensor<4x1000xbf16>)
// CHECK:         %[[BLOCKS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x32xf32>)
// CHECK:           scf.for {{.*}} to %c32
// CHECK:             scf.if
// CHECK:               tensor.extract %[[X]]
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<4x1000xbf16>)
// CHECK:           %[[BEFORE:.*]] = scf.for {{.*}} to %c32
// CHECK-NEXT:        tensor.extract %[[BLOCKS]]
// CHECK:           scf.for {{.*}} to %c32{{.*}} iter_args(%{{.*}} = %[[BEFORE]]) -> (f32)
// CHECK:             scf.if
// CHECK:               tensor.extract %[[X]]
// CHECK-NOT:     linalg.generic
func.func @cumsum_blocks(%x: tensor<4x1000xbf16>) -> tensor<4x1000xbf16> {
  %0 = train.cumsum %x {axis = 1 : i64} : (tensor<4x1000xbf16>) -> tensor<4x1000xbf16>
  return %0 : tensor<4x1000xbf16>
}

// -----

// Constant positions are also read from memory: distinct values become a state, a
// repeated value is copied.
// CHECK:       train.state @constant.0 constant : tensor<3x1xi64> = dense<{{.*}}>
// CHECK-LABEL: func.func @in_memory
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK:         %[[PLACES:.*]] = train.read @constant.0 : tensor<3x1xi64>
// CHECK:         tensor.extract %[[PLACES]]
// CHECK:         tensor.extract %[[X]]
// CHECK:         %[[SPLAT:.*]] = arith.constant dense<2> : tensor<2x1xi64>
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[SPLAT]] : tensor<2x1xi64>)
// CHECK:         tensor.extract %[[COPY]]
// CHECK:         tensor.extract %[[X]]
func.func @in_memory(%x: tensor<4xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %places = train.constant dense<[[3], [-1], [0]]> : tensor<3x1xi64> : tensor<3x1xi64>
  %0 = train.resample %x, %places {axis = 0 : i64} : (tensor<4xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  %third = train.constant dense<2> : tensor<2x1xi64> : tensor<2x1xi64>
  %1 = train.resample %x, %third {axis = 0 : i64} : (tensor<4xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return %0, %1 : tensor<3xf32>, tensor<2xf32>
}
