// RUN: mpc-opt %s -split-input-file -verify-diagnostics -mpc-verify-precision

module attributes {mpc.precision = "bf16", mpc.masters = "bf16-kahan"} {
  // expected-error @+2 {{the weights 'parameters' must be bf16-kahan, but are 'tensor<1x1024xf32>'}}
  // expected-note @+1 {{expected mpc-use-bf16-masters to prevent this}}
  train.state @parameters parameter : tensor<1x1024xf32>
}

// -----

// The rounding error would be lost.
module attributes {mpc.precision = "bf16", mpc.masters = "bf16-kahan"} {
  train.state @parameters parameter : tensor<1x1024xbf16>
  train.state @compensation compensation {of = @parameters} : tensor<1x1024xbf16>
  // expected-error @+2 {{'step' must store value and rest of one weight, in 'parameters' and 'compensation'}}
  // expected-note @+1 {{expected mpc-use-bf16-masters to prevent this}}
  func.func @step(%w: tensor<1x1024xf32>, %norm: tensor<f32>) attributes {train.entry = #train.entry<step>} {
    %old = train.read @parameters : tensor<1x1024xbf16>
    %value, %rest = amp.split_compensated %w : tensor<1x1024xf32> to tensor<1x1024xbf16>
    %finite = amp.all_finite %norm : tensor<f32>
    %kept = amp.select_if_finite %value over %old if %finite : tensor<1x1024xbf16>
    train.write @parameters, %kept : tensor<1x1024xbf16>
    return
  }
}

// -----

// With rounding to nearest, small updates vanish.
module attributes {mpc.precision = "bf16", mpc.masters = "bf16-stochastic"} {
  train.state @parameters parameter : tensor<1x1024xbf16>
  func.func @step(%w: tensor<1x1024xf32>, %norm: tensor<f32>) attributes {train.entry = #train.entry<step>} {
    %old = train.read @parameters : tensor<1x1024xbf16>
    %value = amp.cast %w : tensor<1x1024xf32> to tensor<1x1024xbf16>
    %finite = amp.all_finite %norm : tensor<f32>
    %kept = amp.select_if_finite %value over %old if %finite : tensor<1x1024xbf16>
    // expected-error @+2 {{must store what rounding an f32 weight gave, and keep the old value of 'parameters' in a step that is not finite}}
    // expected-note @+1 {{expected mpc-use-bf16-masters to prevent this}}
    train.write @parameters, %kept : tensor<1x1024xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16", mpc.masters = "bf16-kahan"} {
  train.state @parameters parameter : tensor<1x1024xbf16>
  train.state @compensation compensation {of = @parameters} : tensor<1x1024xbf16>
  func.func @predict() -> tensor<512xf32> attributes {train.entry = #train.entry<predict>} {
    %v = train.read @parameters : tensor<1x1024xbf16>
    %r = train.read @compensation : tensor<1x1024xbf16>
    %value = train.unpack %v {offset = 0 : i64} : (tensor<1x1024xbf16>) -> tensor<512xbf16>
    %rest = train.unpack %r {offset = 512 : i64} : (tensor<1x1024xbf16>) -> tensor<512xbf16>
    // expected-error @+2 {{must join a weight of 'parameters' with its rounding error}}
    // expected-note @+1 {{expected mpc-use-bf16-masters to prevent this}}
    %w = amp.join_compensated %value, %rest : tensor<512xbf16> to tensor<512xf32>
    return %w : tensor<512xf32>
  }
}

// -----

module attributes {mpc.precision = "bf16", mpc.masters = "bf16-kahan"} {
  train.state @parameters parameter : tensor<1x1024xbf16>
  train.state @compensation compensation {of = @parameters} : tensor<1x1024xbf16>
  func.func @predict() -> tensor<1x1024xf32> attributes {train.entry = #train.entry<predict>} {
    %r = train.read @compensation : tensor<1x1024xbf16>
    // expected-error @+2 {{reads 'compensation', which is not a weight without its value}}
    // expected-note @+1 {{expected mpc-use-bf16-masters to prevent this}}
    %w = amp.cast %r : tensor<1x1024xbf16> to tensor<1x1024xf32>
    return %w : tensor<1x1024xf32>
  }
}

// -----

// Half a step of 1.0 is 2^-8; this is 2^-7.
module attributes {mpc.precision = "bf16", mpc.masters = "bf16-kahan"} {
  // expected-error @+1 {{element 1 of 'compensation' must be at most half a step of the weight}}
  train.state @parameters parameter : tensor<2xbf16> = dense_resource<value> : tensor<2xbf16>
  // expected-note @+1 {{expected mpc-use-bf16-masters to prevent this}}
  train.state @compensation compensation {of = @parameters} : tensor<2xbf16> = dense_resource<rest> : tensor<2xbf16>
}
{-#
  dialect_resources: {
    builtin: {
      value: "0x40000000803F803F",
      rest: "0x40000000803B003C"
    }
  }
#-}
