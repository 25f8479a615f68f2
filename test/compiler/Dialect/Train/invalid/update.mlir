// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @dropout_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.dropout' op 'ratio' must lie in [0, 1), but is 1.000000e+00 : f32}}
  %0 = train.dropout %x {ratio = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_training_c1_nan(%x: tensor<4xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{'train.dropout_training' op 'ratio' must lie in [0, 1), but is 0x7FC00000 : f32}}
  %0 = train.dropout_training %x, %s, %s {index = 0 : i64, ratio = 0x7FC00000 : f32} : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_training_c2(%x: tensor<4xf32>, %s: tensor<i64>, %t: tensor<4xi64>) {
  // expected-error @+1 {{'train.dropout_training' op 'seed' and 'step' must have rank 0, but one is 'tensor<4xi64>'}}
  %0 = train.dropout_training %x, %s, %t {index = 0 : i64, ratio = 0.5 : f32} : (tensor<4xf32>, tensor<i64>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @random_c1_count(%s: tensor<i64>) {
  // expected-error @+1 {{'train.random' op must have both a seed and a step, or neither, but has 1 operands}}
  %0 = train.random %s {index = 0 : i64, shape = array<i64: 4>} : (tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @random_c1_rank(%s: tensor<i64>, %t: tensor<1xi64>) {
  // expected-error @+1 {{'train.random' op seed and step must have rank 0, but one is 'tensor<1xi64>'}}
  %0 = train.random %s, %t {index = 0 : i64, shape = array<i64: 4>} : (tensor<i64>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @random_c2() {
  // expected-error @+2 {{'train.random' op 'shape' must be positive, but is [4, 0]}}
  // expected-error @+1 {{'train.random' op failed to infer returned types}}
  %0 = train.random {index = 0 : i64, shape = array<i64: 4, 0>} : () -> tensor<4x0xf32>
  return
}

// -----

func.func @update_c1(%w: tensor<1x1024xf32>, %g: tensor<2x1024xf32>, %lr: tensor<f32>) {
  // expected-error @+2 {{'train.sgd' op packed tensors must have one shape, but are 'tensor<1x1024xf32>' and 'tensor<2x1024xf32>'}}
  // expected-error @+1 {{'train.sgd' op failed to infer returned types}}
  %0 = train.sgd %w, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<2x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
  return
}

// -----

func.func @update_c2(%w: tensor<1x1024xf32>, %lr: tensor<1xf32>) {
  // expected-error @+2 {{'train.momentum' op scalars must have rank 0, but one is 'tensor<1xf32>'}}
  // expected-error @+1 {{'train.momentum' op failed to infer returned types}}
  %0:2 = train.momentum %w, %w, %w, %lr {momentum = 0.9 : f32, weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1xf32>) -> (tensor<1x1024xf32>, tensor<1x1024xf32>)
  return
}

// -----

func.func @adam_c1(%w: tensor<1x1024xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{'train.adam' op 'beta2' must lie in [0, 1), but is 1.000000e+00 : f32}}
  %0:3 = train.adam %w, %w, %w, %w, %c, %c, %c {beta1 = 0.9 : f32, beta2 = 1.0 : f32, epsilon = 1.0e-8 : f32, weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>)
  return
}

// -----

func.func @adam_c2(%w: tensor<1x1024xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{'train.adam' op 'epsilon' must be at least 0, but is -1.000000e+00 : f32}}
  %0:3 = train.adam %w, %w, %w, %w, %c, %c, %c {beta1 = 0.9 : f32, beta2 = 0.9 : f32, epsilon = -1.0 : f32, weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>)
  return
}

// -----

func.func @bias_correction_c1(%step: tensor<i64>) {
  // expected-error @+1 {{'train.bias_correction' op 'beta' must lie in [0, 1), but is -1.000000e-01 : f64}}
  %0 = train.bias_correction %step {beta = -0.1 : f64} : (tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @clip_factor_c1(%norm: tensor<f32>) {
  // expected-error @+1 {{'train.clip_factor' op 'max_norm' must be positive, but is 0.000000e+00 : f32}}
  %0 = train.clip_factor %norm {max_norm = 0.0 : f32} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @loss_share_c1(%loss: tensor<f32>) {
  // expected-error @+1 {{'train.loss_share' op 'terms' must be positive, but is 0.000000e+00 : f64}}
  %0 = train.loss_share %loss, %loss {terms = 0.0 : f64} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @mean_factor_c1(%divisor: tensor<f32>) {
  // expected-error @+1 {{'train.mean_factor' op 'terms' must be positive, but is -1.000000e+00 : f64}}
  %0 = train.mean_factor %divisor {terms = -1.0 : f64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @scheduled_rate_c1_warmup(%r: tensor<f32>, %n: tensor<i64>, %t: tensor<i64>) {
  // expected-error @+1 {{'train.scheduled_rate' op 'warmup' must be at least 0, but is -1.000000e+00 : f64}}
  %0 = train.scheduled_rate %r, %n, %t {factor = 1.0 : f64, gamma = 0.5 : f64, minimum = 0.0 : f64, period = 3.0 : f64, power = 1.0 : f64, schedule = #train<rate_schedule step>, warmup = -1.0 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @scheduled_rate_c1_minimum(%r: tensor<f32>, %n: tensor<i64>, %t: tensor<i64>) {
  // expected-error @+1 {{'train.scheduled_rate' op 'minimum' must be at least 0, but is 0x7FF8000000000000 : f64}}
  %0 = train.scheduled_rate %r, %n, %t {factor = 1.0 : f64, gamma = 0.5 : f64, minimum = 0x7FF8000000000000 : f64, period = 3.0 : f64, power = 1.0 : f64, schedule = #train<rate_schedule step>, warmup = 0.0 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @scheduled_rate_c1_gamma(%r: tensor<f32>, %n: tensor<i64>, %t: tensor<i64>) {
  // expected-error @+1 {{'train.scheduled_rate' op 'gamma' must be positive, but is 0.000000e+00 : f64}}
  %0 = train.scheduled_rate %r, %n, %t {factor = 1.0 : f64, gamma = 0.0 : f64, minimum = 0.0 : f64, period = 3.0 : f64, power = 1.0 : f64, schedule = #train<rate_schedule step>, warmup = 0.0 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @scheduled_rate_c1_period(%r: tensor<f32>, %n: tensor<i64>, %t: tensor<i64>) {
  // expected-error @+1 {{'train.scheduled_rate' op 'period' must be positive, but is 0.000000e+00 : f64}}
  %0 = train.scheduled_rate %r, %n, %t {factor = 1.0 : f64, gamma = 0.5 : f64, minimum = 0.0 : f64, period = 0.0 : f64, power = 1.0 : f64, schedule = #train<rate_schedule step>, warmup = 0.0 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @scheduled_rate_c1_factor(%r: tensor<f32>, %n: tensor<i64>, %t: tensor<i64>) {
  // expected-error @+1 {{'train.scheduled_rate' op 'factor' must be at least 1, but is 5.000000e-01 : f64}}
  %0 = train.scheduled_rate %r, %n, %t {factor = 0.5 : f64, gamma = 0.5 : f64, minimum = 0.0 : f64, period = 3.0 : f64, power = 1.0 : f64, schedule = #train<rate_schedule step>, warmup = 0.0 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @scheduled_rate_c1_power(%r: tensor<f32>, %n: tensor<i64>, %t: tensor<i64>) {
  // expected-error @+1 {{'train.scheduled_rate' op 'power' must be positive, but is 0x7FF0000000000000 : f64}}
  %0 = train.scheduled_rate %r, %n, %t {factor = 1.0 : f64, gamma = 0.5 : f64, minimum = 0.0 : f64, period = 3.0 : f64, power = 0x7FF0000000000000 : f64, schedule = #train<rate_schedule step>, warmup = 0.0 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @scheduled_rate_c2(%r: tensor<2x1xf32>, %n: tensor<i64>, %t: tensor<i64>) {
  // expected-error @+2 {{'train.scheduled_rate' op scalars must have rank 0, but one is 'tensor<2x1xf32>'}}
  // expected-error @+1 {{'train.scheduled_rate' op failed to infer returned types}}
  %0 = train.scheduled_rate %r, %n, %t {factor = 1.0 : f64, gamma = 0.5 : f64, minimum = 0.0 : f64, period = 3.0 : f64, power = 1.0 : f64, schedule = #train<rate_schedule step>, warmup = 0.0 : f64} : (tensor<2x1xf32>, tensor<i64>, tensor<i64>) -> tensor<2x1xf32>
  return
}

// -----

// Rates may differ by row only.
func.func @update_c2_column(%w: tensor<2x1024xf32>, %r: tensor<1x1xf32>) {
  // expected-error @+2 {{'train.sgd' op scalars must have rank 0, but one is 'tensor<1x1xf32>'}}
  // expected-error @+1 {{'train.sgd' op failed to infer returned types}}
  %0 = train.sgd %w, %w, %r {weight_decay = 0.0 : f32} : (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<1x1xf32>) -> tensor<2x1024xf32>
  return
}
