// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" --mpc-elide-casts --mpc-use-working-copy --split-input-file | mpc-opt --mpc-verify-precision --split-input-file

// Cases in which other converters produce wrong or slow graphs. Masks, epsilons and
// squares are in masks.mlir and formats.mlir;
// sums of broadcast values are in gradients.mlir.

// A weight that a product reads in 16 bit and a penalty in f32.
// CHECK-LABEL: func.func @shared_weight
func.func @shared_weight(%x: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<64x64xf32>) {
  // CHECK: %[[W:.*]] = train.read @w : tensor<64x64xf32>
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[W]]
  %w = train.read @w : tensor<64x64xf32>
  // CHECK: train.matmul %{{.*}}, %[[LOW]]
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.log_softmax %[[W]]
  %1 = train.log_softmax %w {axis = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1 : tensor<32x64xf32>, tensor<64x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// An output of the model that the model also reads: rounded once, for all uses, and
// widened once.
// CHECK-LABEL: func.func @output_read
func.func @output_read(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>)
    -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) {
  // CHECK: %[[LOW:.*]] = train.matmul {{.*}} -> tensor<32x64xbf16>
  // CHECK-NEXT: %[[Y:.*]] = amp.cast %[[LOW]]
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: train.matmul %[[LOW]]
  %1 = train.matmul %0, %v : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: train.matmul %[[LOW]]
  %2 = train.matmul %0, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: return %[[Y]]
  return %0, %1, %2 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>
}

// -----

// Casts of the model: between floats one is the identity, from an integer it is
// f32.
// CHECK-LABEL: func.func @casts_of_the_model
func.func @casts_of_the_model(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %i: tensor<32x64xi64>) -> tensor<32x64xf32> {
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.cast {{.*}} : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
  %1 = train.cast %0 {to = f32} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = train.matmul %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.cast {{.*}} : (tensor<32x64xi64>) -> tensor<32x64xf32>
  %3 = train.cast %i {to = f32} : (tensor<32x64xi64>) -> tensor<32x64xf32>
  // CHECK-NEXT: train.add {{.*}} -> tensor<32x64xf32>
  %4 = train.add %2, %3 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  return %4 : tensor<32x64xf32>
}

// -----

// Tensors without elements cost nothing and cause no problems.
// CHECK-LABEL: func.func @empty
func.func @empty(%x: tensor<0x64xf32>, %w: tensor<64x64xf32>) -> tensor<0x64xf32> {
  // CHECK: train.matmul {{.*}} : (tensor<0x64xbf16>, tensor<64x64xbf16>)
  %0 = train.matmul %x, %w : (tensor<0x64xf32>, tensor<64x64xf32>) -> tensor<0x64xf32>
  %1 = train.relu %0 : (tensor<0x64xf32>) -> tensor<0x64xf32>
  // CHECK: train.matmul {{.*}} : (tensor<0x64xbf16>, tensor<64x64xbf16>) -> tensor<0x64xf32>
  %2 = train.matmul %1, %w : (tensor<0x64xf32>, tensor<64x64xf32>) -> tensor<0x64xf32>
  return %2 : tensor<0x64xf32>
}

// -----

// Interpolation weights are computed from constants of the model, its sizes and scales.
// CHECK-LABEL: func.func @resize
func.func @resize(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> {
  %p = train.constant dense<3> : tensor<96x2xi64> : tensor<96x2xi64>
  %s = train.constant dense<0.3> : tensor<96x2xf32> : tensor<96x2xf32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.resample {{.*}} : (tensor<32x64xbf16>, tensor<96x2xi64>, tensor<96x2xf32>) -> tensor<32x96xbf16>
  %1 = train.resample %0, %p, %s {axis = 1 : i64} : (tensor<32x64xf32>, tensor<96x2xi64>, tensor<96x2xf32>) -> tensor<32x96xf32>
  %2 = train.slice %1 {offsets = array<i64: 0, 8>} : (tensor<32x96xf32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3 : tensor<32x64xf32>
}

// -----

// The key of a random mask is not a float; the masked value stays 16-bit.
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<32x64xf32> {
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.dropout_training {{.*}} : (tensor<32x64xbf16>, tensor<i64>, tensor<i64>) -> tensor<32x64xbf16>
  %1 = train.dropout_training %0, %seed, %step {index = 0 : i64, ratio = 5.0e-01 : f32} : (tensor<32x64xf32>, tensor<i64>, tensor<i64>) -> tensor<32x64xf32>
  %2 = train.matmul %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// -----

// Computed limits of a clip are read in their stored type, not narrowed.
// CHECK-LABEL: func.func @clip
func.func @clip(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %most: tensor<f32>) -> tensor<32x64xf32> {
  %least = train.constant dense<-1.5> : tensor<f32> : tensor<f32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.maximum {{.*}} : (tensor<32x64xbf16>, tensor<f32>) -> tensor<32x64xbf16>
  %1 = train.maximum %0, %least : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  // An input is unbounded.
  // CHECK: train.minimum {{.*}} : (tensor<32x64xbf16>, tensor<f32>) -> tensor<32x64xf32>
  %2 = train.minimum %1, %most : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3 : tensor<32x64xf32>
}

// -----

// Rows that are looked up twice get the sum of two gradients, in f32.
// CHECK-LABEL: func.func @looked_up_twice
func.func @looked_up_twice(%dy: tensor<32x64xf32>, %w: tensor<16x64xf32>) {
  %ids = train.constant dense<7> : tensor<32xi64> : tensor<32xi64>
  // CHECK: train.matmul {{.*}} -> tensor<32x16xf32>
  %0 = train.matmul %dy, %w {transpose_rhs} : (tensor<32x64xf32>, tensor<16x64xf32>) -> tensor<32x16xf32>
  // CHECK: train.embedding_grad {{.*}} -> tensor<96x16xf32>
  %1 = train.embedding_grad %0, %ids {rows = 96 : i64} : (tensor<32x16xf32>, tensor<32xi64>) -> tensor<96x16xf32>
  %p = train.pack %1 {mpc.gradients, offsets = array<i64: 0>} : (tensor<96x16xf32>) -> tensor<2x1024xf32>
  train.write @m, %p : tensor<2x1024xf32>
  return
}
train.state @m optimizer : tensor<2x1024xf32>

// -----

// A batch that is not a multiple of the tile of matrix units.
// CHECK-LABEL: func.func @odd_batch
func.func @odd_batch(%x: tensor<33x67xf32>, %dy: tensor<33x65xf32>) {
  // CHECK: train.matmul {{.*}} : (tensor<33x67xbf16>, tensor<33x65xbf16>) -> tensor<67x65xf32>
  %0 = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (tensor<33x67xf32>, tensor<33x65xf32>) -> tensor<67x65xf32>
  %p = train.pack %0 {mpc.gradients, offsets = array<i64: 0>} : (tensor<67x65xf32>) -> tensor<5x1024xf32>
  train.write @m, %p : tensor<5x1024xf32>
  return
}
train.state @m optimizer : tensor<5x1024xf32>

// -----

// A pinned value is stored as f32: with a cast up it would have been rounded.
// CHECK-LABEL: func.func @pinned_is_not_rounded
func.func @pinned_is_not_rounded(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> {
  // CHECK: train.matmul {{.*}} -> tensor<32x64xbf16>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: train.tanh {{.*}}"cut.pinned-operand"{{.*}} -> tensor<32x64xf32>
  %1 = train.tanh %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: train.round_to {{.*}} : (tensor<32x64xf32>) -> tensor<32x64xbf16>
  %2 = train.round_to %1 {to = f16} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3 : tensor<32x64xf32>
}
