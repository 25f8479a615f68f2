// RUN: mpc-opt %s --split-input-file --verify-diagnostics --mpc-differentiate

// Class weights are data and have no gradient.
train.state @w parameter : tensor<6xf32>
func.func @train(%x: tensor<4x6xf32>, %l: tensor<4xi64>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<6xf32>
  // expected-error @+1 {{'train.softmax_cross_entropy' op has no gradient with respect to the class weights; mark them as not trainable}}
  %0 = train.softmax_cross_entropy %x, %l, %w {reduction = #train<reduction mean>} : (tensor<4x6xf32>, tensor<4xi64>, tensor<6xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Classes are padded after differentiation.
train.state @w parameter : tensor<4x6xf32>
func.func @train(%s: tensor<f32>, %l: tensor<4xi64>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %x = train.read @w : tensor<4x6xf32>
  // expected-error @+1 {{'train.softmax_cross_entropy_grad' op has no gradient with respect to padded logits}}
  %0 = train.softmax_cross_entropy_grad %s, %x, %l {classes = 5 : i64, reduction = #train<reduction mean>} : (tensor<f32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

train.state @w parameter : tensor<4xf32>
func.func @train(%p: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %t = train.read @w : tensor<4xf32>
  // expected-error @+1 {{'train.element_loss' op has no gradient with respect to its target}}
  %0 = train.element_loss %p, %t {kind = #train<element_loss mse>, reduction = #train<reduction sum>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

train.state @w parameter : tensor<4xf32>
func.func @train(%s: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %x = train.read @w : tensor<4xf32>
  // expected-error @+1 {{'train.layer_norm' op has no gradient through its statistics; only its first result may lead to the loss}}
  %0:3 = train.layer_norm %x, %s {axis = 0 : i64, epsilon = 1.0e-05 : f32} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>)
  return %0#1 : tensor<f32>
}

// -----

train.state @w parameter : tensor<4xf32>
func.func @train(%s: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %x = train.read @w : tensor<4xf32>
  // expected-error @+1 {{'train.rms_norm' op has no gradient through its root mean square; only its first result may lead to the loss}}
  %0:2 = train.rms_norm %x, %s {axis = 0 : i64, epsilon = 1.0e-05 : f32} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  return %0#1 : tensor<f32>
}

// -----

train.state @w parameter : tensor<4xf32>
func.func @train(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %v = train.read @w : tensor<4xf32>
  // expected-error @+1 {{'train.batch_norm' op has no gradient with respect to 'mean' and 'var'}}
  %0 = train.batch_norm %x, %s, %s, %s, %v {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.9 : f32} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

train.state @w parameter : tensor<1x2x5x8xf32>
func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %x = train.read @w : tensor<1x2x5x8xf32>
  // expected-error @+1 {{'train.attention' op has no gradient through 'log_sum_exp'; only its first result may lead to the loss}}
  %0:2 = train.attention %x, %x, %x {scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  %1 = train.reduce_sum %0#1 {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x1x2x5xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

train.state @r parameter : tensor<20x5xf32>
func.func @train(%x: tensor<4x3x20xf32>, %b: tensor<20xf32>, %h: tensor<3x5xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %r = train.read @r : tensor<20x5xf32>
  // expected-error @+1 {{'train.lstm' op has no gradient through 'gates' and 'cells'; only its first two results may lead to the loss}}
  %0:4 = train.lstm %x, %r, %b, %h, %h : (tensor<4x3x20xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  %1 = train.reduce_sum %0#3 {axes = array<i64: 0, 1, 2>} : (tensor<4x3x5xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

train.state @r parameter : tensor<15x5xf32>
func.func @train(%x: tensor<4x3x15xf32>, %b: tensor<20xf32>, %h: tensor<3x5xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %r = train.read @r : tensor<15x5xf32>
  // expected-error @+1 {{'train.gru' op has no gradient through 'gates' and 'products'; only its first result may lead to the loss}}
  %0:3 = train.gru %x, %r, %b, %h : (tensor<4x3x15xf32>, tensor<15x5xf32>, tensor<20xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>)
  %1 = train.reduce_sum %0#1 {axes = array<i64: 0, 1, 2>} : (tensor<4x3x15xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
