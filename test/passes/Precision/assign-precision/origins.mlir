// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" --split-input-file | FileCheck %s

// An input that the model itself centres: rounding it before the subtraction would lose
// the digits that remain after it.
// CHECK-LABEL: func.func @centred_input
func.func @centred_input(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %mean = train.read @mean : tensor<64xf32>
  // CHECK: train.sub {{.*}}"pin.input"{{.*}} : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32>
  %0 = train.sub %x, %mean : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: amp.cast
  // CHECK-NEXT: train.matmul
  %1 = train.matmul %0, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>
train.state @mean parameter : tensor<64xf32>

// -----

// The rounded copy of an input for a product is used only by the product.
// CHECK-LABEL: func.func @input_beside_product
func.func @input_beside_product(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  // CHECK: train.matmul {{.*}} : (tensor<32x64xbf16>, tensor<64x64xbf16>) -> tensor<32x64x[[TYPE:.*]]>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.add %{{.*}}, %arg0 {{.*}} : (tensor<32x64x[[TYPE]]>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = train.add %0, %x : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.matmul
  %2 = train.matmul %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// The result of a norm on an input is bounded: 16 bit from there on.
// CHECK-LABEL: func.func @normalized_input
func.func @normalized_input(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %s = train.read @s : tensor<64xf32>
  // CHECK: train.rms_norm {{.*}} : (tensor<32x64xf32>, tensor<64xf32>) -> (tensor<32x64xbf16>, tensor<32xf32>)
  %0, %inv = train.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<32x64xf32>, tensor<64xf32>) -> (tensor<32x64xf32>, tensor<32xf32>)
  // CHECK-NEXT: train.matmul
  %1 = train.matmul %0, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>
train.state @s parameter : tensor<64xf32>

// -----

// A mask that is an input, or computed from one, may have values that 16 bit cannot represent.
// CHECK-LABEL: func.func @mask_of_input
func.func @mask_of_input(%x: tensor<32x64xf32>, %m: tensor<64xi64>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %f = train.cast %m {to = f32} : (tensor<64xi64>) -> tensor<64xf32>
  // CHECK: train.add {{.*}} : (tensor<32x64x{{.*}}>, tensor<64xf32>) -> tensor<32x64xf32>
  %1 = train.add %0, %f : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: train.softmax {{.*}} : (tensor<32x64xf32>) -> tensor<32x64xbf16>
  %2 = train.softmax %1 {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// A weight that is computed from weights is f32 up to the product; one that is
// only moved is a part of the 16-bit copy.
// CHECK-LABEL: func.func @computed_weight
func.func @computed_weight(%x: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<32x32xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  %g = train.read @g : tensor<64xf32>
  // CHECK: train.mul {{.*}}"pin.of-parameters"{{.*}} : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %v = train.mul %w, %g : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: amp.cast
  %0 = train.matmul %x, %v : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.slice {{.*}} -> tensor<64x32xbf16>
  %s = train.slice %w {offsets = array<i64: 0, 0>} : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %1 = train.matmul %x, %s : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  return %0, %1 : tensor<32x64xf32>, tensor<32x32xf32>
}
train.state @w parameter : tensor<64x64xf32>
train.state @g parameter : tensor<64xf32>

// -----

// Gradients of parameters are f32 from the last product to the pack, whatever ops are
// between: a gate, a sum of two uses, a transpose. Those of activations are not.
// CHECK-LABEL: func.func @gradients
func.func @gradients(%x: tensor<32x64xf32>, %dy: tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  %g = train.read @g : tensor<64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<32x64xbf16>
  %dx = train.matmul %dy, %w {transpose_rhs} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<64x64xf32>
  %0 = train.matmul %x, %dy {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.mul {{.*}}"pin.parameter-gradient"{{.*}} -> tensor<64x64xf32>
  %1 = train.mul %0, %g : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<64x64xf32>
  %2 = train.matmul %x, %dx {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.transpose {{.*}} -> tensor<64x64xf32>
  %3 = train.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.add {{.*}} -> tensor<64x64xf32>
  %4 = train.add %1, %3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.pack
  %p = train.pack %4 {offsets = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<4x1024xf32>
  train.write @m, %p : tensor<4x1024xf32>
  return
}
train.state @w parameter : tensor<64x64xf32>
train.state @g parameter : tensor<64xf32>
train.state @m optimizer : tensor<4x1024xf32>
