// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @layer_norm_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>) {
  // expected-error @+2 {{'train.layer_norm' op 'axis' must lie in [0, 2), but is 2}}
  // expected-error @+1 {{'train.layer_norm' op failed to infer returned types}}
  %r, %m, %i = train.layer_norm %x, %s {axis = 2 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// The importer counts negative axes from the front.
func.func @layer_norm_c1_negative(%x: tensor<4x6xf32>, %s: tensor<6xf32>) {
  // expected-error @+2 {{'train.layer_norm' op 'axis' must lie in [0, 2), but is -1}}
  // expected-error @+1 {{'train.layer_norm' op failed to infer returned types}}
  %r, %m, %i = train.layer_norm %x, %s {axis = -1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_c2_scale(%x: tensor<4x6xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{'train.layer_norm' op 'scale' must have shape [6], but has [4]}}
  // expected-error @+1 {{'train.layer_norm' op failed to infer returned types}}
  %r, %m, %i = train.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xf32>, tensor<4xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_c2_bias(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<1xf32>) {
  // expected-error @+2 {{'train.layer_norm' op 'bias' must have shape [6], but has [1]}}
  // expected-error @+1 {{'train.layer_norm' op failed to infer returned types}}
  %r, %m, %i = train.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xf32>, tensor<6xf32>, tensor<1xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_grad_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>) {
  // expected-error @+2 {{'train.layer_norm_grad' op 'mean' must have shape [4], but has [6]}}
  // expected-error @+1 {{'train.layer_norm_grad' op failed to infer returned types}}
  %0:3 = train.layer_norm_grad %x, %x, %s, %s, %s {axis = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @rms_norm_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>) {
  // expected-error @+2 {{'train.rms_norm' op 'axis' must lie in [0, 2), but is 2}}
  // expected-error @+1 {{'train.rms_norm' op failed to infer returned types}}
  %0:2 = train.rms_norm %x, %s {axis = 2 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<4x6xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{'train.rms_norm' op 'scale' must have shape [6], but has [4]}}
  // expected-error @+1 {{'train.rms_norm' op failed to infer returned types}}
  %0:2 = train.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xf32>, tensor<4xf32>) -> (tensor<4x6xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_grad_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>) {
  // expected-error @+2 {{'train.rms_norm_grad' op 'inv_rms' must have shape [4], but has [6]}}
  // expected-error @+1 {{'train.rms_norm_grad' op failed to infer returned types}}
  %0:2 = train.rms_norm_grad %x, %x, %s, %s {axis = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @batch_norm_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %v: tensor<4xf32>) {
  // expected-error @+2 {{'train.batch_norm' op 'var' must have shape [6], but has [4]}}
  // expected-error @+1 {{'train.batch_norm' op failed to infer returned types}}
  %0 = train.batch_norm %x, %s, %s, %s, %v {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.9 : f32} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<4xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @batch_norm_training_c1(%x: tensor<4x6xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{'train.batch_norm_training' op 'scale' must have shape [6], but has [4]}}
  // expected-error @+1 {{'train.batch_norm_training' op failed to infer returned types}}
  %0:4 = train.batch_norm_training %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @batch_norm_grad_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %v: tensor<4xf32>) {
  // expected-error @+2 {{'train.batch_norm_grad' op 'inv_std' must have shape [6], but has [4]}}
  // expected-error @+1 {{'train.batch_norm_grad' op failed to infer returned types}}
  %0:3 = train.batch_norm_grad %x, %x, %s, %s, %v {axis = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<4xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @mean_over_ranks_c1(%x: tensor<6xbf16>) {
  // expected-error @+2 {{'train.mean_over_ranks' op the tensor must be f32 or f64, but is 'bf16'}}
  // expected-error @+1 {{'train.mean_over_ranks' op failed to infer returned types}}
  %0 = train.mean_over_ranks %x : (tensor<6xbf16>) -> tensor<6xbf16>
  return
}

// -----

func.func @softmax_c1(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{'train.softmax' op 'axis' must lie in [0, 2), but is 2}}
  // expected-error @+1 {{'train.softmax' op failed to infer returned types}}
  %0 = train.softmax %x {axis = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @softmax_c1_log(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{'train.log_softmax' op 'axis' must lie in [0, 2), but is -1}}
  // expected-error @+1 {{'train.log_softmax' op failed to infer returned types}}
  %0 = train.log_softmax %x {axis = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @softmax_grad_c1(%x: tensor<4x6xf32>, %g: tensor<6xf32>) {
  // expected-error @+2 {{'train.softmax_grad' op 'grad' must have shape [4, 6], but has [6]}}
  // expected-error @+1 {{'train.softmax_grad' op failed to infer returned types}}
  %0 = train.softmax_grad %g, %x {axis = 1 : i64} : (tensor<6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}
