// RUN: mpc-opt %s --mpc-fuse-into-products="device=cuda features=sm_80,sm_90" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-fuse-into-products="device=cuda features=sm_80" --split-input-file | FileCheck %s --check-prefix=PLAIN
// RUN: mpc-opt %s --mpc-fuse-into-products --split-input-file | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: train.matmul_gelu

// A layer with GELU and its gradient; the bias comes from the working copy.
// CHECK-LABEL: func.func @layer
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4x16xbf16>, %[[DH:[^:]*]]: tensor<2x4x8xbf16>
// CHECK:         %[[COPY:.*]] = train.read @copy : tensor<1x256xbf16>
// CHECK-DAG:     %[[B:.*]] = train.unpack %[[COPY]] {offset = 128 : i64} : (tensor<1x256xbf16>) -> tensor<24xbf16>
// CHECK-DAG:     %[[ROWS:.*]] = train.reshape %[[X]] : (tensor<2x4x16xbf16>) -> tensor<8x16xbf16>
// CHECK:         %[[H:.*]], %[[A:.*]] = train.matmul_gelu %[[ROWS]], %{{.*}}, %[[B]] {note = "kept"} : (tensor<8x16xbf16>, tensor<16x24xbf16>, tensor<24xbf16>) -> (tensor<8x24xbf16>, tensor<8x24xbf16>)
// CHECK-NOT:     train.gelu
// CHECK:         %[[H3:.*]] = train.reshape %[[H]] : (tensor<8x24xbf16>) -> tensor<2x4x24xbf16>
// CHECK:         %[[A3:.*]] = train.reshape %[[A]] : (tensor<8x24xbf16>) -> tensor<2x4x24xbf16>
// CHECK:         train.matmul %[[H3]],
// CHECK:         %[[A2:.*]] = train.reshape %[[A3]] : (tensor<2x4x24xbf16>) -> tensor<8x24xbf16>
// CHECK:         %[[DA:.*]] = train.matmul_gelu_grad %{{.*}}, %{{.*}}, %[[A2]] {transpose_rhs} : (tensor<8x8xbf16>, tensor<24x8xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
// CHECK-NOT:     train.gelu
// CHECK:         return
train.state @parameters parameter : tensor<1x256xf32>
train.state @copy working_copy {of = @parameters} : tensor<1x256xbf16>
func.func @layer(%x: tensor<2x4x16xbf16>, %dh: tensor<2x4x8xbf16>, %w: tensor<16x24xbf16>, %v: tensor<24x8xbf16>) -> (tensor<2x4x8xbf16>, tensor<2x4x24xbf16>) {
  %p = train.read @parameters : tensor<1x256xf32>
  %b = train.unpack %p {offset = 128 : i64} : (tensor<1x256xf32>) -> tensor<24xf32>
  %0 = train.matmul %x, %w {note = "kept"} : (tensor<2x4x16xbf16>, tensor<16x24xbf16>) -> tensor<2x4x24xbf16>
  %1 = train.add %b, %0 : (tensor<24xf32>, tensor<2x4x24xbf16>) -> tensor<2x4x24xbf16>
  %2 = train.gelu %1 {approximate} : (tensor<2x4x24xbf16>) -> tensor<2x4x24xbf16>
  %3 = train.matmul %2, %v : (tensor<2x4x24xbf16>, tensor<24x8xbf16>) -> tensor<2x4x8xbf16>
  %4 = train.matmul %dh, %v {transpose_rhs} : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x4x24xbf16>
  %5 = train.gelu_grad %4, %1 {approximate} : (tensor<2x4x24xbf16>, tensor<2x4x24xbf16>) -> tensor<2x4x24xbf16>
  return %3, %5 : tensor<2x4x8xbf16>, tensor<2x4x24xbf16>
}

// -----

// Not: the exact form, without a gradient, a bias that is no parameter or for each
// row, columns that are no multiple of 8, f32, or a product that is read elsewhere.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     train.matmul_gelu
func.func @others(%x: tensor<8x16xbf16>, %w: tensor<16x24xbf16>, %b: tensor<24xbf16>, %wide: tensor<24xf32>, %rows: tensor<8x1xbf16>, %odd: tensor<16x12xbf16>, %c: tensor<12xbf16>, %xf: tensor<8x16xf32>, %wf: tensor<16x24xf32>) -> (tensor<8x24xbf16>, tensor<8x24xbf16>, tensor<8x24xbf16>, tensor<8x24xbf16>, tensor<8x12xbf16>, tensor<8x24xf32>, tensor<8x24xbf16>, tensor<8x24xbf16>) {
  %0 = train.matmul %x, %w : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %1 = train.add %0, %b : (tensor<8x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
  %exact = train.gelu %1 : (tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %exact_grad = train.gelu_grad %exact, %1 : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %2 = train.matmul %x, %w {again} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %3 = train.add %2, %b : (tensor<8x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
  %alone = train.gelu %3 {approximate} : (tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %4 = train.matmul %x, %w {a} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %5 = train.add %4, %wide : (tensor<8x24xbf16>, tensor<24xf32>) -> tensor<8x24xbf16>
  %6 = train.gelu %5 {approximate} : (tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %7 = train.mul %5, %6 : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %8 = train.matmul %x, %w {b} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %9 = train.add %8, %rows : (tensor<8x24xbf16>, tensor<8x1xbf16>) -> tensor<8x24xbf16>
  %10 = train.gelu %9 {approximate} : (tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %11 = train.mul %9, %10 : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %12 = train.matmul %x, %odd : (tensor<8x16xbf16>, tensor<16x12xbf16>) -> tensor<8x12xbf16>
  %13 = train.add %12, %c : (tensor<8x12xbf16>, tensor<12xbf16>) -> tensor<8x12xbf16>
  %14 = train.gelu %13 {approximate} : (tensor<8x12xbf16>) -> tensor<8x12xbf16>
  %15 = train.gelu_grad %14, %13 {approximate} : (tensor<8x12xbf16>, tensor<8x12xbf16>) -> tensor<8x12xbf16>
  %16 = train.matmul %xf, %wf : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %17 = train.add %16, %wide : (tensor<8x24xf32>, tensor<24xf32>) -> tensor<8x24xf32>
  %18 = train.gelu %17 {approximate} : (tensor<8x24xf32>) -> tensor<8x24xf32>
  %19 = train.mul %17, %18 : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x24xf32>
  %20 = train.matmul %x, %w {c} : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %21 = train.gelu_grad %20, %1 {approximate} : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %22 = train.mul %20, %21 : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %23 = train.add %alone, %22 : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  return %exact_grad, %alone, %7, %11, %15, %19, %22, %23 : tensor<8x24xbf16>, tensor<8x24xbf16>, tensor<8x24xbf16>, tensor<8x24xbf16>, tensor<8x12xbf16>, tensor<8x24xf32>, tensor<8x24xbf16>, tensor<8x24xbf16>
}

// -----

// Not where GELU is computed again for the backward pass: the product would give other
// bits.
// CHECK-LABEL: func.func @recomputed
// CHECK-NOT:     train.matmul_gelu %
func.func @recomputed(%x: tensor<8x16xbf16>, %w: tensor<16x24xbf16>, %b: tensor<24xbf16>) -> (tensor<8x24xbf16>, tensor<8x24xbf16>) {
  %0 = train.matmul %x, %w : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
  %1 = train.add %0, %b : (tensor<8x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
  %2 = train.gelu %1 {approximate} : (tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %3 = train.remat_barrier %1 after %2 : tensor<8x24xbf16> after tensor<8x24xbf16>
  %4 = train.gelu %3 {approximate} : (tensor<8x24xbf16>) -> tensor<8x24xbf16>
  %5 = train.gelu_grad %4, %3 {approximate} : (tensor<8x24xbf16>, tensor<8x24xbf16>) -> tensor<8x24xbf16>
  return %2, %5 : tensor<8x24xbf16>, tensor<8x24xbf16>
}
