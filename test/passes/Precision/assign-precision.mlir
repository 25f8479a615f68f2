// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" --split-input-file | FileCheck %s

// A product reads 16 bit. Between two products everything is 16-bit, without a cast;
// results of the function are f32 and stored so by the last product. The bias is
// broadcast and unchanged.
// CHECK: module attributes {mpc.precision = "bf16"}
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    (%[[X:[a-z0-9]+]]: tensor<32x64xf32>
func.func @chain(%x: tensor<32x64xf32>, %w: tensor<64x32xf32>,
                 %v: tensor<32x10xf32>) -> tensor<32x10xf32> {
  %b = train.read @bias : tensor<32xf32>
  // CHECK: %[[LOW:.*]] = amp.cast %[[X]] : tensor<32x64xf32> to tensor<32x64xbf16>
  // CHECK: train.matmul %[[LOW]], {{.*}} -> tensor<32x32xbf16>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  // CHECK-NEXT: train.add {{.*}} : (tensor<32x32xbf16>, tensor<32xf32>) -> tensor<32x32xbf16>
  %1 = train.add %0, %b : (tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32>
  // CHECK-NEXT: train.gelu {{.*}} -> tensor<32x32xbf16>
  %2 = train.gelu %1 : (tensor<32x32xf32>) -> tensor<32x32xf32>
  // CHECK-NEXT: train.matmul {{.*}} : (tensor<32x32xbf16>, tensor<32x10xbf16>) -> tensor<32x10xf32>
  // CHECK-NEXT: return
  %3 = train.matmul %2, %v : (tensor<32x32xf32>, tensor<32x10xf32>) -> tensor<32x10xf32>
  return %3 : tensor<32x10xf32>
}
train.state @bias parameter : tensor<32xf32>

// -----

// The gradient of the loss is f32 and two products read it: one cast.
// CHECK-LABEL: func.func @one_cast_per_tensor
func.func @one_cast_per_tensor(%seed: tensor<f32>, %logits: tensor<32x10xf32>, %labels: tensor<32xi64>,
    %h: tensor<32x16xf32>, %w: tensor<16x10xf32>) -> (tensor<16x10xf32>, tensor<32x16xf32>) {
  // CHECK: %[[D:.*]] = train.softmax_cross_entropy_grad {{.*}} -> tensor<32x10xf32>
  // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[D]]
  // CHECK-NOT: amp.cast
  // CHECK: train.matmul %{{.*}}, %[[LOW]]
  // CHECK-SAME: -> tensor<16x10xf32>
  // CHECK: train.matmul %[[LOW]], %{{.*}}
  %d = train.softmax_cross_entropy_grad %seed, %logits, %labels {reduction = #train<reduction mean>}
      : (tensor<f32>, tensor<32x10xf32>, tensor<32xi64>) -> tensor<32x10xf32>
  %dw = train.matmul %h, %d {transpose_lhs, weight_gradient} : (tensor<32x16xf32>, tensor<32x10xf32>) -> tensor<16x10xf32>
  %dh = train.matmul %d, %w {transpose_rhs} : (tensor<32x10xf32>, tensor<16x10xf32>) -> tensor<32x16xf32>
  return %dw, %dh : tensor<16x10xf32>, tensor<32x16xf32>
}

// -----

// Without a product nothing is rounded.
// CHECK-LABEL: func.func @not_worth_a_cast
func.func @not_worth_a_cast(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  // CHECK-NOT: amp.cast
  // CHECK-NOT: bf16>
  // CHECK: return
  %0 = train.gelu %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = train.add %0, %x : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}

// -----

// The loss reads f32: the product before it stores f32 rather than rounding.
// CHECK-LABEL: func.func @loss_reads_f32
func.func @loss_reads_f32(%h: tensor<32x16xf32>, %w: tensor<16x10xf32>, %labels: tensor<32xi64>) -> tensor<f32> {
  // CHECK: train.matmul {{.*}} -> tensor<32x10xf32>
  // CHECK-NEXT: train.softmax_cross_entropy {{.*}} : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<f32>
  %0 = train.matmul %h, %w : (tensor<32x16xf32>, tensor<16x10xf32>) -> tensor<32x10xf32>
  %1 = train.softmax_cross_entropy %0, %labels {reduction = #train<reduction mean>} : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// A norm between products is 16-bit outside; its statistics and parameters are
// pinned to f32, and so is the gradient of its scale.
// CHECK-LABEL: func.func @internal_with_pins
func.func @internal_with_pins(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %s: tensor<64xf32>, %b: tensor<64xf32>)
    -> (tensor<32x64xf32>, tensor<32xf32>) {
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.layer_norm {{.*}} : (tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<32x64xbf16>, tensor<32xf32>, tensor<32xf32>)
  %1, %mean, %inv = train.layer_norm %0, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f32}
      : (tensor<32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>)
  %2 = train.matmul %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2, %mean : tensor<32x64xf32>, tensor<32xf32>
}

// -----

// A reshape and a pool only move elements and keep the type. The indices of a pool are
// not floats.
// CHECK-LABEL: func.func @transparent
func.func @transparent(%x: tensor<8x64xf32>, %u: tensor<64x256xf32>, %w: tensor<64x10xf32>) -> (tensor<8x10xf32>, tensor<8x16x2x2xi8>) {
  %0 = train.matmul %x, %u : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
  // CHECK: train.reshape {{.*}} : (tensor<8x256xbf16>) -> tensor<8x16x4x4xbf16>
  %1 = train.reshape %0 : (tensor<8x256xf32>) -> tensor<8x16x4x4xf32>
  // CHECK: train.max_pool {{.*}} : (tensor<8x16x4x4xbf16>) -> (tensor<8x16x2x2xbf16>, tensor<8x16x2x2xi8>)
  %2, %i = train.max_pool %1 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<8x16x4x4xf32>) -> (tensor<8x16x2x2xf32>, tensor<8x16x2x2xi8>)
  // CHECK: train.reshape {{.*}} : (tensor<8x16x2x2xbf16>) -> tensor<8x64xbf16>
  %3 = train.reshape %2 : (tensor<8x16x2x2xf32>) -> tensor<8x64xf32>
  %4 = train.matmul %3, %w : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32>
  return %4, %i : tensor<8x10xf32>, tensor<8x16x2x2xi8>
}

// -----

// The cast is where there are the fewest elements: after the pool.
// CHECK-LABEL: func.func @cast_where_small
func.func @cast_where_small(%x: tensor<8x16x4x4xf32>, %w: tensor<64x10xf32>) -> tensor<8x10xf32> {
  // CHECK: train.max_pool {{.*}} : (tensor<8x16x4x4xf32>) -> (tensor<8x16x2x2xf32>, tensor<8x16x2x2xi8>)
  // CHECK: amp.cast {{.*}} : tensor<8x64xf32> to tensor<8x64xbf16>
  %0, %i = train.max_pool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<8x16x4x4xf32>) -> (tensor<8x16x2x2xf32>, tensor<8x16x2x2xi8>)
  %1 = train.reshape %0 : (tensor<8x16x2x2xf32>) -> tensor<8x64xf32>
  %2 = train.matmul %1, %w : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32>
  return %2 : tensor<8x10xf32>
}

// -----

// A rounding to f16 in the model reads f32, although bf16 would be cheaper: rounded to
// bf16, 65504 would overflow f16. Later values may be bf16.
// CHECK-LABEL: func.func @round_to
func.func @round_to(%x: tensor<8x64xf32>, %u: tensor<64x64xf32>, %w: tensor<64x10xf32>) -> tensor<8x10xf32> {
  // CHECK: train.matmul {{.*}} : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xf32>
  %0 = train.matmul %x, %u : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  // CHECK-NEXT: train.round_to {{.*}} : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  %1 = train.round_to %0 {to = f16} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // CHECK-NEXT: train.matmul
  %2 = train.matmul %1, %w : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32>
  return %2 : tensor<8x10xf32>
}

// -----

// A mean of a window rounds, but its catalog kernel has one type for operand and result:
// 16 bit between products, and f32 with the cast after it.
// CHECK-LABEL: func.func @follow
func.func @follow(%x: tensor<8x64xf32>, %u: tensor<64x256xf32>, %w: tensor<64x10xf32>,
                  %y: tensor<8x16x4x4xf32>, %g: tensor<8x16x2x2xf32>) -> (tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x16x4x4xf32>) {
  %0 = train.matmul %x, %u : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
  %1 = train.reshape %0 : (tensor<8x256xf32>) -> tensor<8x16x4x4xf32>
  // CHECK: train.average_pool {{.*}}#amp.decision<"cut.{{.*}} : (tensor<8x16x4x4xbf16>) -> tensor<8x16x2x2xbf16>
  %2 = train.average_pool %1 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<8x16x4x4xf32>) -> tensor<8x16x2x2xf32>
  %3 = train.reshape %2 : (tensor<8x16x2x2xf32>) -> tensor<8x64xf32>
  %4 = train.matmul %3, %w : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32>
  // CHECK: train.average_pool {{.*}} : (tensor<8x16x4x4xf32>) -> tensor<8x16x2x2xf32>
  %5 = train.average_pool %y {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, count_include_pad} : (tensor<8x16x4x4xf32>) -> tensor<8x16x2x2xf32>
  %6 = train.reshape %5 : (tensor<8x16x2x2xf32>) -> tensor<8x64xf32>
  // CHECK: amp.cast {{.*}} : tensor<8x64xf32> to tensor<8x64xbf16>
  %7 = train.matmul %6, %w : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32>
  // CHECK: train.average_pool_grad {{.*}} : (tensor<8x16x2x2xf32>) -> tensor<8x16x4x4xf32>
  %8 = train.average_pool_grad %g {input_shape = array<i64: 8, 16, 4, 4>, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<8x16x2x2xf32>) -> tensor<8x16x4x4xf32>
  return %4, %7, %8 : tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x16x4x4xf32>
}

// -----

// A result is as wide as the widest operand: the f32 operand is large, so
// casting it costs more than reading the result in f32.
// CHECK-LABEL: func.func @promote
func.func @promote(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %y: tensor<4x4096xf32>) -> tensor<4x4104xf32> {
  %0 = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: train.concat {{.*}} : (tensor<4x8x{{.*}}>, tensor<4x4096xf32>) -> tensor<4x4104xf32>
  %1 = train.concat %0, %y {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x4096xf32>) -> tensor<4x4104xf32>
  return %1 : tensor<4x4104xf32>
}

// -----

// Constants that elementwise ops read stay f32; one that a product reads is rounded at
// compile time.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NOT: amp.cast %cst
  // CHECK-DAG: train.constant dense<1.000000e-01> : tensor<4x4xf32>
  // CHECK-DAG: train.constant dense<1.000980e-01> : tensor<4x4xbf16>
  // CHECK-DAG: train.constant dense<1.000000e-01> : tensor<f32>
  %full = train.constant dense<0.1> : tensor<4x4xf32> : tensor<4x4xf32>
  %scalar = train.constant dense<0.1> : tensor<f32> : tensor<f32>
  %0 = train.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: train.mul {{.*}} : (tensor<4x4xbf16>, tensor<4x4xf32>) -> tensor<4x4xbf16>
  %1 = train.mul %0, %full : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: train.mul {{.*}} : (tensor<4x4xbf16>, tensor<f32>) -> tensor<4x4xbf16>
  %2 = train.mul %1, %scalar : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  // CHECK: train.matmul {{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
  %3 = train.matmul %2, %full : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// Weights have a 16-bit copy for free: even a single read in 16 bit is worth it if the
// op allows it, and the optimizer still reads the masters.
train.state @parameters parameter : tensor<1x1024xf32>
// CHECK-LABEL: func.func @weights
func.func @weights(%x: tensor<4x32xf32>, %lr: tensor<f32>) -> tensor<4x32xf32> {
  // CHECK: %[[P:.*]] = train.read @parameters : tensor<1x1024xf32>
  %p = train.read @parameters : tensor<1x1024xf32>
  // CHECK: %[[W:.*]] = train.unpack %[[P]]
  // CHECK-NEXT: amp.cast %[[W]] : tensor<32x32xf32> to tensor<32x32xbf16>
  %w = train.unpack %p {offset = 0 : i64} : (tensor<1x1024xf32>) -> tensor<32x32xf32>
  %0 = train.matmul %x, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  // CHECK: train.sgd %[[P]], %[[P]], %{{.*}} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
  %new = train.sgd %p, %p, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
  train.write @parameters, %new : tensor<1x1024xf32>
  return %0 : tensor<4x32xf32>
}

// -----

// Gradient checks run in f64, where there is nothing to choose.
// CHECK-LABEL: func.func @f64
func.func @f64(%x: tensor<4x4xf64>, %w: tensor<4x4xf64>) -> tensor<4x4xf64> {
  // CHECK-NOT: amp.cast
  // CHECK: train.matmul {{.*}} : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %0 = train.matmul %x, %w : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %0 : tensor<4x4xf64>
}

// -----

// Rounding a scalar saves nothing, and the scaled seed of a gradient may overflow f16:
// the broadcast of a scalar is f32 until it is cast.
// CHECK-LABEL: func.func @scalars_stay
func.func @scalars_stay(%w: tensor<4x8xf32>, %n: tensor<f32>) -> tensor<4x4xf32> {
  // CHECK: train.constant {mpc.loss_seed} dense<1.000000e+00> : tensor<f32>
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  // CHECK: train.mul {{.*}}"pin.number"{{.*}} -> tensor<f32>
  %0 = train.mul %seed, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: %[[D:.*]] = train.broadcast_to {{.*}} : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK-NEXT: amp.cast %[[D]]
  %1 = train.broadcast_to %0 : (tensor<f32>) -> tensor<4x8xf32>
  %2 = train.matmul %1, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// Rows are read in the type of the product that follows; only these rows of the table
// are read, however large it is. The gradient is stored in f32.
// CHECK-LABEL: func.func @embedding
func.func @embedding(%t: tensor<1000x16xf32>, %i: tensor<32xi64>, %w: tensor<16x10xf32>, %d: tensor<32x10xf32>)
    -> (tensor<32x10xf32>, tensor<1000x16xf32>, tensor<32x10xf32>, tensor<32x16xf32>) {
  // CHECK: train.embedding {{.*}} -> tensor<32x16xf32>
  // CHECK-NEXT: amp.cast {{.*}} : tensor<32x16xf32> to tensor<32x16xbf16>
  %e = train.embedding %t, %i : (tensor<1000x16xf32>, tensor<32xi64>) -> tensor<32x16xf32>
  %y = train.matmul %e, %w : (tensor<32x16xf32>, tensor<16x10xf32>) -> tensor<32x10xf32>
  %de = train.matmul %d, %w {transpose_rhs} : (tensor<32x10xf32>, tensor<16x10xf32>) -> tensor<32x16xf32>
  // CHECK: train.embedding_grad {{.*}} : (tensor<32x16xbf16>, tensor<32xi64>) -> tensor<1000x16xf32>
  %dt = train.embedding_grad %de, %i {rows = 1000 : i64} : (tensor<32x16xf32>, tensor<32xi64>) -> tensor<1000x16xf32>
  return %y, %dt, %y, %e : tensor<32x10xf32>, tensor<1000x16xf32>, tensor<32x10xf32>, tensor<32x16xf32>
}

// -----

// The 16-bit copy of a weight is read.
// CHECK-LABEL: func.func @embedding_of_weight
func.func @embedding_of_weight(%i: tensor<32xi64>, %v: tensor<16x10xf32>) -> tensor<32x10xf32> {
  // CHECK: %[[T:.*]] = train.read @table
  // CHECK: %[[LOW:.*]] = amp.cast %[[T]]
  // CHECK: %[[E:.*]] = train.embedding %[[LOW]], %{{.*}} : (tensor<1000x16xbf16>, tensor<32xi64>) -> tensor<32x16xbf16>
  // CHECK: train.matmul %[[E]]
  %t = train.read @table : tensor<1000x16xf32>
  %e = train.embedding %t, %i : (tensor<1000x16xf32>, tensor<32xi64>) -> tensor<32x16xf32>
  %y = train.matmul %e, %v : (tensor<32x16xf32>, tensor<16x10xf32>) -> tensor<32x10xf32>
  return %y : tensor<32x10xf32>
}
train.state @table parameter : tensor<1000x16xf32>
