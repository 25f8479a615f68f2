// RUN: mpc-opt %s -split-input-file -verify-diagnostics -mpc-verify-precision

// What was rounded with a scale has to give it up again.
module attributes {mpc.precision = "fp8"} {
  func.func @other_scale(%x: tensor<16x16xf32>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<16x16xf32> {
    %q = amp.quantize %x by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    // expected-error @+2 {{'train.matmul' op must give up the scales of its operands first}}
    // expected-note @+1 {{mpc-use-fp8 should have seen to it}}
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
    // expected-error @+2 {{'train.matmul' op must give up the scales of its operands first}}
    // expected-note @+1 {{mpc-use-fp8 should have seen to it}}
    %p = train.matmul %q, %q : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32>
    // expected-note @+1 {{read here}}
    return %p : tensor<16x16xf32>
  }
}

// -----

module attributes {mpc.precision = "fp8"} {
  func.func @twice(%x: tensor<16x16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> {
    // expected-error @+2 {{'amp.dequantize' op must follow a product of 8 bit}}
    // expected-note @+1 {{mpc-use-fp8 should have seen to it}}
    %y = amp.dequantize %x by %s, %s : tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}

// -----

module attributes {mpc.precision = "fp8"} {
  func.func @read(%x: tensor<16x16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> {
    %q = amp.quantize %x by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    // expected-error @+2 {{'amp.cast' op must not read 8 bit: products alone do}}
    // expected-note @+1 {{mpc-use-fp8 should have seen to it}}
    %y = amp.cast %q : tensor<16x16xf8E4M3FN> to tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}
