// RUN: mpc-opt %s --mpc-differentiate --canonicalize --cse | FileCheck %s

// The seed is not merged with a constant of the same value, which loss scaling must
// not scale.
module {
  train.state @w parameter : tensor<f32>
  // CHECK-LABEL: func.func @train
  // CHECK-DAG:     %[[ONE:.*]] = train.constant dense<1.000000e+00> : tensor<f32>
  // CHECK-DAG:     %[[SEED:.*]] = train.constant {mpc.loss_seed} dense<1.000000e+00> : tensor<f32>
  // CHECK:         %[[LOSS:.*]] = train.add %{{.*}}, %[[ONE]]
  // CHECK:         return %[[LOSS]], %[[SEED]]
  func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<f32>
    %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
    %0 = train.add %w, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
