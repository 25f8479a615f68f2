// RUN: mpc-opt %s -split-input-file -verify-diagnostics -mpc-verify-precision

// A scale with which a value was rounded must be removed again.
module attributes {mpc.precision = "fp8"} {
  func.func @other_scale(%x: tensor<16x16xf32>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<16x16xf32> {
    %q = amp.quantize %x by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    // expected-error @+2 {{'train.matmul' op must first be divided by the scales of its operands}}
    // expected-note @+1 {{expected mpc-use-fp8 to prevent this}}
    %p = train.matmul %q, %q : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32>
    // expected-note @+1 {{read here}}
    %y = amp.dequantize %p by %s, %t : tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}

// -----

module attributes {mpc.precision = "fp8"} {
  func.func @forgotten(%x: tensor<16x16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> {
    %q = amp.quantize %x by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    // expected-error @+2 {{'train.matmul' op must first be divided by the scales of its operands}}
    // expected-note @+1 {{expected mpc-use-fp8 to prevent this}}
    %p = train.matmul %q, %q : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32>
    // expected-note @+1 {{read here}}
    return %p : tensor<16x16xf32>
  }
}

// -----

module attributes {mpc.precision = "fp8"} {
  func.func @twice(%x: tensor<16x16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> {
    // expected-error @+2 {{'amp.dequantize' op must follow an 8-bit product}}
    // expected-note @+1 {{expected mpc-use-fp8 to prevent this}}
    %y = amp.dequantize %x by %s, %s : tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}

// -----

module attributes {mpc.precision = "fp8"} {
  func.func @read(%x: tensor<16x16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> {
    %q = amp.quantize %x by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    // expected-error @+2 {{'amp.cast' op must not read 8-bit operands: only products do}}
    // expected-note @+1 {{expected mpc-use-fp8 to prevent this}}
    %y = amp.cast %q : tensor<16x16xf8E4M3FN> to tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}

// -----

// The scale of another weight.
module attributes {mpc.precision = "fp8"} {
  train.state @w parameter : tensor<16x16xf32>
  train.state @fp8.weights derived : tensor<512xf8E4M3FN>
  train.state @fp8.weight_scales derived : tensor<32xf32>
  func.func @derive() attributes {train.entry = #train.entry<derive>} {
    %w = train.read @w : tensor<16x16xf32>
    %s = train.constant dense<1.0> : tensor<f32> : tensor<f32>
    %t = train.constant dense<2.0> : tensor<f32> : tensor<f32>
    %q = amp.quantize %w by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    %r = amp.quantize %w by %t : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    %weights = train.pack %q, %r {offsets = array<i64: 0, 256>} : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<512xf8E4M3FN>
    train.write @fp8.weights, %weights : tensor<512xf8E4M3FN>
    %scales = train.pack %s, %t {offsets = array<i64: 0, 16>} : (tensor<f32>, tensor<f32>) -> tensor<32xf32>
    train.write @fp8.weight_scales, %scales : tensor<32xf32>
    return
  }
  func.func @accumulate(%x: tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32> attributes {train.entry = #train.entry<accumulate>} {
    %weights = train.read @fp8.weights : tensor<512xf8E4M3FN>
    %scales = train.read @fp8.weight_scales : tensor<32xf32>
    %q = train.unpack %weights {offset = 0 : i64} : (tensor<512xf8E4M3FN>) -> tensor<16x16xf8E4M3FN>
    %t = train.unpack %scales {offset = 16 : i64} : (tensor<32xf32>) -> tensor<f32>
    // expected-error @+2 {{'train.matmul' op must first be divided by the scales of its operands}}
    // expected-note @+1 {{expected mpc-use-fp8 to prevent this}}
    %p = train.matmul %q, %q : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32>
    // expected-note @+1 {{read here}}
    %y = amp.dequantize %p by %t, %t : tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}

// -----

// No function computes them.
module attributes {mpc.precision = "fp8"} {
  // expected-error @+2 {{state 'moments' must not be of 8 bit: only what is derived from weights is}}
  // expected-note @+1 {{expected mpc-hoist-weight-quantization to prevent this}}
  train.state @moments optimizer : tensor<256xf8E4M3FN>
}

// -----

module attributes {mpc.precision = "fp8"} {
  train.state @fp8.weights derived : tensor<256xf8E4M3FN>
  func.func @accumulate() -> tensor<16x16xf32> attributes {train.entry = #train.entry<accumulate>} {
    %weights = train.read @fp8.weights : tensor<256xf8E4M3FN>
    %q = train.unpack %weights {offset = 0 : i64} : (tensor<256xf8E4M3FN>) -> tensor<16x16xf8E4M3FN>
    // expected-error @+2 {{'train.matmul' op must multiply only 8-bit tensors that were rounded with a scale}}
    // expected-note @+1 {{expected mpc-use-fp8 to prevent this}}
    %p = train.matmul %q, %q : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32>
    return %p : tensor<16x16xf32>
  }
}
