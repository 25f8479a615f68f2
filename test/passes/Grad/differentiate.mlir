// RUN: mpc-opt %s --mpc-differentiate --split-input-file | FileCheck %s

// Gradient ops are in reverse order of the forward ops; gradients become results after
// the loss, in the order of the states. The input gets no gradient.
module {
  train.state @w parameter : tensor<3x2xf32>
  train.state @b parameter : tensor<2xf32>
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    (%[[X:[^:]*]]: tensor<4x3xf32>, %[[Y:[^:]*]]: tensor<4xi64>)
  // CHECK-SAME:    -> (tensor<f32> {mpc.name = "loss"}, tensor<3x2xf32> {mpc.gradient_of = "w"}, tensor<2xf32> {mpc.gradient_of = "b"})
  func.func @train(%x: tensor<4x3xf32>, %y: tensor<4xi64>) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<train>} {
    // CHECK:       %[[SUM:.*]] = train.add
    // CHECK:       %[[RELU:.*]] = train.relu %[[SUM]]
    // CHECK:       %[[LOSS:.*]] = train.softmax_cross_entropy %[[RELU]]
    // CHECK:       %[[SEED:.*]] = train.constant {mpc.loss_seed} dense<1.000000e+00> : tensor<f32>
    // CHECK:       %[[DLOGITS:.*]] = train.softmax_cross_entropy_grad %[[SEED]], %[[RELU]], %[[Y]]
    // CHECK:       %[[DRELU:.*]] = train.relu_grad %[[DLOGITS]], %[[RELU]]
    // CHECK:       %[[DB:.*]] = train.reduce_sum %[[DRELU]] {axes = array<i64: 0>}
    // CHECK:       %[[DW:.*]] = train.matmul %[[X]], %[[DRELU]] {transpose_lhs, weight_gradient}
    // CHECK-NOT:   train.matmul
    // CHECK:       return %[[LOSS]], %[[DW]], %[[DB]]
    %w = train.read @w : tensor<3x2xf32>
    %b = train.read @b : tensor<2xf32>
    %0 = train.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %1 = train.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    %2 = train.relu %1 : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %3 = train.softmax_cross_entropy %2, %y {reduction = #train<reduction mean>} : (tensor<4x2xf32>, tensor<4xi64>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}

// -----

// Gradients of one value from several users are added in the order of the walk.
module {
  train.state @w parameter : tensor<f32>
  // CHECK-LABEL: func.func @train
  func.func @train(%x: tensor<f32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    // CHECK: %[[SEED:.*]] = train.constant {mpc.loss_seed}
    // CHECK: %[[LHS:.*]] = train.mul %[[SEED]], %[[W:.*]] :
    // CHECK: %[[RHS:.*]] = train.mul %[[SEED]], %[[V:.*]] :
    // CHECK: %[[TANH:.*]] = train.function_grad %[[RHS]]
    // CHECK: %[[SUM:.*]] = train.add %[[LHS]], %[[TANH]]
    // CHECK: return %{{.*}}, %[[SUM]]
    %w = train.read @w : tensor<f32>
    %t = train.tanh %w : (tensor<f32>) -> tensor<f32>
    %0 = train.mul %w, %t : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// Several reads of one state: its gradient is their sum.
module {
  train.state @w parameter : tensor<f32>
  // CHECK-LABEL: func.func @train
  func.func @train(%x: tensor<f32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    // CHECK: %[[SEED:.*]] = train.constant {mpc.loss_seed}
    // CHECK: %[[LHS:.*]] = train.mul %[[SEED]],
    // CHECK: %[[RHS:.*]] = train.mul %[[SEED]],
    // CHECK: %[[SUM:.*]] = train.add %[[LHS]], %[[RHS]]
    // CHECK: return %{{.*}}, %[[SUM]]
    %w = train.read @w : tensor<f32>
    %v = train.read @w : tensor<f32>
    %0 = train.mul %w, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// A parameter that only an output uses is not trained; a note says so. No gradient
// flows through integers.
// CHECK: module attributes {mpc.notes = ["not trained, because the loss does not depend on: 'unused'", "not trained, because no gradient reaches: 'index'"]}
module {
  // CHECK: train.state @w parameter
  // CHECK: train.state @index constant
  // CHECK: train.state @unused constant
  train.state @w parameter : tensor<f64>
  train.state @index parameter : tensor<f64>
  train.state @unused parameter : tensor<f64>
  // The seed has the type of the loss.
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    -> (tensor<f64>, tensor<f64> {mpc.gradient_of = "w"})
  // CHECK:         train.constant {mpc.loss_seed} dense<1.000000e+00> : tensor<f64>
  func.func @train() -> tensor<f64> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<f64>
    %i = train.read @index : tensor<f64>
    %0 = train.cast %i {to = i64} : (tensor<f64>) -> tensor<i64>
    %1 = train.cast %0 {to = f64} : (tensor<i64>) -> tensor<f64>
    %2 = train.mul %w, %1 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    return %2 : tensor<f64>
  }
}

// -----

// Values that only reach the loss through a stop are not active, not even for an op
// without a gradient, and parameters behind it are not trained. A value that is also
// used otherwise gets the gradient of that use. The stop itself is removed.
// CHECK: module attributes {mpc.notes = ["not trained, because no gradient reaches: 'behind'"]}
module {
  // CHECK: train.state @w parameter
  // CHECK: train.state @behind constant
  train.state @w parameter : tensor<f32>
  train.state @behind parameter : tensor<f32>
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    -> (tensor<f32>, tensor<f32> {mpc.gradient_of = "w"})
  // CHECK-NOT:     train.stop_gradient
  // CHECK:         %[[W:.*]] = train.read @w
  // CHECK:         %[[TARGET:.*]] = train.relu_grad
  // CHECK:         %[[LOSS:.*]] = train.mul %[[W]], %[[TARGET]]
  // CHECK:         %[[GRAD:.*]] = train.mul %{{.*}}, %[[TARGET]]
  // CHECK-NOT:     train.add
  // CHECK:         return %[[LOSS]], %[[GRAD]]
  func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<f32>
    %b = train.read @behind : tensor<f32>
    %0 = train.relu_grad %w, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = train.stop_gradient %0 : (tensor<f32>) -> tensor<f32>
    %2 = train.mul %w, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Gradient ops can be differentiated: the operands of a function's derivative get a
// derivative of the next order.
module {
  train.state @w parameter : tensor<4xf32>
  // CHECK-LABEL: func.func @train
  func.func @train(%g: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    // CHECK: %[[W:.*]] = train.read @w
    // CHECK: %[[DY:.*]] = train.broadcast_to
    // CHECK: %[[PRODUCT:.*]] = train.mul %[[DY]], %{{.*}}
    // CHECK: %[[DW:.*]] = train.function_grad %[[PRODUCT]], %[[W]] {function = "sin", order = 2 : i64, parameters = array<f64>}
    // CHECK: return %{{.*}}, %[[DW]]
    %w = train.read @w : tensor<4xf32>
    %0 = train.function_grad %g, %w {function = "sin", parameters = array<f64>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
