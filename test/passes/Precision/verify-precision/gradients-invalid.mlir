// RUN: mpc-opt %s --mpc-verify-precision --split-input-file --verify-diagnostics

// The optimizer reads f32 in each of these, but the gradient was rounded after the
// product that computes it.

// A fused weight that is read in two slices.
module attributes {mpc.precision = "bf16"} {
  train.state @m optimizer : tensor<1x1024xf32>
  func.func @concat(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
    %0 = train.matmul %x, %y {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // expected-error @+2 {{must not round the gradient of a parameter for an op that is not low}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %1 = amp.cast %0 : tensor<8x8xf32> to tensor<8x8xbf16>
    // expected-note @+1 {{this one}}
    %2 = train.concat %1, %1 {axis = 0 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<16x8xbf16>
    %3 = amp.cast %2 : tensor<16x8xbf16> to tensor<16x8xf32>
    %p = train.pack %3 {mpc.gradients, offsets = array<i64: 0>} : (tensor<16x8xf32>) -> tensor<1x1024xf32>
    train.write @m, %p : tensor<1x1024xf32>
    return
  }
}

// -----

// Concatenated weights of one product.
module attributes {mpc.precision = "bf16"} {
  train.state @m optimizer : tensor<1x1024xf32>
  func.func @slice(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
    // expected-error @+2 {{result must be f32 because it is the gradient of a parameter or a part of one, but is 'tensor<8x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.matmul %x, %y {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xbf16>
    %1 = train.slice %0 {offsets = array<i64: 0, 4>} : (tensor<8x8xbf16>) -> tensor<8x4xbf16>
    %2 = amp.cast %1 : tensor<8x4xbf16> to tensor<8x4xf32>
    %p = train.pack %2 {mpc.gradients, offsets = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<1x1024xf32>
    train.write @m, %p : tensor<1x1024xf32>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  train.state @m optimizer : tensor<1x1024xf32>
  func.func @split(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
    // expected-error @+2 {{result must be f32 because it is the gradient of a parameter or a part of one, but is 'tensor<8x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.matmul %x, %y {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xbf16>
    %1:2 = train.split %0 {axis = 1 : i64, sizes = array<i64: 4, 4>} : (tensor<8x8xbf16>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>)
    %2 = amp.cast %1#0 : tensor<8x4xbf16> to tensor<8x4xf32>
    %3 = amp.cast %1#1 : tensor<8x4xbf16> to tensor<8x4xf32>
    %p = train.pack %2, %3 {mpc.gradients, offsets = array<i64: 0, 32>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x1024xf32>
    train.write @m, %p : tensor<1x1024xf32>
    return
  }
}

// -----

// A weight that is scaled; not even the user may request it.
module attributes {mpc.precision = "bf16"} {
  train.state @m optimizer : tensor<1x1024xf32>
  func.func @mul(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %s: tensor<8x8xf32>) {
    %0 = train.matmul %x, %y {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // expected-error @+2 {{result must be f32 because it is the gradient of a parameter or a part of one, but is 'tensor<8x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %1 = train.mul %0, %s {mpc.precision.decision = #amp.decision<"option", "residual=fp32">} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xbf16>
    %2 = amp.cast %1 : tensor<8x8xbf16> to tensor<8x8xf32>
    %p = train.pack %2 {mpc.gradients, offsets = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<1x1024xf32>
    train.write @m, %p : tensor<1x1024xf32>
    return
  }
}

// -----

// A product of weights: another product reads it rounded, but the pack must not.
module attributes {mpc.precision = "bf16"} {
  train.state @a parameter : tensor<8x8xf32>
  train.state @a.bf16 working_copy {of = @a} : tensor<8x8xbf16>
  train.state @m optimizer : tensor<1x1024xf32>
  func.func @product_of_weights(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
    %a = train.read @a.bf16 : tensor<8x8xbf16>
    %0 = train.matmul %x, %y {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %1 = amp.cast %0 : tensor<8x8xf32> to tensor<8x8xbf16>
    // expected-error @+2 {{result must be f32 because it is the gradient of a parameter or a part of one, but is 'tensor<8x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %2 = train.matmul %1, %a : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %3 = amp.cast %2 : tensor<8x8xbf16> to tensor<8x8xf32>
    %p = train.pack %0, %3 {mpc.gradients, offsets = array<i64: 0, 64>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<1x1024xf32>
    train.write @m, %p : tensor<1x1024xf32>
    return
  }
}
