// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// CHECK: train.state @fc1.weight parameter : tensor<2x3xf32> = dense<0.000000e+00> : tensor<2x3xf32>
train.state @fc1.weight parameter : tensor<2x3xf32> = dense<0.0> : tensor<2x3xf32>
// CHECK: train.state @bn.mean statistic : tensor<3xf32>
train.state @bn.mean statistic : tensor<3xf32>
// CHECK: train.state @mask constant : tensor<3xi1>
train.state @mask constant : tensor<3xi1>
// CHECK: train.state @parameters parameter {slots = [#train.slot<"w", 0, [2, 3]>, #train.slot<"b", 16, [3]>]} : tensor<1x1024xf32>
train.state @parameters parameter {slots = [#train.slot<"w", 0, [2, 3]>, #train.slot<"b", 16, [3]>]} : tensor<1x1024xf32>
// CHECK: train.state @parameters.bf16 working_copy {of = @parameters} : tensor<1x1024xbf16>
train.state @parameters.bf16 working_copy {of = @parameters} : tensor<1x1024xbf16>
// CHECK: train.state @adam.first_moment first_moment : tensor<1x1024xf32>
train.state @adam.first_moment first_moment : tensor<1x1024xf32>
// CHECK: train.state @step_count step_count : tensor<i64>
train.state @step_count step_count : tensor<i64>

// CHECK-LABEL: func.func @states
func.func @states(%g: tensor<2x3xf32>) {
  // CHECK: train.read @parameters : tensor<1x1024xf32>
  %p = train.read @parameters : tensor<1x1024xf32>
  // CHECK: train.unpack %{{.*}} {offset = 32 : i64} : (tensor<1x1024xf32>) -> tensor<3xf32>
  %b = train.unpack %p {offset = 32 : i64} : (tensor<1x1024xf32>) -> tensor<3xf32>
  // CHECK: train.pack %{{.*}}, %{{.*}} {offsets = array<i64: 0, 32>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<1x1024xf32>
  %packed = train.pack %g, %b {offsets = array<i64: 0, 32>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<1x1024xf32>
  // CHECK: train.write @parameters, %{{.*}} : tensor<1x1024xf32>
  train.write @parameters, %packed : tensor<1x1024xf32>
  return
}

// CHECK-LABEL: func.func @constant
func.func @constant() -> tensor<2xi64> {
  // CHECK: train.constant dense<[1, 2]> : tensor<2xi64> : tensor<2xi64>
  %c = train.constant dense<[1, 2]> : tensor<2xi64> : tensor<2xi64>
  return %c : tensor<2xi64>
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x3x4xf32>, %h: tensor<2x1x4xf16>, %i: tensor<3xi64>) {
  // CHECK: train.reshape
  %0 = train.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: train.transpose %{{.*}} {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = train.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK: train.broadcast_to
  %2 = train.broadcast_to %h : (tensor<2x1x4xf16>) -> tensor<5x2x3x4xf16>
  // CHECK: train.broadcast_to %{{.*}} : (tensor<3xi64>) -> tensor<2x3xi64>
  %any = train.broadcast_to %i : (tensor<3xi64>) -> tensor<2x3xi64>
  // CHECK: train.concat %{{.*}}, %{{.*}} {axis = 1 : i64}
  %3 = train.concat %x, %h {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf16>) -> tensor<2x4x4xf32>
  // CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 1, 2>}
  %4 = train.slice %x {offsets = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  // CHECK: %{{.*}}:2 = train.split %{{.*}} {axis = 2 : i64, sizes = array<i64: 1, 3>}
  %parts:2 = train.split %x {axis = 2 : i64, sizes = array<i64: 1, 3>} : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>)
  // CHECK: train.reduce_sum %{{.*}} {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %5 = train.reduce_sum %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  // CHECK: train.reduce_mean %{{.*}} {axes = array<i64: 1>, keepdims}
  %6 = train.reduce_mean %x {axes = array<i64: 1>, keepdims} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  // CHECK: train.reduce_max %{{.*}} {axes = array<i64: 0, 2>}
  %reduce_max = train.reduce_max %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  return
}

// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<5x2x3xbf16>, %b: tensor<3x4xbf16>, %g: tensor<5x2x4xbf16>) {
  // CHECK: train.matmul %{{.*}}, %{{.*}} : (tensor<5x2x3xbf16>, tensor<3x4xbf16>) -> tensor<5x2x4xbf16>
  %0 = train.matmul %a, %b : (tensor<5x2x3xbf16>, tensor<3x4xbf16>) -> tensor<5x2x4xbf16>
  // CHECK: train.matmul %{{.*}}, %{{.*}} {transpose_lhs, weight_gradient} : (tensor<5x2x3xbf16>, tensor<5x2x4xbf16>) -> tensor<5x3x4xf32>
  %1 = train.matmul %a, %g {transpose_lhs, weight_gradient} : (tensor<5x2x3xbf16>, tensor<5x2x4xbf16>) -> tensor<5x3x4xf32>
  return
}

// CHECK-LABEL: func.func @random
func.func @random(%x: tensor<4x3xf32>, %seed: tensor<i64>, %step: tensor<i64>) {
  // CHECK: train.dropout %{{.*}} {ratio = 5.000000e-01 : f32}
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.dropout_training %{{.*}}, %{{.*}}, %{{.*}} {index = 3 : i64, ratio = 1.000000e-01 : f32}
  %1 = train.dropout_training %x, %seed, %step {index = 3 : i64, ratio = 0.1 : f32} : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  // CHECK: train.random {index = 4 : i64, shape = array<i64: 4, 3>} : () -> tensor<4x3xf32>
  %2 = train.random {index = 4 : i64, shape = array<i64: 4, 3>} : () -> tensor<4x3xf32>
  // CHECK: train.random %{{.*}}, %{{.*}} {index = 5 : i64, normal, shape = array<i64>} : (tensor<i64>, tensor<i64>) -> tensor<f32>
  %3 = train.random %seed, %step {index = 5 : i64, normal, shape = array<i64>} : (tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%t: tensor<4x5xf32>, %b: tensor<4xi1>, %i: tensor<4x3xi64>, %n: tensor<3xi32>, %h: tensor<2x4x5xbf16>) {
  // CHECK: train.flat_index %{{.*}}, %{{.*}} {axes = array<i64: 0, 1>, extents = array<i64: 4, 5>} : (tensor<4x3xi64>, tensor<3xi32>) -> tensor<4x3xi64>
  %flat = train.flat_index %i, %n {axes = array<i64: 0, 1>, extents = array<i64: 4, 5>} : (tensor<4x3xi64>, tensor<3xi32>) -> tensor<4x3xi64>
  // CHECK: train.gather %{{.*}}, %{{.*}} : (tensor<4x5xf32>, tensor<4x3xi64>) -> tensor<4x3x5xf32>
  %rows = train.gather %t, %i : (tensor<4x5xf32>, tensor<4x3xi64>) -> tensor<4x3x5xf32>
  // CHECK: train.gather %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<3xi32>) -> tensor<3xi1>
  %bools = train.gather %b, %n : (tensor<4xi1>, tensor<3xi32>) -> tensor<3xi1>
  // CHECK: train.scatter_reduce %{{.*}}, %{{.*}}, %{{.*}} {kind = #train<integer_operation max>} : (tensor<4x5xf32>, tensor<3xi32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %picked = train.gather %t, %n : (tensor<4x5xf32>, tensor<3xi32>) -> tensor<3x5xf32>
  %reduced = train.scatter_reduce %t, %n, %picked {kind = #train<integer_operation max>} : (tensor<4x5xf32>, tensor<3xi32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  // CHECK: train.last_index %{{.*}} {rows = 7 : i64} : (tensor<3xi32>) -> tensor<7xi64>
  %last = train.last_index %n {rows = 7 : i64} : (tensor<3xi32>) -> tensor<7xi64>
  %places = train.constant dense<[[-1], [0], [2], [1], [2], [-1]]> : tensor<6x1xi64> : tensor<6x1xi64>
  // CHECK: train.resample %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<2x4x5xbf16>, tensor<6x1xi64>) -> tensor<2x6x5xbf16>
  %moved = train.resample %h, %places {axis = 1 : i64} : (tensor<2x4x5xbf16>, tensor<6x1xi64>) -> tensor<2x6x5xbf16>
  %pairs = train.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> : tensor<2x2xi64>
  %shares = train.constant dense<[[0.5, 0.5], [0.25, 0.75]]> : tensor<2x2xf32> : tensor<2x2xf32>
  // CHECK: train.resample %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x5xf32>
  %means = train.resample %t, %pairs, %shares {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x5xf32>
  return
}

// CHECK-LABEL: func.func @along_axis
func.func @along_axis(%x: tensor<4x5xf32>, %i: tensor<4x3xi64>, %c: tensor<4x3xi1>) {
  // CHECK: train.cumsum %{{.*}} {axis = 1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %sums = train.cumsum %x {axis = 1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  // CHECK: train.cumsum %{{.*}} {axis = 0 : i64, exclusive, reverse} : (tensor<4x3xi64>) -> tensor<4x3xi64>
  %counts = train.cumsum %i {axis = 0 : i64, exclusive, reverse} : (tensor<4x3xi64>) -> tensor<4x3xi64>
  // CHECK: train.arg_extreme %{{.*}} {axis = 0 : i64} : (tensor<4x5xf32>) -> tensor<5xi64>
  %largest = train.arg_extreme %x {axis = 0 : i64} : (tensor<4x5xf32>) -> tensor<5xi64>
  // CHECK: train.arg_extreme %{{.*}} {axis = 1 : i64, last, smallest} : (tensor<4x3xi1>) -> tensor<4xi64>
  %smallest = train.arg_extreme %c {axis = 1 : i64, last, smallest} : (tensor<4x3xi1>) -> tensor<4xi64>
  // CHECK: train.top_indices %{{.*}} {axis = 1 : i64, k = 2 : i64} : (tensor<4x5xf32>) -> tensor<4x2xi64>
  %top = train.top_indices %x {axis = 1 : i64, k = 2 : i64} : (tensor<4x5xf32>) -> tensor<4x2xi64>
  // CHECK: train.top_indices %{{.*}} {axis = 0 : i64, k = 4 : i64, smallest} : (tensor<4x3xi64>) -> tensor<4x3xi64>
  %order = train.top_indices %i {axis = 0 : i64, k = 4 : i64, smallest} : (tensor<4x3xi64>) -> tensor<4x3xi64>
  return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%i: tensor<4x3xi64>, %n: tensor<3xi64>, %x: tensor<4x3xf32>) {
  // CHECK: train.integer %{{.*}}, %{{.*}} {kind = #train<integer_operation mod>} : (tensor<4x3xi64>, tensor<3xi64>) -> tensor<4x3xi64>
  %mod = train.integer %i, %n {kind = #train<integer_operation mod>} : (tensor<4x3xi64>, tensor<3xi64>) -> tensor<4x3xi64>
  // CHECK: train.reduce_by %{{.*}} {axes = array<i64: 0>, keepdims, kind = #train<integer_operation max>} : (tensor<4x3xi64>) -> tensor<1x3xi64>
  %max = train.reduce_by %i {axes = array<i64: 0>, keepdims, kind = #train<integer_operation max>} : (tensor<4x3xi64>) -> tensor<1x3xi64>
  // CHECK: train.reduce_by %{{.*}} {axes = array<i64: 0, 1>, kind = #train<integer_operation mul>} : (tensor<4x3xf32>) -> tensor<f32>
  %product = train.reduce_by %x {axes = array<i64: 0, 1>, kind = #train<integer_operation mul>} : (tensor<4x3xf32>) -> tensor<f32>
  // CHECK: train.product_of_others %{{.*}} {axes = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %others = train.product_of_others %x {axes = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// Images of any rank: here with three spatial dimensions, and with one.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x2x3x4x5xf32>, %y: tensor<2x3x9xbf16>) {
  // CHECK: %[[W:.*]] = train.unfold %{{.*}} {dilations = array<i64: 1, 1, 2>, kernel_shape = array<i64: 2, 3, 2>, pads_begin = array<i64: 0, 1, 0>, pads_end = array<i64: 0, 1, 1>, strides = array<i64: 1, 2, 1>} : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x2x3x2x2x2x4xf32>
  %w = train.unfold %x {kernel_shape = array<i64: 2, 3, 2>, strides = array<i64: 1, 2, 1>, dilations = array<i64: 1, 1, 2>, pads_begin = array<i64: 0, 1, 0>, pads_end = array<i64: 0, 1, 1>} : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x2x3x2x2x2x4xf32>
  // CHECK: train.fold %[[W]] {dilations = array<i64: 1, 1, 2>, image_shape = array<i64: 1, 2, 3, 4, 5>, pads_begin = array<i64: 0, 1, 0>, pads_end = array<i64: 0, 1, 1>, strides = array<i64: 1, 2, 1>} : (tensor<1x2x2x3x2x2x2x4xf32>) -> tensor<1x2x3x4x5xf32>
  %f = train.fold %w {image_shape = array<i64: 1, 2, 3, 4, 5>, strides = array<i64: 1, 2, 1>, dilations = array<i64: 1, 1, 2>, pads_begin = array<i64: 0, 1, 0>, pads_end = array<i64: 0, 1, 1>} : (tensor<1x2x2x3x2x2x2x4xf32>) -> tensor<1x2x3x4x5xf32>
  // CHECK: train.unfold %{{.*}} {{{.*}}padding = 0xFFF0000000000000 : f64{{.*}}} : (tensor<2x3x9xbf16>) -> tensor<2x3x3x5xbf16>
  %v = train.unfold %y {kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>, padding = 0xFFF0000000000000 : f64} : (tensor<2x3x9xbf16>) -> tensor<2x3x3x5xbf16>
  return
}

// CHECK-LABEL: func.func @updates
func.func @updates(%w: tensor<1x1024xf32>, %g: tensor<1x1024xf32>, %m: tensor<1x1024xf32>, %v: tensor<1x1024xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
  // CHECK: train.sgd
  %0 = train.sgd %w, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
  // CHECK: train.momentum %{{.*}} {momentum = {{.*}} : f32, nesterov, weight_decay = {{.*}} : f32}
  %1:2 = train.momentum %w, %g, %m, %lr {momentum = 0.9 : f32, nesterov, weight_decay = 0.01 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> (tensor<1x1024xf32>, tensor<1x1024xf32>)
  // CHECK: train.bias_correction %{{.*}} {beta = 9.000000e-01 : f64} : (tensor<i64>) -> tensor<f32>
  %c1 = train.bias_correction %step {beta = 0.9 : f64} : (tensor<i64>) -> tensor<f32>
  // CHECK: train.adam %{{.*}} {beta1 = {{.*}}, beta2 = {{.*}}, decoupled, epsilon = {{.*}}, weight_decay = {{.*}}}
  %2:3 = train.adam %w, %g, %m, %v, %lr, %c1, %c1 {beta1 = 0.9 : f32, beta2 = 0.999 : f32, epsilon = 1.0e-8 : f32, weight_decay = 0.01 : f32, decoupled} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1024xf32>)
  // CHECK: train.increment
  %3 = train.increment %step : (tensor<i64>) -> tensor<i64>
  // CHECK: train.global_norm
  %4 = train.global_norm %g : (tensor<1x1024xf32>) -> tensor<f32>
  // CHECK: train.scheduled_rate %{{.*}}, %{{.*}}, %{{.*}} {factor = {{.*}}, gamma = {{.*}}, minimum = {{.*}}, period = {{.*}}, power = {{.*}}, schedule = #train<rate_schedule cosine>, warmup = 1.000000e+01 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  %rate = train.scheduled_rate %lr, %step, %step {factor = 1.0 : f64, gamma = 0.5 : f64, minimum = 0.0 : f64, period = 3.0 : f64, power = 1.0 : f64, schedule = #train<rate_schedule cosine>, warmup = 10.0 : f64} : (tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  // Rates that differ by row.
  // CHECK: train.sgd %{{.*}} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1xf32>) -> tensor<1x1024xf32>
  %column = train.reshape %rate : (tensor<f32>) -> tensor<1x1xf32>
  %by_row = train.sgd %w, %g, %column {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<1x1xf32>) -> tensor<1x1024xf32>
  // CHECK: train.clip_factor %{{.*}} {max_norm = 1.000000e+00 : f32}
  %5 = train.clip_factor %4 {max_norm = 1.0 : f32} : (tensor<f32>) -> tensor<f32>
  // CHECK: train.mean_factor %{{.*}} {terms = 8.000000e+00 : f64}
  %6 = train.mean_factor %4 {terms = 8.0 : f64} : (tensor<f32>) -> tensor<f32>
  // CHECK: train.loss_share %{{.*}}, %{{.*}} {terms = 8.000000e+00 : f64}
  %7 = train.loss_share %4, %6 {terms = 8.0 : f64} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @gradients
func.func @gradients(%y: tensor<f32>, %x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: train.gradient %{{.*}}, %{{.*}} : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = train.gradient %y, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @observations
func.func @observations(%x: tensor<2x3xbf16>, %g: tensor<2x3xbf16>, %place: tensor<i32>, %fault: tensor<f32>) -> tensor<80xf64> {
  // CHECK: train.inject %{{.*}}, %{{.*}}, %{{.*}} {index = 7 : i64} : (tensor<2x3xbf16>, tensor<i32>, tensor<f32>) -> tensor<2x3xbf16>
  %0 = train.inject %x, %place, %fault {index = 7 : i64} : (tensor<2x3xbf16>, tensor<i32>, tensor<f32>) -> tensor<2x3xbf16>
  // CHECK: train.observe %{{.*}} : (tensor<2x3xbf16>) -> tensor<80xf64>
  %1 = train.observe %0 : (tensor<2x3xbf16>) -> tensor<80xf64>
  // CHECK: train.rounding %{{.*}}, %{{.*}} : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<8xf64>
  %2 = train.rounding %0, %g : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<8xf64>
  return %1 : tensor<80xf64>
}
