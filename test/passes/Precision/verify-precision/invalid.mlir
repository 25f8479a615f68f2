// RUN: mpc-opt %s --mpc-verify-precision --split-input-file --verify-diagnostics

// expected-error @+2 {{the module has no attribute 'mpc.precision'}}
// expected-note @+1 {{expected mpc-assign-precision to prevent this}}
module {
}

// -----

module attributes {mpc.precision = "bf16"} {
  // expected-error @+2 {{the signature of 'f' must not have 16-bit floats, but has 'tensor<4xbf16>'}}
  // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
  func.func @f(%x: tensor<4xbf16>) {
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  // expected-error @+2 {{state 'm' must not be 16-bit: only working copies and constants are}}
  // expected-note @+1 {{expected mpc-use-working-copy to prevent this}}
  train.state @m optimizer : tensor<4xbf16>
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @other_low_type(%x: tensor<4xf32>) {
    // expected-error @+2 {{has a result of 'tensor<4xf16>', but the 16-bit type of the module is 'bf16'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
    return
  }
}

// -----

module attributes {mpc.precision = "fp32"} {
  func.func @no_low_type(%x: tensor<4xf32>) {
    // expected-error @+2 {{has a result of 'tensor<4xbf16>', but the module has no 16-bit type}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = amp.cast %x : tensor<4xf32> to tensor<4xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @pinned_operand(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
    %low = amp.cast %s : tensor<8xf32> to tensor<8xbf16>
    // expected-error @+2 {{operand #1 must be f32 because it is pinned, but is 'tensor<8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0, %m, %i = train.layer_norm %x, %low {axis = 1 : i64, epsilon = 1.0e-5 : f32}
      : (tensor<4x8xf32>, tensor<8xbf16>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
    return
  }
}

// -----

// A pinned value must not have been rounded before, either.
module attributes {mpc.precision = "bf16"} {
  func.func @pinned_operand_cast(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) {
    %low = train.matmul %x, %y : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xbf16>
    // expected-note @+1 {{cast here}}
    %wide = amp.cast %low : tensor<4x8xbf16> to tensor<4x8xf32>
    // expected-error @+2 {{operand #0 is pinned and must not be cast, but was rounded before}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.round_to %wide {to = f16} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @mixed_product(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) {
    %low = amp.cast %y : tensor<8x8xf32> to tensor<8x8xbf16>
    // expected-error @+2 {{must read operands of one float type, but they are of 'f32' and 'bf16'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.matmul %x, %low : (tensor<4x8xf32>, tensor<8x8xbf16>) -> tensor<4x8xf32>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @pinned_result(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
    // expected-error @+2 {{result #0 must be f32 because it is pinned, but is 'tensor<8x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.matmul %x, %y {transpose_lhs, weight_gradient} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @sensitive_operand(%x: tensor<4x8xf32>) {
    %low = amp.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
    // expected-error @+2 {{operand #0 must be f32 because the op is sensitive, but is 'tensor<4x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.log_softmax %low {axis = 1 : i64} : (tensor<4x8xbf16>) -> tensor<4x8xf32>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @sensitive_result(%x: tensor<4x8xf32>) {
    // expected-error @+2 {{result #0 must be f32 because the op is sensitive, but is 'tensor<4x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.log_softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @transparent(%x: tensor<4x8xf32>) {
    // expected-error @+2 {{is transparent and must have one float type, but has 'f32' and 'bf16'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.relu %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @back_to_back(%x: tensor<4xf32>) {
    // expected-note @+1 {{this one}}
    %0 = amp.cast %x : tensor<4xf32> to tensor<4xbf16>
    // expected-error @+2 {{must not follow another cast}}
    // expected-note @+1 {{expected mpc-elide-casts to prevent this}}
    %1 = amp.cast %0 : tensor<4xbf16> to tensor<4xf32>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @cast_twice(%x: tensor<4xf32>) {
    // expected-note @+1 {{the first time}}
    %0 = amp.cast %x : tensor<4xf32> to tensor<4xbf16>
    // expected-error @+2 {{casts a tensor a second time to the same type}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %1 = amp.cast %x : tensor<4xf32> to tensor<4xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  train.state @w parameter : tensor<4xf32>
  func.func @weight_cast() {
    %w = train.read @w : tensor<4xf32>
    // expected-error @+2 {{must not cast a weight; it comes from 'w'}}
    // expected-note @+1 {{expected mpc-use-working-copy to prevent this}}
    %0 = amp.cast %w : tensor<4xf32> to tensor<4xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @input_rounded(%x: tensor<4x8xf32>) {
    // expected-error @+2 {{result must be f32 because it is computed from unbounded inputs, but is 'tensor<4x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %0 = train.gelu %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    return
  }
}

// -----

module attributes {mpc.precision = "fp16"} {
  func.func @mask_rounded(%x: tensor<4x8xf32>) {
    %mask = train.constant dense<-1.0e+09> : tensor<8xf32> : tensor<8xf32>
    %0 = train.matmul %x, %x {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %1 = train.matmul %0, %x : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    // expected-error @+2 {{result must be f32 because values up to 1e+09 do not fit f16 (65504), but is 'tensor<4x8xf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %2 = train.add %1, %mask : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf16>
    return
  }
}

// -----

module attributes {mpc.precision = "fp16"} {
  func.func @not_proven(%x: tensor<4x4xf32>) {
    %0 = train.sigmoid %x : (tensor<4x4xf32>) -> tensor<4x4xf16>
    // expected-error @+2 {{is not proven to stay within 'f16'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %1 = train.mul %0, %0 {mpc.precision.proven} : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  train.state @m optimizer : tensor<1x1024xf32>
  func.func @gradient_rounded(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
    %0 = train.matmul %x, %y {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %1 = train.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    // expected-error @+2 {{result must be f32 because it is the gradient of a parameter or a part of one, but is 'tensor<8x8xbf16>'}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %2 = train.add %1, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xbf16>
    %3 = train.mul %0, %2 : (tensor<8x8xf32>, tensor<8x8xbf16>) -> tensor<8x8xf32>
    %p = train.pack %3 {offsets = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<1x1024xf32>
    train.write @m, %p : tensor<1x1024xf32>
    return
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  func.func @rounded_for_another(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) {
    // expected-error @+2 {{must not round a tensor for an op that is not low}}
    // expected-note @+1 {{expected mpc-assign-precision to prevent this}}
    %low = amp.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
    // expected-note @+1 {{this one}}
    %0 = train.gelu %low : (tensor<4x8xbf16>) -> tensor<4x8xf32>
    return
  }
}
