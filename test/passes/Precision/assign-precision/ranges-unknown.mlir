// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" | FileCheck %s

// Nothing is proven about trained values or statistics, whatever their initial values,
// nor about values computed from the loss, which gets a scale.
// CHECK-LABEL: func.func @trained
func.func @trained(%x: tensor<32x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %w = train.read @w : tensor<64xf32>
  %m = train.read @m : tensor<64xf32>
  // CHECK: train.constant {mpc.loss_seed}
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<64xf32> : tensor<64xf32>
  // CHECK-NOT: range
  %0 = train.add %w, %w : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = train.add %m, %m : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = train.add %seed, %seed : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = train.read @changed : tensor<64xf32>
  %4 = train.add %3, %3 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  train.write @changed, %0 : tensor<64xf32>
  return %0, %1, %2, %4 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
train.state @w parameter : tensor<64xf32> = dense<1.0> : tensor<64xf32>
train.state @m statistic : tensor<64xf32> = dense<1.0> : tensor<64xf32>
train.state @changed constant : tensor<64xf32> = dense<1.0> : tensor<64xf32>
