// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>, %b: tensor<6xf32>) {
  // CHECK: %[[Y:.*]] = train.conv %{{.*}}, %{{.*}}, %{{.*}} {dilations = array<i64: 1, 2>, group = 2 : i64, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>, tensor<6xf32>) -> tensor<2x6x5x7xf32>
  %y = train.conv %x, %w, %b {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 1>, group = 2 : i64} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>, tensor<6xf32>) -> tensor<2x6x5x7xf32>
  // CHECK: train.conv_grad_input %[[Y]], %{{.*}} {dilations = array<i64: 1, 2>, group = 2 : i64, input_shape = array<i64: 2, 4, 9, 8>, {{.*}}} : (tensor<2x6x5x7xf32>, tensor<6x2x3x2xf32>) -> tensor<2x4x9x8xf32>
  %dx = train.conv_grad_input %y, %w {input_shape = array<i64: 2, 4, 9, 8>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 1>, group = 2 : i64} : (tensor<2x6x5x7xf32>, tensor<6x2x3x2xf32>) -> tensor<2x4x9x8xf32>
  // CHECK: train.conv_grad_weight %[[Y]], %{{.*}} {dilations = array<i64: 1, 2>, group = 2 : i64, kernel_shape = array<i64: 3, 2>, {{.*}}} : (tensor<2x6x5x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x2x3x2xf32>
  %dw = train.conv_grad_weight %y, %x {kernel_shape = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 1>, group = 2 : i64} : (tensor<2x6x5x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x2x3x2xf32>
  return
}

// Channels last changes images, never weights. 16-bit operands give an f32
// weight gradient.
// CHECK-LABEL: func.func @channels_last
func.func @channels_last(%x: tensor<2x8x8x4xbf16>, %w: tensor<6x4x3x3xbf16>) {
  // CHECK: %[[Y:.*]] = train.conv %{{.*}}, %{{.*}} {channels_last, {{.*}}} : (tensor<2x8x8x4xbf16>, tensor<6x4x3x3xbf16>) -> tensor<2x6x6x6xbf16>
  %y = train.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x8x8x4xbf16>, tensor<6x4x3x3xbf16>) -> tensor<2x6x6x6xbf16>
  // CHECK: train.conv_grad_weight %[[Y]], {{.*}} : (tensor<2x6x6x6xbf16>, tensor<2x8x8x4xbf16>) -> tensor<6x4x3x3xf32>
  %dw = train.conv_grad_weight %y, %x {channels_last, kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x6x6x6xbf16>, tensor<2x8x8x4xbf16>) -> tensor<6x4x3x3xf32>
  // CHECK: train.max_pool {{.*}} {channels_last, {{.*}}} : (tensor<2x8x8x4xbf16>) -> (tensor<2x4x4x4xbf16>, tensor<2x4x4x4xi8>)
  %p:2 = train.max_pool %x {channels_last, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x8x8x4xbf16>) -> (tensor<2x4x4x4xbf16>, tensor<2x4x4x4xi8>)
  // CHECK: train.global_average_pool {{.*}} {channels_last} : (tensor<2x8x8x4xbf16>) -> tensor<2x1x1x4xbf16>
  %g = train.global_average_pool %x {channels_last} : (tensor<2x8x8x4xbf16>) -> tensor<2x1x1x4xbf16>
  return
}

// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<2x4x9xf32>) {
  // CHECK: %[[MAX:.*]], %[[AT:.*]] = train.max_pool {{.*}} {dilations = array<i64: 1>, kernel_shape = array<i64: 3>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>, strides = array<i64: 2>} : (tensor<2x4x9xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xi8>)
  %m:2 = train.max_pool %x {kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>} : (tensor<2x4x9xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xi8>)
  // CHECK: train.max_pool_grad %[[MAX]], %[[AT]] {{.*}} : (tensor<2x4x5xf32>, tensor<2x4x5xi8>) -> tensor<2x4x9xf32>
  %dm = train.max_pool_grad %m#0, %m#1 {input_shape = array<i64: 2, 4, 9>, kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>} : (tensor<2x4x5xf32>, tensor<2x4x5xi8>) -> tensor<2x4x9xf32>
  // CHECK: %[[MEAN:.*]] = train.average_pool {{.*}} {count_include_pad, {{.*}}} : (tensor<2x4x9xf32>) -> tensor<2x4x5xf32>
  %a = train.average_pool %x {count_include_pad, kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>} : (tensor<2x4x9xf32>) -> tensor<2x4x5xf32>
  // CHECK: train.average_pool_grad %[[MEAN]] {count_include_pad, {{.*}}} : (tensor<2x4x5xf32>) -> tensor<2x4x9xf32>
  %da = train.average_pool_grad %a {count_include_pad, input_shape = array<i64: 2, 4, 9>, kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>} : (tensor<2x4x5xf32>) -> tensor<2x4x9xf32>
  // CHECK: train.global_average_pool %{{.*}} : (tensor<2x4x9xf32>) -> tensor<2x4x1xf32>
  %g = train.global_average_pool %x : (tensor<2x4x9xf32>) -> tensor<2x4x1xf32>
  return
}

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<4x6xbf16>, %s: tensor<6xf32>) {
  // CHECK: %[[Y:.*]], %[[INV:.*]] = train.rms_norm %{{.*}}, %{{.*}} {axis = 1 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<4x6xbf16>, tensor<6xf32>) -> (tensor<4x6xbf16>, tensor<4xf32>)
  %y, %inv = train.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xbf16>, tensor<6xf32>) -> (tensor<4x6xbf16>, tensor<4xf32>)
  // CHECK: train.rms_norm_grad %[[Y]], %{{.*}}, %{{.*}}, %[[INV]] {axis = 1 : i64} : ({{.*}}) -> (tensor<4x6xbf16>, tensor<6xf32>)
  %d:2 = train.rms_norm_grad %y, %x, %s, %inv {axis = 1 : i64} : (tensor<4x6xbf16>, tensor<4x6xbf16>, tensor<6xf32>, tensor<4xf32>) -> (tensor<4x6xbf16>, tensor<6xf32>)
  return
}

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<4x6xbf16>, %s: tensor<6xf32>) {
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[INV:.*]] = train.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<4x6xbf16>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xbf16>, tensor<4xf32>, tensor<4xf32>)
  %y, %mean, %inv = train.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xbf16>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xbf16>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: train.layer_norm_grad %[[Y]], %{{.*}}, %{{.*}}, %[[MEAN]], %[[INV]] {axis = 1 : i64} : ({{.*}}) -> (tensor<4x6xbf16>, tensor<6xf32>, tensor<6xf32>)
  %d:3 = train.layer_norm_grad %y, %x, %s, %mean, %inv {axis = 1 : i64} : (tensor<4x6xbf16>, tensor<4x6xbf16>, tensor<6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x6xbf16>, tensor<6xf32>, tensor<6xf32>)
  // No bias, and a mean of everything.
  // CHECK: train.layer_norm %{{.*}}, %{{.*}} {axis = 0 : i64, {{.*}}} : (tensor<4x6xbf16>, tensor<4x6xf32>) -> (tensor<4x6xbf16>, tensor<f32>, tensor<f32>)
  %all = train.constant dense<1.0> : tensor<4x6xf32> : tensor<4x6xf32>
  %z:3 = train.layer_norm %x, %all {axis = 0 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xbf16>, tensor<4x6xf32>) -> (tensor<4x6xbf16>, tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<4x6x2xf32>, %s: tensor<6xf32>) {
  // CHECK: train.batch_norm {{.*}} {axis = 1 : i64, epsilon = 9.99999974E-6 : f32, momentum = 0.899999976 : f32} : ({{.*}}) -> tensor<4x6x2xf32>
  %i = train.batch_norm %x, %s, %s, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32, momentum = 0.9 : f32} : (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6x2xf32>
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]], %[[INV:.*]] = train.batch_norm_training {{.*}} {axis = 1 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  %y:4 = train.batch_norm_training %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  // CHECK: train.batch_norm_grad %[[Y]], %{{.*}}, %{{.*}}, %[[MEAN]], %[[INV]] {axis = 1 : i64} : ({{.*}}) -> (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>)
  %d:3 = train.batch_norm_grad %y#0, %x, %s, %y#1, %y#3 {axis = 1 : i64} : (tensor<4x6x2xf32>, tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>)
  // CHECK: train.batch_norm_training {{.*}} {axis = 1 : i64, epsilon = 9.99999974E-6 : f32, synchronized}
  %z:4 = train.batch_norm_training %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f32, synchronized} : (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6x2xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  // CHECK: train.mean_over_ranks %{{.*}} : (tensor<6xf32>) -> tensor<6xf32>
  %m = train.mean_over_ranks %s : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<4x6xf32>) {
  // CHECK: %[[S:.*]] = train.softmax %{{.*}} {axis = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = train.softmax %x {axis = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: train.softmax_grad %{{.*}}, %[[S]] {axis = 1 : i64}
  %ds = train.softmax_grad %x, %s {axis = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: %[[L:.*]] = train.log_softmax %{{.*}} {axis = 0 : i64}
  %l = train.log_softmax %x {axis = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: train.log_softmax_grad %{{.*}}, %[[L]] {axis = 0 : i64}
  %dl = train.log_softmax_grad %x, %l {axis = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @class_losses
func.func @class_losses(%x: tensor<4x6x2xf32>, %l: tensor<4x2xi32>, %w: tensor<6xf32>) {
  // CHECK: %[[LOSS:.*]] = train.softmax_cross_entropy %{{.*}}, %{{.*}}, %{{.*}} {ignore_index = -100 : i64, reduction = #train<reduction mean>} : (tensor<4x6x2xf32>, tensor<4x2xi32>, tensor<6xf32>) -> tensor<f32>
  %c = train.softmax_cross_entropy %x, %l, %w {ignore_index = -100 : i64, reduction = #train<reduction mean>} : (tensor<4x6x2xf32>, tensor<4x2xi32>, tensor<6xf32>) -> tensor<f32>
  // CHECK: train.softmax_cross_entropy_grad %[[LOSS]], {{.*}} : (tensor<f32>, tensor<4x6x2xf32>, tensor<4x2xi32>, tensor<6xf32>) -> tensor<4x6x2xf32>
  %dc = train.softmax_cross_entropy_grad %c, %x, %l, %w {ignore_index = -100 : i64, reduction = #train<reduction mean>} : (tensor<f32>, tensor<4x6x2xf32>, tensor<4x2xi32>, tensor<6xf32>) -> tensor<4x6x2xf32>
  // CHECK: %[[EACH:.*]] = train.nll_loss %{{.*}}, %{{.*}} {reduction = #train<reduction none>} : (tensor<4x6x2xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  %n = train.nll_loss %x, %l {reduction = #train<reduction none>} : (tensor<4x6x2xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  // CHECK: train.nll_loss_grad %[[EACH]], {{.*}} : (tensor<4x2xf32>, tensor<4x6x2xf32>, tensor<4x2xi32>) -> tensor<4x6x2xf32>
  %dn = train.nll_loss_grad %n, %x, %l {reduction = #train<reduction none>} : (tensor<4x2xf32>, tensor<4x6x2xf32>, tensor<4x2xi32>) -> tensor<4x6x2xf32>
  // CHECK: train.is_correct %{{.*}}, %{{.*}} : (tensor<4x6x2xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  %ok = train.is_correct %x, %l : (tensor<4x6x2xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  // CHECK: train.is_counted %{{.*}}, %{{.*}} {ignore_index = -100 : i64} : (tensor<4x2xi32>, tensor<6xf32>) -> tensor<4x2xf32>
  %counted = train.is_counted %l, %w {ignore_index = -100 : i64} : (tensor<4x2xi32>, tensor<6xf32>) -> tensor<4x2xf32>
  return
}

// CHECK-LABEL: func.func @element_losses
func.func @element_losses(%p: tensor<4x6xf32>, %t: tensor<4x6xf32>) {
  // CHECK: %[[LOSS:.*]] = train.element_loss %{{.*}}, %{{.*}} {kind = #train<element_loss bce_with_logits>, reduction = #train<reduction sum>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<f32>
  %e = train.element_loss %p, %t {kind = #train<element_loss bce_with_logits>, reduction = #train<reduction sum>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<f32>
  // CHECK: train.element_loss_grad %[[LOSS]], {{.*}} {kind = #train<element_loss bce_with_logits>, reduction = #train<reduction sum>} : (tensor<f32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %de = train.element_loss_grad %e, %p, %t {kind = #train<element_loss bce_with_logits>, reduction = #train<reduction sum>} : (tensor<f32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @embedding
func.func @embedding(%t: tensor<7x2x3xf32>, %i: tensor<4x5xi64>, %n: tensor<4x5xi32>) {
  // CHECK: %[[Y:.*]] = train.embedding %{{.*}}, %{{.*}} : (tensor<7x2x3xf32>, tensor<4x5xi64>) -> tensor<4x5x2x3xf32>
  %y = train.embedding %t, %i : (tensor<7x2x3xf32>, tensor<4x5xi64>) -> tensor<4x5x2x3xf32>
  // CHECK: train.embedding_grad %[[Y]], %{{.*}} {rows = 7 : i64} : (tensor<4x5x2x3xf32>, tensor<4x5xi32>) -> tensor<7x2x3xf32>
  %dt = train.embedding_grad %y, %n {rows = 7 : i64} : (tensor<4x5x2x3xf32>, tensor<4x5xi32>) -> tensor<7x2x3xf32>
  return
}

// CHECK-LABEL: func.func @product_added
func.func @product_added(%x: tensor<2x3x32xbf16>, %w: tensor<16x32xbf16>, %a: tensor<2x3x16xf32>) {
  // CHECK: train.matmul_add %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<2x3x32xbf16>, tensor<16x32xbf16>, tensor<2x3x16xf32>) -> tensor<2x3x16xf32>
  %y = train.matmul_add %x, %w, %a {transpose_rhs} : (tensor<2x3x32xbf16>, tensor<16x32xbf16>, tensor<2x3x16xf32>) -> tensor<2x3x16xf32>
  return
}

// CHECK-LABEL: func.func @product_bias
func.func @product_bias(%x: tensor<6x32xbf16>, %w: tensor<16x32xbf16>, %b: tensor<16xbf16>) {
  // CHECK: train.matmul_bias %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<6x32xbf16>, tensor<16x32xbf16>, tensor<16xbf16>) -> tensor<6x16xbf16>
  %y = train.matmul_bias %x, %w, %b {transpose_rhs} : (tensor<6x32xbf16>, tensor<16x32xbf16>, tensor<16xbf16>) -> tensor<6x16xbf16>
  return
}

// CHECK-LABEL: func.func @product_gelu
func.func @product_gelu(%x: tensor<6x32xbf16>, %w: tensor<16x32xbf16>, %b: tensor<16xbf16>) {
  // CHECK: %{{.*}}, %[[A:.*]] = train.matmul_gelu %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<6x32xbf16>, tensor<16x32xbf16>, tensor<16xbf16>) -> (tensor<6x16xbf16>, tensor<6x16xbf16>)
  %y, %a = train.matmul_gelu %x, %w, %b {transpose_rhs} : (tensor<6x32xbf16>, tensor<16x32xbf16>, tensor<16xbf16>) -> (tensor<6x16xbf16>, tensor<6x16xbf16>)
  // CHECK: train.matmul_gelu_grad %{{.*}}, %{{.*}}, %[[A]] {transpose_rhs} : (tensor<6x32xbf16>, tensor<16x32xbf16>, tensor<6x16xbf16>) -> tensor<6x16xbf16>
  %d = train.matmul_gelu_grad %x, %w, %a {transpose_rhs} : (tensor<6x32xbf16>, tensor<16x32xbf16>, tensor<6x16xbf16>) -> tensor<6x16xbf16>
  return
}

// CHECK-LABEL: func.func @scaled_product
func.func @scaled_product(%x: tensor<2x3x32xf8E4M3FN>, %w: tensor<16x32xf8E5M2>, %f: tensor<f32>, %g: tensor<f32>) {
  // CHECK: train.scaled_matmul %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<2x3x32xf8E4M3FN>, tensor<16x32xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<2x3x16xbf16>
  %y = train.scaled_matmul %x, %w, %f, %g {transpose_rhs} : (tensor<2x3x32xf8E4M3FN>, tensor<16x32xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<2x3x16xbf16>
  return
}
