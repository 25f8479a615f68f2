// RUN: mpc-opt %s --mpc-add-optimizer="weight-decay=0.5 group=fc:lr=0.1x no-decay=norms" | FileCheck %s
// RUN: mpc-opt %s --mpc-add-optimizer="optimizer=sgd weight-decay=0.5 no-decay=.*" | FileCheck %s --check-prefix=NONE
// RUN: mpc-opt %s --mpc-add-optimizer="group=.*:lr=0.0005" | FileCheck %s --check-prefix=ALL
// RUN: mpc-opt %s --mpc-add-optimizer="optimizer=lamb" | FileCheck %s --check-prefix=LAMB
// RUN: mpc-opt %s --mpc-add-optimizer="group=.*:lr=3x group=fc:lr=2x no-decay=biases" | FileCheck %s --check-prefix=LAST
// RUN: not mpc-opt %s --mpc-add-optimizer="group=fc:lr=1e60x" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not mpc-opt %s --mpc-add-optimizer="group=fz:lr=2x" 2>&1 | FileCheck %s --check-prefix=MATCH
// RUN: not mpc-opt %s --mpc-add-optimizer="no-decay=norm.scle" 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not mpc-opt %s --mpc-add-optimizer="group=(:lr=2x" 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not mpc-opt %s --mpc-add-optimizer="group=fc" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not mpc-opt %s --mpc-add-optimizer="group=fc:lr=-1" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not mpc-opt %s --mpc-add-optimizer="group={fc:beta1=0.5}" 2>&1 | FileCheck %s --check-prefix=SETTING
// RUN: not mpc-opt %s --mpc-add-optimizer="lr=0 group=fc:lr=0.5" 2>&1 | FileCheck %s --check-prefix=ZERO

// MATCH:   error: option 'group'='fz' matches no parameter
// NEAR:    error: option 'no-decay'='norm.scle' matches no parameter; similar name{{s?}}: 'norm.scale'
// PATTERN: error: option 'group'='(' is not a regular expression: parentheses not balanced
// FORM:    error: option 'group'='fc': must be REGEX:lr=NUMBER,weight-decay=NUMBER, or one of these settings
// NUMBER:  error: option 'group'='fc:lr=-1': 'lr=-1' must be lr=0.1x, lr=RATE or weight-decay=RATE, with a number of at least 0
// SETTING: error: option 'group'='fc:beta1=0.5': 'beta1' is not a setting; use lr or weight-decay
// ZERO:    error: option 'group'='fc:lr=0.5': a rate needs option 'lr' above 0, or a factor: lr=0.1x

// The last of several matching rules counts; models need not have biases.
// LAST: mpc.notes = ["option 'no-decay'=biases matches no parameter", "1 parameter with 2 times the learning rate and {{.*}}: 'fc.weight'", "2 parameters with 3 times the learning rate and
// LARGE: error: option 'group'='fc:lr=1e60x': 'lr=1e60x' must be

// Parameters of a group are adjacent, and each group has its own rows.
// CHECK:      mpc.notes = ["1 parameter with 0.1 times the learning rate and weight decay 0.5: 'fc.weight'", "1 parameter with weight decay 0: 'norm.scale'", "1 parameter with weight decay 0.5: 'out.weight'"]
// CHECK:      train.state @parameters parameter {slots = [#train.slot<"fc.weight", 0, [2, 4]>, #train.slot<"norm.scale", 1024, [4]>, #train.slot<"out.weight", 2048, [4, 4]>]} : tensor<3x1024xf32>
// NONE:       mpc.notes = ["3 parameters with weight decay 0: 'fc.weight', 'norm.scale', 'out.weight'"]
// NONE:       train.state @parameters parameter {slots = [{{.*}}]} : tensor<1x1024xf32>
// ALL:        train.state @parameters parameter {slots = [{{.*}}]} : tensor<1x1024xf32>
// LAMB:       train.state @parameters parameter {slots = [#train.slot<"fc.weight", 0, [2, 4]>, #train.slot<"norm.scale", 1024, [4]>, #train.slot<"out.weight", 2048, [4, 4]>]} : tensor<3x1024xf32>
module {
  train.state @fc.weight parameter : tensor<2x4xf32>
  train.state @norm.scale parameter : tensor<4xf32>
  train.state @out.weight parameter : tensor<4x4xf32>

  func.func @predict(%x: tensor<3x2xf32>) -> tensor<3x4xf32> attributes {train.entry = #train.entry<predict>} {
    %w = train.read @fc.weight : tensor<2x4xf32>
    %s = train.read @norm.scale : tensor<4xf32>
    %o = train.read @out.weight : tensor<4x4xf32>
    %0 = train.matmul %x, %w : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
    %1:2 = train.rms_norm %0, %s {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>)
    %2 = train.matmul %1#0, %o : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    return %2 : tensor<3x4xf32>
  }

  // CHECK-LABEL: func.func @step
  // CHECK:         %[[LR:.*]] = train.read @learning_rate
  // CHECK:         %[[FACTORS:.*]] = train.constant {{.*}}[1.000000e-01], [1.000000e+00], [1.000000e+00]]> : tensor<3x1xf32>
  // CHECK:         %[[RATES:.*]] = train.mul %[[LR]], %[[FACTORS]] : (tensor<f32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  // CHECK:         %[[DECAYS:.*]] = train.constant {{.*}}[5.000000e-01], [0.000000e+00], [5.000000e-01]]> : tensor<3x1xf32>
  // CHECK:         train.mul %[[RATES]], %[[DECAYS]]
  // CHECK:         train.adam {{.*}}, %[[RATES]], {{.*}} weight_decay = 0.000000e+00
  // CHECK-COUNT-1: train.write @parameters

  // If all parameters are in one group, no values per row are needed.
  // NONE-LABEL: func.func @step
  // NONE-NOT:     tensor<1x1xf32>
  // NONE:         train.sgd {{.*}} {weight_decay = 0.000000e+00 : f32}
  // ALL-LABEL:  func.func @step
  // ALL:          %[[LR:.*]] = train.read @learning_rate
  // ALL:          %[[FACTOR:.*]] = train.constant dense<5.000000e-01> : tensor<f32>
  // ALL:          train.mul %[[LR]], %[[FACTOR]] : (tensor<f32>, tensor<f32>) -> tensor<f32>

  // The norm of each parameter, for each of its rows.
  // LAMB-LABEL: func.func @step
  // LAMB:         train.reduce_sum {{.*}} {axes = array<i64: 1>} : (tensor<3x1024xf32>) -> tensor<3xf32>
  // LAMB:         train.embedding_grad
  // LAMB:         train.embedding {{.*}} -> tensor<3xf32>
  func.func @train(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<4x4xf32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<2x4xf32> {mpc.gradient_of = "fc.weight"}, tensor<4xf32> {mpc.gradient_of = "norm.scale"}, tensor<4x4xf32> {mpc.gradient_of = "out.weight"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @fc.weight : tensor<2x4xf32>
    %0 = train.reduce_sum %w {axes = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
    return %0, %a, %b, %c : tensor<f32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4x4xf32>
  }
}
