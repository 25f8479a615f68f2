// RUN: mpc-opt %s --mpc-verify-recompute --split-input-file --verify-diagnostics

func.func @same(%x: tensor<8xf32>) -> tensor<8xf32> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %y = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %g = train.mul %y, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = train.remat_barrier %x after %g : tensor<8xf32> after tensor<8xf32>
  %again = train.relu %r {mpc.recomputed} : (tensor<8xf32>) -> tensor<8xf32>
  %d = train.mul %again, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %d : tensor<8xf32>
}

// -----

func.func @another_op(%x: tensor<8xf32>) -> tensor<8xf32> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %y = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %g = train.mul %y, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = train.remat_barrier %x after %g : tensor<8xf32> after tensor<8xf32>
  // expected-error @+2 {{a recomputed op must be a copy of a forward op}}
  // expected-note @+1 {{expected mpc-recompute to prevent this}}
  %again = train.tanh %r {mpc.recomputed} : (tensor<8xf32>) -> tensor<8xf32>
  %d = train.mul %again, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %d : tensor<8xf32>
}

// -----

func.func @another_type(%x: tensor<8xf32>) -> tensor<8xbf16> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %y = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %g = train.mul %y, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = train.remat_barrier %x after %g : tensor<8xf32> after tensor<8xf32>
  // expected-error @+2 {{a recomputed op must be a copy of a forward op}}
  // expected-note @+1 {{expected mpc-recompute to prevent this}}
  %again = train.relu %r {mpc.recomputed} : (tensor<8xf32>) -> tensor<8xbf16>
  return %again : tensor<8xbf16>
}

// -----

func.func @not_recalled(%x: tensor<8xf32>) -> tensor<8xf32> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %y = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %g = train.mul %y, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  // expected-error @+2 {{rematerialised ops must read forward values through train.remat_barrier}}
  // expected-note @+1 {{expected mpc-recompute to prevent this}}
  %again = train.relu %x {mpc.recomputed} : (tensor<8xf32>) -> tensor<8xf32>
  %d = train.mul %again, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %d : tensor<8xf32>
}

// -----

func.func @no_operands(%x: tensor<8xf32>) -> tensor<8xf32> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %g = train.mul %x, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  // expected-error @+2 {{an op without operands must not be recomputed}}
  // expected-note @+1 {{expected mpc-recompute to prevent this}}
  %c = train.constant {mpc.recomputed} dense<2.0> : tensor<8xf32> : tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

train.state @mean statistic : tensor<8xf32>

func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %g = train.mul %x, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = train.remat_barrier %x after %g : tensor<8xf32> after tensor<8xf32>
  // expected-error @+2 {{an op with side effects must not be recomputed}}
  // expected-note @+1 {{expected mpc-recompute to prevent this}}
  train.write @mean, %r {mpc.recomputed} : tensor<8xf32>
  return %g : tensor<8xf32>
}

// -----

func.func @recalls_a_gradient(%x: tensor<8xf32>) -> tensor<8xf32> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %g = train.mul %x, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  // expected-error @+2 {{a rematerialisation barrier must carry a value of the forward pass}}
  // expected-note @+1 {{expected mpc-recompute to prevent this}}
  %r = train.remat_barrier %g after %g : tensor<8xf32> after tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @waits_for_nothing(%x: tensor<8xf32>) -> tensor<8xf32> {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %g = train.mul %x, %seed : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  // expected-error @+2 {{rematerialised ops must wait for a value of the backward pass}}
  // expected-note @+1 {{expected mpc-recompute to prevent this}}
  %r = train.remat_barrier %x after %x : tensor<8xf32> after tensor<8xf32>
  return %r : tensor<8xf32>
}
