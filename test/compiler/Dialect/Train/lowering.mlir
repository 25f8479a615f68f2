// RUN: mpc-opt %s --mpc-lower-to-linalg --split-input-file | FileCheck %s

// Arithmetic is in f32, whatever the stored type; maps have constants for extents of
// 1, and missing dimensions are absent.
// CHECK-DAG:   #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG:   #[[$ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @broadcast
// CHECK:         linalg.generic {indexing_maps = [#[[$ID]], #[[$COLUMN]], #[[$ID]]], iterator_types = ["parallel", "parallel"]}
// CHECK:           arith.extf %{{.*}} : bf16 to f32
// CHECK:           arith.mulf %{{.*}} : f32
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
// CHECK:         linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]]
func.func @broadcast(%x: tensor<4x5xbf16>, %y: tensor<4x1xf32>, %z: tensor<5xf32>) -> tensor<4x5xbf16> {
  %0 = train.mul %x, %y : (tensor<4x5xbf16>, tensor<4x1xf32>) -> tensor<4x5xbf16>
  %1 = train.add %0, %z : (tensor<4x5xbf16>, tensor<5xf32>) -> tensor<4x5xbf16>
  return %1 : tensor<4x5xbf16>
}

// -----

// Elements that are only moved are not converted on the way.
// CHECK-DAG:   #[[$FROM:.*]] = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
// CHECK-LABEL: func.func @transpose
// CHECK:         linalg.generic {indexing_maps = [#[[$FROM]], #{{.*}}]
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT:      linalg.yield %[[IN]] : bf16
func.func @transpose(%x: tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16> {
  %0 = train.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xbf16>) -> tensor<4x2x3xbf16>
  return %0 : tensor<4x2x3xbf16>
}

// -----

// Reshapes are views, through one dimension if necessary.
// CHECK-LABEL: func.func @reshape
// CHECK-NOT:     linalg
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<6x4xf32> into tensor<24xf32>
// CHECK:         tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [3, 8] : tensor<24xf32> into tensor<3x8xf32>
func.func @reshape(%x: tensor<2x3x4xf32>) -> tensor<3x8xf32> {
  %0 = train.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = train.reshape %0 : (tensor<6x4xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// The pieces are written into one tensor, one after the other.
// CHECK-DAG:   #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$FIRST:.*]] = affine_map<(d0, d1) -> (d0, d1 mod 7)>
// CHECK-DAG:   #[[$SECOND:.*]] = affine_map<(d0, d1) -> (d0, d1 + 3)>
// CHECK-LABEL: func.func @concat
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<2x7xf32>
// CHECK:         %[[A:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$FIRST]]], {{.*}} ins(%{{.*}} : tensor<2x3xbf16>) outs(%[[EMPTY]] : tensor<2x7xf32>)
// CHECK:         linalg.generic {indexing_maps = [#[[$ID]], #[[$SECOND]]], {{.*}} ins(%{{.*}} : tensor<2x4xf32>) outs(%[[A]] : tensor<2x7xf32>)
func.func @concat(%x: tensor<2x3xbf16>, %y: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %0 = train.concat %x, %y {axis = 1 : i64} : (tensor<2x3xbf16>, tensor<2x4xf32>) -> tensor<2x7xf32>
  return %0 : tensor<2x7xf32>
}

// -----

// CHECK-DAG:   #[[$BOX:.*]] = affine_map<(d0, d1) -> (d0 mod 4, d1 + 2)>
// CHECK-LABEL: func.func @slice
// CHECK:         linalg.generic {indexing_maps = [#[[$BOX]], #{{.*}}]
func.func @slice(%x: tensor<4x5xf32>) -> tensor<2x3xf32> {
  %0 = train.slice %x {offsets = array<i64: 0, 2>} : (tensor<4x5xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// The sum is in f32 and without unit dimensions; a view restores them.
// CHECK-LABEL: func.func @reduce_mean
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[INIT:.*]] = linalg.fill ins(%[[ZERO]] : f32)
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}} : tensor<2x3x4xbf16>) outs(%[[INIT]] : tensor<2x4xf32>)
// CHECK:           arith.addf %{{.*}} : f32
// CHECK:         linalg.generic
// CHECK:           arith.mulf
// CHECK:           arith.truncf
// CHECK:         tensor.expand_shape {{.*}} : tensor<2x4xbf16> into tensor<2x1x4xbf16>
func.func @reduce_mean(%x: tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16> {
  %0 = train.reduce_mean %x {axes = array<i64: 1>, keepdims} : (tensor<2x3x4xbf16>) -> tensor<2x1x4xbf16>
  return %0 : tensor<2x1x4xbf16>
}

// -----

// NaN stays NaN: maximumf, not maxnumf.
// CHECK-LABEL: func.func @relu
// CHECK:         arith.maximumf
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = train.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Rounds and widens again; the stored type of the result is independent.
// CHECK-LABEL: func.func @round_to
// CHECK:         %[[H:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK:         %[[F:.*]] = arith.extf %[[H]] : f16 to f32
// CHECK:         linalg.yield %[[F]]
// CHECK:         %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[H:.*]] = arith.truncf %[[W]] : f32 to f16
// CHECK:         %[[F:.*]] = arith.extf %[[H]] : f16 to f32
// CHECK:         %[[B:.*]] = arith.truncf %[[F]] : f32 to bf16
// CHECK:         linalg.yield %[[B]]
func.func @round_to(%x: tensor<4xf32>, %b: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
  %0 = train.round_to %x {to = f16} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = train.round_to %b {to = f16} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0, %1 : tensor<4xf32>, tensor<4xbf16>
}

// -----

// The key combines the seed with the hash of op 3; ten rounds on 32-bit words follow,
// and one comparison with 0.5 * 2^32.
// CHECK-LABEL: func.func @dropout
// CHECK:         %[[OP:.*]] = arith.constant 2092789425003139053 : i64
// CHECK:         arith.xori %{{.*}}, %[[OP]] : i64
// CHECK-COUNT-4: arith.shrui
// CHECK:         linalg.index 0
// CHECK:         linalg.index 1
// CHECK-COUNT-10: arith.shrui
// CHECK-NOT:     arith.shrui
// CHECK:         %[[HALF:.*]] = arith.constant 2147483648 : i64
// CHECK:         arith.cmpi ult, %{{.*}}, %[[HALF]] : i64
// CHECK:         arith.select
func.func @dropout(%x: tensor<4x3xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x3xf32> {
  %0 = train.dropout_training %x, %seed, %step {index = 3 : i64, ratio = 0.5 : f32} : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// One pass over all parameters; 1 - beta2 is computed from the decimal 0.999.
// CHECK-LABEL: func.func @adam
// CHECK:         linalg.generic
// CHECK-SAME:      outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>)
// CHECK:           arith.constant 1.000000e-03 : f32
// CHECK-NOT:     linalg.generic
func.func @adam(%w: tensor<2x1024xf32>, %s: tensor<f32>) -> (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>) {
  %0:3 = train.adam %w, %w, %w, %w, %s, %s, %s {beta1 = 0.9 : f32, beta2 = 0.999 : f32, decoupled, epsilon = 1.0e-8 : f32, weight_decay = 0.01 : f32} : (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>
}

// -----

// Rows first, then their sums.
// CHECK-LABEL: func.func @global_norm
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK:         math.sqrt
func.func @global_norm(%g: tensor<7x1024xf32>) -> tensor<f32> {
  %0 = train.global_norm %g : (tensor<7x1024xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Each part of a split is a slice; an unused part generates no code.
// CHECK-DAG:   #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$FIRST:.*]] = affine_map<(d0, d1) -> (d0, d1 mod 7)>
// CHECK-DAG:   #[[$THIRD:.*]] = affine_map<(d0, d1) -> (d0, d1 + 4)>
// CHECK-LABEL: func.func @split
// CHECK-COUNT-1: linalg.generic {indexing_maps = [#[[$FIRST]], #[[$ID]]]
// CHECK-COUNT-1: linalg.generic {indexing_maps = [#[[$THIRD]], #[[$ID]]]
// CHECK-NOT:     linalg.generic
func.func @split(%x: tensor<2x7xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0:3 = train.split %x {axis = 1 : i64, sizes = array<i64: 3, 1, 3>} : (tensor<2x7xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32>)
  return %0#0, %0#2 : tensor<2x3xf32>, tensor<2x3xf32>
}
