// RUN: mpc-opt %s --mpc-fuse-into-products="device=cuda features=sm_80" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-fuse-into-products="device=cuda features=sm_75" --split-input-file | FileCheck %s --check-prefix=PLAIN
// RUN: mpc-opt %s --mpc-fuse-into-products --split-input-file | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: train.matmul_bias

// The projection of attention: views lie between the product, the sum and the
// kernels that read it. The bias comes from the working copy.
// CHECK-LABEL: func.func @projection
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4x16xbf16>
// CHECK:         %[[COPY:.*]] = train.read @copy : tensor<1x256xbf16>
// CHECK-DAG:     %[[B:.*]] = train.unpack %[[COPY]] {offset = 128 : i64} : (tensor<1x256xbf16>) -> tensor<24xbf16>
// CHECK-DAG:     %[[ROWS:.*]] = train.reshape %[[X]] : (tensor<2x4x16xbf16>) -> tensor<8x16xbf16>
// CHECK:         %[[SUM:.*]] = train.matmul_bias %[[ROWS]], %{{.*}}, %[[B]] {note = "kept"} : (tensor<8x16xbf16>, tensor<16x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
// CHECK-NOT:     train.add
// CHECK:         %[[SUM3:.*]] = train.reshape %[[SUM]] : (tensor<8x24xbf16>) -> tensor<2x4x24xbf16>
// CHECK:         %[[HEADS:.*]] = train.reshape %[[SUM3]] : (tensor<2x4x24xbf16>) -> tensor<2x4x3x8xbf16>
// CHECK:         train.packed_attention %[[HEADS]]
// CHECK:         train.packed_attention_grad %{{[^,]*}}, %[[HEADS]],
train.state @parameters parameter : tensor<1x256xf32>
train.state @copy working_copy {of = @parameters} : tensor<1x256xbf16>
func.func @projection(%x: tensor<2x4x16xbf16>, %w: tensor<16x24xbf16>, %dy: tensor<2x4x1x8xbf16>) -> (tensor<2x4x1x8xbf16>, tensor<2x4x3x8xbf16>) {
  %p = train.read @parameters : tensor<1x256xf32>
  %b = train.unpack %p {offset = 128 : i64} : (tensor<1x256xf32>) -> tensor<24xf32>
  %0 = train.matmul %x, %w {note = "kept"} : (tensor<2x4x16xbf16>, tensor<16x24xbf16>) -> tensor<2x4x24xbf16>
  %1 = train.add %b, %0 : (tensor<24xf32>, tensor<2x4x24xbf16>) -> tensor<2x4x24xbf16>
  %2 = train.reshape %1 : (tensor<2x4x24xbf16>) -> tensor<2x4x3x8xbf16>
  %y, %sums = train.packed_attention %2 {causal, key_heads = 1 : i64, scale = 1.0 : f32} : (tensor<2x4x3x8xbf16>) -> (tensor<2x4x1x8xbf16>, tensor<2x2x1x4xf32>)
  %d = train.packed_attention_grad %dy, %2, %y, %sums {causal, key_heads = 1 : i64, scale = 1.0 : f32} : (tensor<2x4x1x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x1x8xbf16>, tensor<2x2x1x4xf32>) -> tensor<2x4x3x8xbf16>
  return %y, %d : tensor<2x4x1x8xbf16>, tensor<2x4x3x8xbf16>
}

// -----

// Not if something else reads the sum, or the product; nor a tensor in place of a
// bias, columns that are no multiple of 8, or a wide bias without a copy.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     train.matmul_bias
func.func @others(%x: tensor<8x16xbf16>, %w: tensor<16x24xbf16>, %v: tensor<24x8xbf16>, %b: tensor<24xbf16>, %wide: tensor<24xf32>, %full: tensor<8x24xbf16>, %odd: tensor<16x12xbf16>, %c: tensor<12xbf16>, %u: tensor<12x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x24xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>) {
  %0 = train.matmul %x, %w : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %1 = train.add %0, %b : (tensor<8x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
  %2 = train.matmul %1, %v : (tensor<8x24xbf16>, tensor<24x8xbf16>) -> tensor<8x8xbf16>
  %3 = train.relu %1 : (tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %4 = train.matmul %x, %w {again} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %5 = train.add %4, %b : (tensor<8x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
  %6 = train.matmul %5, %v {again} : (tensor<8x24xbf16>, tensor<24x8xbf16>) -> tensor<8x8xbf16>
  %7 = train.matmul %4, %v : (tensor<8x24xbf16>, tensor<24x8xbf16>) -> tensor<8x8xbf16>
  %8 = train.add %6, %7 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %9 = train.matmul %x, %w {a} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %10 = train.add %9, %full : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %11 = train.matmul %10, %v : (tensor<8x24xbf16>, tensor<24x8xbf16>) -> tensor<8x8xbf16>
  %12 = train.matmul %x, %odd : (tensor<8x16xbf16>, tensor<16x12xbf16>) -> tensor<8x12xbf16>
  %13 = train.add %12, %c : (tensor<8x12xbf16>, tensor<12xbf16>) -> tensor<8x12xbf16>
  %14 = train.matmul %13, %u : (tensor<8x12xbf16>, tensor<12x8xbf16>) -> tensor<8x8xbf16>
  %15 = train.matmul %x, %w {b} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %16 = train.add %15, %wide : (tensor<8x24xbf16>, tensor<24xf32>) -> tensor<8x24xbf16>
  %17 = train.matmul %16, %v : (tensor<8x24xbf16>, tensor<24x8xbf16>) -> tensor<8x8xbf16>
  return %2, %3, %8, %11, %14, %17 : tensor<8x8xbf16>, tensor<8x24xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>
}

// -----

// Not where the sum is computed again for the backward pass: other ops read the copy,
// and its bias is behind a barrier, so that only one of the two could be fused.
// CHECK-LABEL: func.func @recomputed
// CHECK-NOT:     train.matmul_bias
func.func @recomputed(%x: tensor<8x16xbf16>, %w: tensor<16x24xbf16>, %v: tensor<24x8xbf16>, %b: tensor<24xbf16>) -> (tensor<8x8xbf16>, tensor<24x8xf32>) {
  %0 = train.matmul %x, %w : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %1 = train.add %0, %b : (tensor<8x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
  %2 = train.matmul %1, %v : (tensor<8x24xbf16>, tensor<24x8xbf16>) -> tensor<8x8xbf16>
  %3 = train.remat_barrier %x after %2 : tensor<8x16xbf16> after tensor<8x8xbf16>
  %4 = train.remat_barrier %w after %2 : tensor<16x24xbf16> after tensor<8x8xbf16>
  %5 = train.matmul %3, %4 {mpc.recomputed} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %6 = train.add %5, %b {mpc.recomputed} : (tensor<8x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
  %7 = train.matmul %6, %2 {transpose_lhs, weight_gradient} : (tensor<8x24xbf16>, tensor<8x8xbf16>) -> tensor<24x8xf32>
  return %2, %7 : tensor<8x8xbf16>, tensor<24x8xf32>
}
