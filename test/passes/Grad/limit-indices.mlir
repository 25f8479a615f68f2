// RUN: mpc-opt %s --mpc-limit-indices --split-input-file | FileCheck %s

// Labels of a loss inside the model that is only one term of the total loss.
// CHECK-LABEL: func.func @labels_of_a_part
// CHECK-SAME:    tensor<4xi64> {mpc.ignored = -100 : i64, mpc.range = [0, 3]}
func.func @labels_of_a_part(%x: tensor<4x3xf32>, %y: tensor<4xi64>, %penalty: tensor<f32>) -> tensor<f32> {
  %0 = train.softmax_cross_entropy %x, %y {reduction = #train<reduction mean>, ignore_index = -100 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  %1 = train.add %0, %penalty : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Without an ignored label there is none.
// CHECK-LABEL: func.func @labels_behind_moves
// CHECK-SAME:    tensor<2x4xi32> {mpc.range = [0, 3]}
func.func @labels_behind_moves(%x: tensor<6x3xf32>, %y: tensor<2x4xi32>) -> tensor<6xf32> {
  %0 = train.slice %y {offsets = array<i64: 0, 1>} : (tensor<2x4xi32>) -> tensor<2x3xi32>
  %1 = train.cast %0 {to = i64} : (tensor<2x3xi32>) -> tensor<2x3xi64>
  %2 = train.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<2x3xi64>) -> tensor<3x2xi64>
  %3 = train.reshape %2 : (tensor<3x2xi64>) -> tensor<6xi64>
  %4 = train.nll_loss %x, %3 {reduction = #train<reduction none>} : (tensor<6x3xf32>, tensor<6xi64>) -> tensor<6xf32>
  return %4 : tensor<6xf32>
}

// -----

// Elements of a dimension, from either end.
// CHECK-LABEL: func.func @elements
// CHECK-SAME:    tensor<4x1xi64> {mpc.range = [-3, 3]}
func.func @elements(%x: tensor<12xf32>, %y: tensor<4x1xi64>) -> tensor<4x1xf32> {
  %0 = train.flat_index %y {axes = array<i64: 1>, extents = array<i64: 4, 3>} : (tensor<4x1xi64>) -> tensor<4x1xi64>
  %1 = train.gather %x, %0 : (tensor<12xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}

// -----

// A label that the model replaces before the lookup is also allowed.
// CHECK-LABEL: func.func @masked
// CHECK-SAME:    tensor<4xi64> {mpc.ignored = -100 : i64, mpc.range = [-3, 3]}
// CHECK-SAME:    tensor<4xi64> {mpc.ignored = -1 : i64, mpc.range = [0, 3]}
func.func @masked(%x: tensor<3x5xf32>, %scores: tensor<4x3xf32>, %i: tensor<4xi64>, %y: tensor<4xi64>) -> (tensor<4x5xf32>, tensor<4xf32>) {
  %none = train.constant dense<-100> : tensor<i64> : tensor<i64>
  %one = train.constant dense<-1> : tensor<1xi64> : tensor<1xi64>
  %zero = train.constant dense<0> : tensor<i64> : tensor<i64>
  %0 = train.compare %i, %none {comparison = #train<comparison equal>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  %1 = train.not %0 : (tensor<4xi1>) -> tensor<4xi1>
  %2 = train.select %1, %i, %zero : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %3 = train.embedding %x, %2 : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  %4 = train.compare %one, %y {comparison = #train<comparison equal>} : (tensor<1xi64>, tensor<4xi64>) -> tensor<4xi1>
  %5 = train.select %4, %zero, %y : (tensor<4xi1>, tensor<i64>, tensor<4xi64>) -> tensor<4xi64>
  %6 = train.nll_loss %scores, %5 {reduction = #train<reduction none>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %3, %6 : tensor<4x5xf32>, tensor<4xf32>
}

// -----

// Any other selection may hide any value.
// CHECK-LABEL: func.func @hidden
// CHECK-NOT:   mpc.range
func.func @hidden(%x: tensor<3x5xf32>, %i: tensor<4xi64>, %is: tensor<4xi1>) -> tensor<4x5xf32> {
  %zero = train.constant dense<0> : tensor<i64> : tensor<i64>
  %0 = train.select %is, %i, %zero : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = train.embedding %x, %0 : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// -----

// The limits of both of two uses must hold, and those of one of two columns.
// CHECK-LABEL: func.func @several
// CHECK-SAME:    tensor<4xi64> {mpc.range = [-3, 3]}
// CHECK-SAME:    tensor<4x2xi64> {mpc.range = [-7, 7]}
func.func @several(%a: tensor<3x5xf32>, %b: tensor<7x5xf32>, %both: tensor<4xi64>, %columns: tensor<4x2xi64>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x1x5xf32>, tensor<4x1x5xf32>) {
  %0 = train.embedding %a, %both : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  %1 = train.embedding %b, %both : (tensor<7x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  %2 = train.slice %columns {offsets = array<i64: 0, 0>} : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %3 = train.slice %columns {offsets = array<i64: 0, 1>} : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %4 = train.embedding %a, %2 : (tensor<3x5xf32>, tensor<4x1xi64>) -> tensor<4x1x5xf32>
  %5 = train.embedding %b, %3 : (tensor<7x5xf32>, tensor<4x1xi64>) -> tensor<4x1x5xf32>
  return %0, %1, %4, %5 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x1x5xf32>, tensor<4x1x5xf32>
}

// -----

// A column that is used as a number or only compared has no limits, nor has the input.
// CHECK-LABEL: func.func @column_of_numbers
// CHECK-NOT:   mpc.range
func.func @column_of_numbers(%a: tensor<3x5xf32>, %n: tensor<4x2xi64>, %c: tensor<4x2xi64>) -> (tensor<4x1x5xf32>, tensor<4x1xf32>, tensor<4x1x5xf32>, tensor<4x1xi1>) {
  %0 = train.slice %n {offsets = array<i64: 0, 0>} : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %1 = train.slice %n {offsets = array<i64: 0, 1>} : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %2 = train.embedding %a, %0 : (tensor<3x5xf32>, tensor<4x1xi64>) -> tensor<4x1x5xf32>
  %3 = train.cast %1 {to = f32} : (tensor<4x1xi64>) -> tensor<4x1xf32>
  %4 = train.slice %c {offsets = array<i64: 0, 0>} : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %5 = train.slice %c {offsets = array<i64: 0, 1>} : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %6 = train.embedding %a, %4 : (tensor<3x5xf32>, tensor<4x1xi64>) -> tensor<4x1x5xf32>
  %9 = train.constant dense<9> : tensor<i64> : tensor<i64>
  %7 = train.compare %5, %9 {comparison = #train<comparison equal>} : (tensor<4x1xi64>, tensor<i64>) -> tensor<4x1xi1>
  return %2, %3, %6, %7 : tensor<4x1x5xf32>, tensor<4x1xf32>, tensor<4x1x5xf32>, tensor<4x1xi1>
}

// -----

// After concatenating and slicing, only the limits of an input's own part apply.
// CHECK-LABEL: func.func @joined
// CHECK-SAME:    tensor<8x1xi64> {mpc.range = [-5, 5]}
func.func @joined(%x: tensor<40xf32>, %y: tensor<8x1xi64>) -> tensor<8x1xf32> {
  %rows = train.constant dense<0> : tensor<8x1xi64> : tensor<8x1xi64>
  %0 = train.concat %rows, %y {axis = 1 : i64} : (tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x2xi64>
  %1 = train.slice %0 {offsets = array<i64: 0, 0>} : (tensor<8x2xi64>) -> tensor<8x1xi64>
  %2 = train.slice %0 {offsets = array<i64: 0, 1>} : (tensor<8x2xi64>) -> tensor<8x1xi64>
  %3 = train.flat_index %1, %2 {axes = array<i64: 0, 1>, extents = array<i64: 8, 5>} : (tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x1xi64>
  %4 = train.gather %x, %3 : (tensor<40xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  return %4 : tensor<8x1xf32>
}

// -----

// CHECK-LABEL: func.func @joined_and_split
// CHECK-SAME:    tensor<8x1xi64> {mpc.range = [-5, 5]}
// CHECK-SAME:    tensor<8x2xi64> {mpc.range = [-8, 8]}
func.func @joined_and_split(%x: tensor<40xf32>, %y: tensor<8x1xi64>, %columns: tensor<8x2xi64>) -> (tensor<8x1xf32>, tensor<8x1xf32>) {
  %rows = train.constant dense<0> : tensor<8x1xi64> : tensor<8x1xi64>
  %0 = train.concat %rows, %y {axis = 1 : i64} : (tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x2xi64>
  %1:2 = train.split %0 {axis = 1 : i64, sizes = array<i64: 1, 1>} : (tensor<8x2xi64>) -> (tensor<8x1xi64>, tensor<8x1xi64>)
  %2 = train.flat_index %1#0, %1#1 {axes = array<i64: 0, 1>, extents = array<i64: 8, 5>} : (tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x1xi64>
  %3 = train.gather %x, %2 : (tensor<40xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  %4:2 = train.split %columns {axis = 1 : i64, sizes = array<i64: 1, 1>} : (tensor<8x2xi64>) -> (tensor<8x1xi64>, tensor<8x1xi64>)
  %5 = train.flat_index %4#0, %4#1 {axes = array<i64: 0, 1>, extents = array<i64: 8, 5>} : (tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x1xi64>
  %6 = train.gather %x, %5 : (tensor<40xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  return %3, %6 : tensor<8x1xf32>, tensor<8x1xf32>
}

// -----

// Limits of an input that are already known are kept, and computed indices do not
// limit it.
// CHECK-LABEL: func.func @known
// CHECK-SAME:    tensor<4xi64> {mpc.range = [0, 2]}
// CHECK-SAME:    %{{[^:]*}}: tensor<4xf32>)
func.func @known(%a: tensor<3x5xf32>, %i: tensor<4xi64> {mpc.range = [0, 2]}, %f: tensor<4xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %0 = train.embedding %a, %i : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  %1 = train.cast %f {to = i64} : (tensor<4xf32>) -> tensor<4xi64>
  %2 = train.embedding %a, %1 : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  return %0, %2 : tensor<4x5xf32>, tensor<4x5xf32>
}

// -----

// A window with any begin, rows that are not multiples of the extent, and a table that
// was not flattened are treated like other rows: counted from either end.
// CHECK-LABEL: func.func @no_flat
// CHECK-SAME:    tensor<4x1xi64> {mpc.range = [-26, 20]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [-35, 20]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [-35, 20]}
func.func @no_flat(%x: tensor<4x5xf32>, %table: tensor<20xf32>, %a: tensor<4x1xi64>, %b: tensor<4xi64>, %c: tensor<4xi64>) -> (tensor<4x7xf32>, tensor<4xf32>, tensor<4xf32>) {
  %window = train.constant dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi64> : tensor<7xi64>
  %odd = train.constant dense<[0, 4, 10, 15]> : tensor<4xi64> : tensor<4xi64>
  %rows = train.constant dense<[0, 5, 10, 15]> : tensor<4xi64> : tensor<4xi64>
  %0 = train.reshape %x : (tensor<4x5xf32>) -> tensor<20xf32>
  %1 = train.integer %a, %window {kind = #train<integer_operation add>} : (tensor<4x1xi64>, tensor<7xi64>) -> tensor<4x7xi64>
  %2 = train.gather %0, %1 : (tensor<20xf32>, tensor<4x7xi64>) -> tensor<4x7xf32>
  %3 = train.integer %b, %odd {kind = #train<integer_operation add>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %4 = train.gather %0, %3 : (tensor<20xf32>, tensor<4xi64>) -> tensor<4xf32>
  %5 = train.integer %c, %rows {kind = #train<integer_operation add>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %6 = train.gather %table, %5 : (tensor<20xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %2, %4, %6 : tensor<4x7xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Two losses ignore different labels, each of which is valid for the other: the
// interval is widened to include the second.
// CHECK-LABEL: func.func @two_ignored
// CHECK-SAME:    tensor<4xi64> {mpc.ignored = 12 : i64, mpc.range = [2, 10]}
func.func @two_ignored(%x: tensor<4x10xf32>, %y: tensor<4xi64>) -> (tensor<f32>, tensor<f32>) {
  %five = train.constant dense<5> : tensor<i64> : tensor<i64>
  %0 = train.integer %y, %five {kind = #train<integer_operation sub>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = train.nll_loss %x, %0 {reduction = #train<reduction mean>, ignore_index = -3 : i64} : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<f32>
  %2 = train.nll_loss %x, %y {reduction = #train<reduction mean>, ignore_index = 12 : i64} : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<f32>
  return %1, %2 : tensor<f32>, tensor<f32>
}
