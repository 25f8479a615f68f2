// RUN: mpc-opt %s --split-input-file --verify-diagnostics --mpc-use-training-form | FileCheck %s

// Statistics come from the batch, and the running ones move towards them.
train.state @mean statistic : tensor<3xf32>
train.state @var statistic : tensor<3xf32>
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>, %[[S:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<3xf32>)
func.func @train(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<2x3x4xf32> attributes {train.entry = #train.entry<train>} {
  // CHECK: %[[OLD:.*]] = train.read @mean
  %mean = train.read @mean : tensor<3xf32>
  %var = train.read @var : tensor<3xf32>
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]], %{{.*}} = train.batch_norm_training %[[X]], %[[S]], %[[B]] {axis = 1 : i64, epsilon = 9.99999974E-6 : f32}
  // CHECK: %[[KEEP:.*]] = train.constant dense<7.500000e-01>
  // CHECK: %[[KEPT:.*]] = train.mul %[[OLD]], %[[KEEP]]
  // CHECK: %[[TAKE:.*]] = train.constant dense<2.500000e-01>
  // CHECK: %[[TAKEN:.*]] = train.mul %[[MEAN]], %[[TAKE]]
  // CHECK: %[[NEW:.*]] = train.add %[[KEPT]], %[[TAKEN]]
  // CHECK: train.write @mean, %[[NEW]]
  // CHECK: train.mul %[[VAR]]
  // CHECK: train.write @var
  // CHECK: return %[[Y]]
  %0 = train.batch_norm %x, %s, %b, %mean, %var {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.75 : f32} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// A norm that the model applies twice updates its statistics twice, and writes
// them once.
train.state @mean statistic : tensor<3xf32>
train.state @var statistic : tensor<3xf32>
// CHECK-LABEL: func.func @train
func.func @train(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> attributes {train.entry = #train.entry<train>} {
  %mean = train.read @mean : tensor<3xf32>
  %var = train.read @var : tensor<3xf32>
  // CHECK: train.batch_norm_training
  // CHECK: %{{.*}}, %[[MEAN:.*]], %{{.*}}, %{{.*}} = train.batch_norm_training
  // CHECK: %[[FIRST:.*]] = train.add
  // CHECK-NOT: train.write @mean
  // CHECK: train.mul %[[FIRST]]
  // CHECK: train.mul %[[MEAN]]
  // CHECK: %[[SECOND:.*]] = train.add
  // CHECK: train.write @mean, %[[SECOND]]
  // CHECK-NOT: train.write @mean
  %0 = train.batch_norm %x, %s, %s, %mean, %var {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.9 : f32} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = train.batch_norm %0, %s, %s, %mean, %var {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.9 : f32} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

func.func @train(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> attributes {train.entry = #train.entry<train>} {
  // expected-error @+1 {{'train.batch_norm' op cannot be trained: 'mean' must be a running statistic of the model (an initializer), but is not read from a state}}
  %0 = train.batch_norm %x, %s, %s, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.9 : f32} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

train.state @mean statistic : tensor<3xf32>
train.state @var constant : tensor<3xf32>
func.func @train(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> attributes {train.entry = #train.entry<train>} {
  %mean = train.read @mean : tensor<3xf32>
  // expected-note @+1 {{it comes from here}}
  %var = train.read @var : tensor<3xf32>
  // expected-error @+1 {{'var' must be a running statistic of the model (an initializer), but is another kind of state}}
  %0 = train.batch_norm %x, %s, %s, %mean, %var {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.9 : f32} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
