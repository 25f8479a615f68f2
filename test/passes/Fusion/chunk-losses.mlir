// RUN: mpc-opt %s --mpc-chunk-losses="min-rows=2 min-bytes=1" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-chunk-losses="min-rows=2 min-bytes=4096" --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: mpc-opt %s --mpc-chunk-losses="min-rows=5 min-bytes=1" --split-input-file | FileCheck %s --check-prefix=SMALL

// The divisor of the mean is computed first, then all for two rows, and so on.
// SMALL-LABEL: func.func @mean
// SMALL-NOT: train.remat_barrier
// CHECK-LABEL: func.func @mean
// CHECK: %[[K:.*]] = train.reshape %{{.*}} : (tensor<2x4xi64>) -> tensor<8xi64>
// CHECK: %[[NARROW:.*]] = amp.cast %{{.*}} : tensor<8x2xf32> to tensor<8x2xbf16>
// CHECK: %[[COUNTED:.*]] = train.is_counted %[[K]] {ignore_index = -100 : i64}
// CHECK: %[[COUNT:.*]] = train.reduce_sum %[[COUNTED]]
// CHECK: %[[GRAD:.*]] = train.div %{{.*}}, %[[COUNT]]
// CHECK: %[[GRADS:.*]] = train.broadcast_to %[[GRAD]] : (tensor<f32>) -> tensor<8xf32>
// CHECK: %[[X:.*]] = train.reshape %{{.*}} : (tensor<2x4x2xf32>) -> tensor<8x2xf32>
// CHECK: %[[X0:.*]] = train.slice %[[X]] {offsets = array<i64: 0, 0>} : (tensor<8x2xf32>) -> tensor<2x2xf32>
// CHECK: %[[Y0:.*]] = train.matmul %[[X0]], %{{.*}} {transpose_rhs} : (tensor<2x2xf32>, tensor<99x2xf32>) -> tensor<2x99xf32>
// CHECK: %[[Z0:.*]] = train.add %[[Y0]], %{{.*}} : (tensor<2x99xf32>, tensor<99xf32>) -> tensor<2x99xf32>
// CHECK: %[[L0:.*]] = train.softmax_cross_entropy %[[Z0]], %{{.*}} {ignore_index = -100 : i64, label_smoothing = 1.250000e-01 : f64, reduction = #train<reduction none>} : (tensor<2x99xf32>, tensor<2xi64>) -> tensor<2xf32>
// CHECK: %[[G0:.*]] = train.slice %[[GRADS]] {offsets = array<i64: 0>} : (tensor<8xf32>) -> tensor<2xf32>
// CHECK: %[[D0:.*]] = train.softmax_cross_entropy_grad %[[G0]], %[[Z0]], %{{.*}} {ignore_index = -100 : i64, label_smoothing = 1.250000e-01 : f64, reduction = #train<reduction none>}
// CHECK: %[[C0:.*]] = amp.cast %[[D0]]
// CHECK: %[[B0:.*]] = train.reduce_sum %[[D0]] {axes = array<i64: 0>} : (tensor<2x99xf32>) -> tensor<99xf32>
// CHECK: %[[DX0:.*]] = train.matmul %[[D0]], %{{.*}} : (tensor<2x99xf32>, tensor<99x2xf32>) -> tensor<2x2xf32>
// CHECK: %[[N0:.*]] = train.slice %[[NARROW]] {offsets = array<i64: 0, 0>}
// CHECK: %[[W0:.*]] = train.matmul %[[C0]], %[[N0]] {transpose_lhs, weight_gradient} : (tensor<2x99xbf16>, tensor<2x2xbf16>) -> tensor<99x2xf32>
// CHECK: %[[A:.*]] = train.remat_barrier %[[X]] after %[[L0]]
// CHECK: %[[B:.*]] = train.remat_barrier %[[A]] after %[[B0]]
// CHECK: %[[C:.*]] = train.remat_barrier %[[B]] after %[[DX0]]
// CHECK: %[[D:.*]] = train.remat_barrier %[[C]] after %[[W0]]
// CHECK: train.slice %[[D]] {offsets = array<i64: 2, 0>}
// CHECK: train.add %[[B0]], %{{.*}} : (tensor<99xf32>, tensor<99xf32>)
// CHECK: train.add %[[W0]], %{{.*}} : (tensor<99x2xf32>, tensor<99x2xf32>)
// CHECK: train.slice %{{.*}} {offsets = array<i64: 4, 0>}
// CHECK: train.slice %{{.*}} {offsets = array<i64: 6, 0>}
// CHECK: %[[B3:.*]] = train.add %{{.*}}, %{{.*}} : (tensor<99xf32>, tensor<99xf32>)
// CHECK: %[[W3:.*]] = train.add %{{.*}}, %{{.*}} : (tensor<99x2xf32>, tensor<99x2xf32>)
// CHECK: %[[LS:.*]] = train.concat %[[L0]], %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64}
// CHECK: %[[L:.*]] = train.reduce_sum %[[LS]]
// CHECK: %[[MEAN:.*]] = train.div %[[L]], %{{.*}}
// CHECK: %[[DXS:.*]] = train.concat %[[DX0]], %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64}
// CHECK: %[[DX:.*]] = train.reshape %[[DXS]] : (tensor<8x2xf32>) -> tensor<2x4x2xf32>
// CHECK: return %[[MEAN]], %[[DX]], %[[W3]], %[[B3]]
func.func @mean(%x: tensor<2x4x2xf32>, %w: tensor<99x2xf32>, %b: tensor<99xf32>, %labels: tensor<2x4xi64>, %g: tensor<f32>) -> (tensor<f32>, tensor<2x4x2xf32>, tensor<99x2xf32>, tensor<99xf32>) {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<2x4x2xf32>, tensor<99x2xf32>) -> tensor<2x4x99xf32>
  %z = train.add %y, %b : (tensor<2x4x99xf32>, tensor<99xf32>) -> tensor<2x4x99xf32>
  %r = train.reshape %z : (tensor<2x4x99xf32>) -> tensor<8x99xf32>
  %k = train.reshape %labels : (tensor<2x4xi64>) -> tensor<8xi64>
  %l = train.softmax_cross_entropy %r, %k {ignore_index = -100 : i64, label_smoothing = 0.125 : f64, reduction = #train<reduction mean>} : (tensor<8x99xf32>, tensor<8xi64>) -> tensor<f32>
  %d = train.softmax_cross_entropy_grad %g, %r, %k {ignore_index = -100 : i64, label_smoothing = 0.125 : f64, reduction = #train<reduction mean>} : (tensor<f32>, tensor<8x99xf32>, tensor<8xi64>) -> tensor<8x99xf32>
  %c = amp.cast %d : tensor<8x99xf32> to tensor<8x99xbf16>
  %db = train.reduce_sum %d {axes = array<i64: 0>} : (tensor<8x99xf32>) -> tensor<99xf32>
  %e = train.reshape %d : (tensor<8x99xf32>) -> tensor<2x4x99xf32>
  %dx = train.matmul %e, %w : (tensor<2x4x99xf32>, tensor<99x2xf32>) -> tensor<2x4x2xf32>
  %xr = train.reshape %x : (tensor<2x4x2xf32>) -> tensor<8x2xf32>
  %xc = amp.cast %xr : tensor<8x2xf32> to tensor<8x2xbf16>
  %dw = train.matmul %c, %xc {transpose_lhs, weight_gradient} : (tensor<8x99xbf16>, tensor<8x2xbf16>) -> tensor<99x2xf32>
  return %l, %dx, %dw, %db : tensor<f32>, tensor<2x4x2xf32>, tensor<99x2xf32>, tensor<99xf32>
}

// -----

// Evaluation: a loss for each row, and whether it is right. Sums need no
// divisor; the weight is not transposed.
// CHECK-LABEL: func.func @evaluate
// CHECK-COUNT-4: train.is_correct %{{.*}}, %{{.*}} : (tensor<2x99xf32>, tensor<2xi64>) -> tensor<2xf32>
// CHECK: %[[L:.*]] = train.concat
// CHECK: %[[R:.*]] = train.concat
// CHECK: return %[[L]], %[[R]]
func.func @evaluate(%x: tensor<8x4xf32>, %w: tensor<4x99xf32>, %k: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x99xf32>) -> tensor<8x99xf32>
  %l = train.softmax_cross_entropy %y, %k {reduction = #train<reduction none>} : (tensor<8x99xf32>, tensor<8xi64>) -> tensor<8xf32>
  %r = train.is_correct %y, %k : (tensor<8x99xf32>, tensor<8xi64>) -> tensor<8xf32>
  return %l, %r : tensor<8xf32>, tensor<8xf32>
}

// -----

// A sum, and the gradient of a weight that is not transposed. The gradient at
// the loss is computed after the logits: it moves in front of them.
// CHECK-LABEL: func.func @sum
// CHECK: %[[G:.*]] = train.mul
// CHECK: train.broadcast_to %[[G]]
// CHECK: train.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<2x1xf32>, tensor<2x99xf32>) -> tensor<1x99xf32>
// CHECK: %[[L:.*]] = train.reduce_sum %{{.*}} {axes = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
// CHECK: return %[[L]]
func.func @sum(%x: tensor<8x1xf32>, %w: tensor<1x99xf32>, %k: tensor<8xi64>, %g: tensor<f32>) -> (tensor<f32>, tensor<1x99xf32>) {
  %y = train.matmul %x, %w : (tensor<8x1xf32>, tensor<1x99xf32>) -> tensor<8x99xf32>
  %l = train.softmax_cross_entropy %y, %k {reduction = #train<reduction sum>} : (tensor<8x99xf32>, tensor<8xi64>) -> tensor<f32>
  %h = train.mul %g, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d = train.softmax_cross_entropy_grad %h, %y, %k {reduction = #train<reduction sum>} : (tensor<f32>, tensor<8x99xf32>, tensor<8xi64>) -> tensor<8x99xf32>
  %dw = train.matmul %x, %d {transpose_lhs} : (tensor<8x1xf32>, tensor<8x99xf32>) -> tensor<1x99xf32>
  return %l, %dw : tensor<f32>, tensor<1x99xf32>
}

// -----

// Logits that something else reads, and a gradient that depends on the loss.
// CHECK-LABEL: func.func @others
// CHECK-NOT: train.remat_barrier
func.func @others(%x: tensor<8x1xf32>, %w: tensor<1x99xf32>, %k: tensor<8xi64>) -> (tensor<f32>, tensor<8x99xf32>, tensor<8xf32>, tensor<8x1xf32>) {
  %y = train.matmul %x, %w : (tensor<8x1xf32>, tensor<1x99xf32>) -> tensor<8x99xf32>
  %l = train.softmax_cross_entropy %y, %k {reduction = #train<reduction sum>} : (tensor<8x99xf32>, tensor<8xi64>) -> tensor<f32>
  %p = train.softmax %y {axis = 1 : i64} : (tensor<8x99xf32>) -> tensor<8x99xf32>
  %z = train.matmul %x, %w : (tensor<8x1xf32>, tensor<1x99xf32>) -> tensor<8x99xf32>
  %m = train.softmax_cross_entropy %z, %k {reduction = #train<reduction none>} : (tensor<8x99xf32>, tensor<8xi64>) -> tensor<8xf32>
  %d = train.softmax_cross_entropy_grad %m, %z, %k {reduction = #train<reduction none>} : (tensor<8xf32>, tensor<8x99xf32>, tensor<8xi64>) -> tensor<8x99xf32>
  %dx = train.matmul %d, %w {transpose_rhs} : (tensor<8x99xf32>, tensor<1x99xf32>) -> tensor<8x1xf32>
  return %l, %p, %m, %dx : tensor<f32>, tensor<8x99xf32>, tensor<8xf32>, tensor<8x1xf32>
}
