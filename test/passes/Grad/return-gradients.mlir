// RUN: mpc-opt %s --mpc-add-loss=loss=external --mpc-differentiate=input-gradients=x --mpc-return-gradients --mpc-verify-grad --split-input-file | FileCheck %s
// RUN: not mpc-opt %s --mpc-add-loss="loss=external label-smoothing=0.1" --split-input-file 2>&1 | FileCheck %s --check-prefix=SMOOTH
// RUN: not mpc-opt %s --mpc-add-loss=loss=external --mpc-differentiate=input-gradients=z --split-input-file 2>&1 | FileCheck %s --check-prefix=INPUT

// SMOOTH: error: option 'label-smoothing' has no effect with option 'loss'=external: the caller computes the loss
// INPUT: error: option 'input-gradients'=z names no input that is a float; those of the model are 'x', 'scale'

// The outputs of the model, one of which is no float; their gradients are inputs. Those
// of an input and of parameters are outputs. There is no loss, no evaluation and no update.
// CHECK:       module attributes {mpc.external_loss, mpc.external_update, mpc.loss = "external", mpc.notes = ["loss: computed by the caller: 'forward' returns the outputs, 'backward' takes their gradients", "update: by the caller: training returns gradients and changes no weights"]}
// CHECK:       train.state @parameters parameter {slots = {{.*}}"w"
module {
  train.state @w parameter : tensor<3x2xf32> = dense<1.0> : tensor<3x2xf32>
  // CHECK-LABEL: func.func @predict
  // CHECK-NOT:   @evaluate
  // CHECK-LABEL: func.func @step
  // CHECK-SAME:    %[[X:[^:]*]]: tensor<4x3xf32> {mpc.batch_dim = 0 : i64, mpc.name = "x"}
  // CHECK-SAME:    %[[DY:[^:]*]]: tensor<4x2xf32> {mpc.batch_dim = 0 : i64, mpc.gradient_of = "y", mpc.name = "gradient:y"}
  // CHECK-SAME:    -> (tensor<4x2xf32> {mpc.batch_dim = 0 : i64, mpc.name = "y"}, tensor<4xi64> {mpc.name = "best"}, tensor<4x3xf32> {mpc.batch_dim = 0 : i64, mpc.gradient_of = "x", mpc.name = "gradient:x"}, tensor<3x2xf32> {mpc.gradient_of = "w", mpc.name = "gradient:w"})
  // CHECK-DAG:     %[[W:.*]] = train.unpack
  // CHECK-DAG:     %[[SEED:.*]] = train.constant {mpc.loss_seed}
  // CHECK-DAG:     %[[D:.*]] = train.mul %[[DY]], %[[SEED]]
  // CHECK-DAG:     %[[DX:.*]] = train.matmul %{{.*}}, %[[W]] {transpose_rhs}
  // CHECK-DAG:     %[[DW:.*]] = train.matmul %[[X]], %{{.*}} {transpose_lhs{{.*}}}
  // CHECK-NOT:     train.write
  // CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DW]]
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %s: tensor<f32> {mpc.name = "scale"}) -> (tensor<4x2xf32> {mpc.name = "y", mpc.batch_dim = 0 : i64}, tensor<4xi64> {mpc.name = "best"}) attributes {train.entry = #train.entry<predict>} {
    %w = train.read @w : tensor<3x2xf32>
    %0 = train.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %1 = train.mul %0, %s : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %2 = train.arg_extreme %1 {axis = 1 : i64} : (tensor<4x2xf32>) -> tensor<4xi64>
    return %1, %2 : tensor<4x2xf32>, tensor<4xi64>
  }
}
