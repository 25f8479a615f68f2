// RUN: mpc-opt %s --mpc-limit-indices --split-input-file | FileCheck %s

// Labels computed by arithmetic: their limits are propagated back to the input, and
// so is the ignored label.
// CHECK-LABEL: func.func @computed
// CHECK-SAME:    tensor<4xi64> {mpc.ignored = -99 : i64, mpc.range = [1, 6]}
// CHECK-SAME:    tensor<4xi32> {mpc.range = [0, 5]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [0, 3]}
func.func @computed(%x: tensor<4x5xf32>, %a: tensor<4xi64>, %b: tensor<4xi32>, %c: tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  %one = train.constant dense<1> : tensor<i64> : tensor<i64>
  %two = train.constant dense<2> : tensor<1xi64> : tensor<1xi64>
  %four = train.constant dense<4> : tensor<i64> : tensor<i64>
  %0 = train.integer %a, %one {kind = #train<integer_operation sub>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = train.softmax_cross_entropy %x, %0 {ignore_index = -100 : i64, reduction = #train<reduction mean>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  %2 = train.cast %b {to = i64} : (tensor<4xi32>) -> tensor<4xi64>
  %3 = train.integer %four, %2 {kind = #train<integer_operation sub>} : (tensor<i64>, tensor<4xi64>) -> tensor<4xi64>
  %4 = train.nll_loss %x, %3 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  %5 = train.integer %c, %two {kind = #train<integer_operation mul>} : (tensor<4xi64>, tensor<1xi64>) -> tensor<4xi64>
  %6 = train.nll_loss %x, %5 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %1, %4, %6 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Beyond a clip bound any integer is allowed. On the other side, and if the bounds
// allow values that are not classes, the limits stay.
// CHECK-LABEL: func.func @bounded
// CHECK-SAME:    %{{[^:]*}}: tensor<4xi64>,
// CHECK-SAME:    tensor<4xi64> {mpc.range = [-9223372036854775808, 5]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [0, 9223372036854775807]}
// CHECK-SAME:    %{{[^:]*}}: tensor<4xi64>,
// CHECK-SAME:    tensor<4xi64> {mpc.range = [0, 5]}
func.func @bounded(%x: tensor<4x5xf32>, %both: tensor<4xi64>, %below: tensor<4xi64>, %above: tensor<4xi64>, %rest: tensor<4xi64>, %wide: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %low = train.constant dense<0> : tensor<i64> : tensor<i64>
  %high = train.constant dense<4> : tensor<i64> : tensor<i64>
  %five = train.constant dense<5> : tensor<i64> : tensor<i64>
  %least = train.constant dense<-9> : tensor<i64> : tensor<i64>
  %0 = train.integer %both, %low {kind = #train<integer_operation max>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = train.integer %0, %high {kind = #train<integer_operation min>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %2 = train.nll_loss %x, %1 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  %3 = train.integer %below, %low {kind = #train<integer_operation max>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %4 = train.nll_loss %x, %3 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  %5 = train.integer %high, %above {kind = #train<integer_operation min>} : (tensor<i64>, tensor<4xi64>) -> tensor<4xi64>
  %6 = train.nll_loss %x, %5 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  %7 = train.integer %rest, %five {kind = #train<integer_operation mod>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %8 = train.nll_loss %x, %7 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  %9 = train.integer %wide, %least {kind = #train<integer_operation max>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %10 = train.nll_loss %x, %9 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %2, %4, %6, %8, %10 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Values that a selection replaces may be anything: all below 1; both sides, each with
// another label. Nothing is known of a selection by other data, and the note names
// the node whose indices may be out of range.
// CHECK:       module attributes {mpc.unchecked_indices = ["hidden"]}
// CHECK-LABEL: func.func @chosen
// CHECK-SAME:    tensor<4xi64> {mpc.ignored = -99 : i64, mpc.range = [-9223372036854775808, 6]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [-5, 5]}
// CHECK-SAME:    %{{[^:]*}}: tensor<4xi64>,
func.func @chosen(%x: tensor<4x5xf32>, %a: tensor<4xi64>, %b: tensor<4xi64>, %c: tensor<4xi64>, %is: tensor<4xi1>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  %none = train.constant dense<-100> : tensor<i64> : tensor<i64>
  %zero = train.constant dense<0> : tensor<i64> : tensor<i64>
  %one = train.constant dense<1> : tensor<i64> : tensor<i64>
  %five = train.constant dense<5> : tensor<i64> : tensor<i64>
  %0 = train.compare %zero, %a {comparison = #train<comparison less>} : (tensor<i64>, tensor<4xi64>) -> tensor<4xi1>
  %1 = train.integer %a, %one {kind = #train<integer_operation sub>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %2 = train.select %0, %1, %none : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %3 = train.softmax_cross_entropy %x, %2 {ignore_index = -100 : i64, reduction = #train<reduction mean>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  %4 = train.compare %b, %zero {comparison = #train<comparison less>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  %5 = train.integer %b, %five {kind = #train<integer_operation add>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %6 = train.select %4, %5, %b : (tensor<4xi1>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %7 = train.nll_loss %x, %6 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  %8 = train.select %is, %c, %zero : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %9 = train.nll_loss %x, %8 {reduction = #train<reduction none>} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32> loc("hidden"("NegativeLogLikelihoodLoss"))
  return %3, %7, %9 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// x[i, y] as a row of the flattened table, with i constant or not, by Gather or GatherND:
// y is a column.
// CHECK-LABEL: func.func @flat
// CHECK-SAME:    tensor<4xi64> {mpc.range = [0, 5]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [0, 4]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [1, 6]}
// CHECK-SAME:    tensor<4xi64> {mpc.range = [0, 5]}
func.func @flat(%x: tensor<4x5xf32>, %a: tensor<4xi64>, %row: tensor<4xi64>, %b: tensor<4xi64>, %c: tensor<4xi64>) -> (tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32>) {
  %rows = train.constant dense<[0, 5, 10, 15]> : tensor<4xi64> : tensor<4xi64>
  %extent = train.constant dense<5> : tensor<i64> : tensor<i64>
  %one = train.constant dense<1> : tensor<i64> : tensor<i64>
  %0 = train.reshape %x : (tensor<4x5xf32>) -> tensor<20x1xf32>
  %1 = train.integer %a, %rows {kind = #train<integer_operation add>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %2 = train.embedding %0, %1 : (tensor<20x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  %3 = train.reshape %x : (tensor<4x5xf32>) -> tensor<20xf32>
  %4 = train.integer %row, %extent {kind = #train<integer_operation mul>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %5 = train.integer %b, %one {kind = #train<integer_operation sub>} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %6 = train.integer %4, %5 {kind = #train<integer_operation add>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %7 = train.gather %3, %6 : (tensor<20xf32>, tensor<4xi64>) -> tensor<4xf32>
  %8 = train.integer %c, %rows {kind = #train<integer_operation add>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %9 = train.flat_index %8 {axes = array<i64: 0>, extents = array<i64: 20>} : (tensor<4xi64>) -> tensor<4xi64>
  %10 = train.gather %3, %9 : (tensor<20xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %2, %7, %10 : tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Three dimensions, two of them constant; two dimensions that a reshape has merged
// count as one.
// CHECK-LABEL: func.func @flat_of_three
// CHECK-SAME:    tensor<4x2xi64> {mpc.range = [0, 5]}
// CHECK-SAME:    tensor<8xi64> {mpc.range = [0, 5]}
func.func @flat_of_three(%x: tensor<4x2x5xf32>, %a: tensor<4x2xi64>, %b: tensor<8xi64>) -> (tensor<4x2xf32>, tensor<8xf32>) {
  %i = train.constant dense<[[0], [10], [20], [30]]> : tensor<4x1xi64> : tensor<4x1xi64>
  %j = train.constant dense<[[0, 5]]> : tensor<1x2xi64> : tensor<1x2xi64>
  %ij = train.constant dense<[0, 5, 10, 15, 20, 25, 30, 35]> : tensor<8xi64> : tensor<8xi64>
  %0 = train.reshape %x : (tensor<4x2x5xf32>) -> tensor<40xf32>
  %1 = train.integer %a, %j {kind = #train<integer_operation add>} : (tensor<4x2xi64>, tensor<1x2xi64>) -> tensor<4x2xi64>
  %2 = train.integer %1, %i {kind = #train<integer_operation add>} : (tensor<4x2xi64>, tensor<4x1xi64>) -> tensor<4x2xi64>
  %3 = train.gather %0, %2 : (tensor<40xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  %4 = train.integer %b, %ij {kind = #train<integer_operation add>} : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %5 = train.gather %0, %4 : (tensor<40xf32>, tensor<8xi64>) -> tensor<8xf32>
  return %3, %5 : tensor<4x2xf32>, tensor<8xf32>
}
