// RUN: mpc-opt %s --mpc-pad-classes=device=cuda --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-pad-classes=device=cpu --split-input-file | FileCheck %s --check-prefix=CPU

// CPU-NOT: classes =

// A step of GPT-2 in small: the loss, the gradient of the classifier's input,
// and that of its weight, whose first rows are used.
// CHECK-LABEL: func.func @step
// CHECK-SAME:    (%[[X:.*]]: tensor<128x8xbf16>, %[[W:.*]]: tensor<515x8xbf16>, %[[L:.*]]: tensor<128xi64>, %[[S:.*]]: tensor<f32>)
// CHECK:         %[[ZEROS:.*]] = train.constant dense<0.000000e+00> : tensor<61x8xbf16>
// CHECK:         %[[P:.*]] = train.concat %[[W]], %[[ZEROS]] {axis = 0 : i64} : {{.*}} -> tensor<576x8xbf16>
// CHECK:         %[[Y:.*]] = train.matmul %[[X]], %[[P]] {transpose_rhs} : {{.*}} -> tensor<128x576xf32>
// CHECK:         %[[LOSS:.*]] = train.softmax_cross_entropy %[[Y]], %[[L]] {classes = 515 : i64, ignore_index = -100 : i64,
// CHECK:         %[[G:.*]] = train.softmax_cross_entropy_grad %[[S]], %[[Y]], %[[L]] {classes = 515 : i64, {{.*}} -> tensor<128x576xf32>
// CHECK:         %[[D:.*]] = amp.cast %[[G]] : tensor<128x576xf32> to tensor<128x576xbf16>
// CHECK:         %[[DX:.*]] = train.matmul %[[D]], %[[P]] : (tensor<128x576xbf16>, tensor<576x8xbf16>) -> tensor<128x8xbf16>
// CHECK:         %[[DP:.*]] = train.matmul %[[D]], %[[X]] {transpose_lhs, weight_gradient} : {{.*}} -> tensor<576x8xf32>
// CHECK:         %[[DW:.*]] = train.slice %[[DP]] {offsets = array<i64: 0, 0>} : (tensor<576x8xf32>) -> tensor<515x8xf32>
// CHECK:         return %[[LOSS]], %[[DX]], %[[DW]]
func.func @step(%x: tensor<128x8xbf16>, %w: tensor<515x8xbf16>, %l: tensor<128xi64>, %s: tensor<f32>) -> (tensor<f32>, tensor<128x8xbf16>, tensor<515x8xf32>) {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xbf16>, tensor<515x8xbf16>) -> tensor<128x515xf32>
  %loss = train.softmax_cross_entropy %y, %l {ignore_index = -100 : i64, reduction = #train<reduction mean>} : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<f32>
  %g = train.softmax_cross_entropy_grad %s, %y, %l {ignore_index = -100 : i64, reduction = #train<reduction mean>} : (tensor<f32>, tensor<128x515xf32>, tensor<128xi64>) -> tensor<128x515xf32>
  %d = amp.cast %g : tensor<128x515xf32> to tensor<128x515xbf16>
  %dx = train.matmul %d, %w : (tensor<128x515xbf16>, tensor<515x8xbf16>) -> tensor<128x8xbf16>
  %dw = train.matmul %d, %x {transpose_lhs, weight_gradient} : (tensor<128x515xbf16>, tensor<128x8xbf16>) -> tensor<515x8xf32>
  return %loss, %dx, %dw : tensor<f32>, tensor<128x8xbf16>, tensor<515x8xf32>
}

// -----

// A batch of sequences, a bias, a factor and its gradient, and a weight with
// classes as columns.
// CHECK-LABEL: func.func @bias
// CHECK-SAME:    (%[[X:.*]]: tensor<2x64x8xf32>, %[[W:.*]]: tensor<8x515xf32>, %[[B:.*]]: tensor<1x515xf32>,
// CHECK:         %[[P:.*]] = train.concat %[[W]], %{{.*}} {axis = 1 : i64} : {{.*}} -> tensor<8x576xf32>
// CHECK:         %[[Y:.*]] = train.matmul %[[X]], %[[P]] : {{.*}} -> tensor<2x64x576xf32>
// CHECK:         %[[PB:.*]] = train.concat %[[B]], %{{.*}} {axis = 1 : i64} : {{.*}} -> tensor<1x576xf32>
// CHECK:         %[[A:.*]] = train.add %[[Y]], %[[PB]] : {{.*}} -> tensor<2x64x576xf32>
// CHECK:         %[[M:.*]] = train.mul %[[A]], %{{.*}} : (tensor<2x64x576xf32>, tensor<f32>) -> tensor<2x64x576xf32>
// CHECK:         %[[R:.*]] = train.reshape %[[M]] : (tensor<2x64x576xf32>) -> tensor<128x576xf32>
// CHECK:         train.softmax_cross_entropy_grad %{{.*}}, %[[R]], %{{.*}} {classes = 515 : i64, label_smoothing
// CHECK:         %[[DT:.*]] = train.mul %{{.*}}, %{{.*}} : {{.*}} -> tensor<2x64x576xf32>
// CHECK:         train.matmul %[[DT]], %[[P]] {transpose_rhs} : (tensor<2x64x576xf32>, tensor<8x576xf32>) -> tensor<2x64x8xf32>
// CHECK:         %[[DP:.*]] = train.matmul %{{.*}}, %{{.*}} {transpose_lhs, weight_gradient} : (tensor<128x8xf32>, tensor<128x576xf32>) -> tensor<8x576xf32>
// CHECK:         %[[DW:.*]] = train.slice %[[DP]] {offsets = array<i64: 0, 0>} : (tensor<8x576xf32>) -> tensor<8x515xf32>
// CHECK:         %[[SUM:.*]] = train.reduce_sum %[[DT]] {axes = array<i64: 0, 1>} : (tensor<2x64x576xf32>) -> tensor<576xf32>
// CHECK:         %[[DB:.*]] = train.slice %[[SUM]] {offsets = array<i64: 0>} : (tensor<576xf32>) -> tensor<515xf32>
// CHECK:         return %{{.*}}, %[[DW]], %[[DB]]
func.func @bias(%x: tensor<2x64x8xf32>, %w: tensor<8x515xf32>, %b: tensor<1x515xf32>, %l: tensor<128xi64>, %s: tensor<f32>) -> (tensor<2x64x8xf32>, tensor<8x515xf32>, tensor<515xf32>) {
  %y = train.matmul %x, %w : (tensor<2x64x8xf32>, tensor<8x515xf32>) -> tensor<2x64x515xf32>
  %a = train.add %y, %b : (tensor<2x64x515xf32>, tensor<1x515xf32>) -> tensor<2x64x515xf32>
  %m = train.mul %a, %s : (tensor<2x64x515xf32>, tensor<f32>) -> tensor<2x64x515xf32>
  %r = train.reshape %m : (tensor<2x64x515xf32>) -> tensor<128x515xf32>
  %g = train.softmax_cross_entropy_grad %s, %r, %l {label_smoothing = 0.1 : f64, reduction = #train<reduction mean>} : (tensor<f32>, tensor<128x515xf32>, tensor<128xi64>) -> tensor<128x515xf32>
  %gr = train.reshape %g : (tensor<128x515xf32>) -> tensor<2x64x515xf32>
  %dt = train.mul %gr, %s : (tensor<2x64x515xf32>, tensor<f32>) -> tensor<2x64x515xf32>
  %dx = train.matmul %dt, %w {transpose_rhs} : (tensor<2x64x515xf32>, tensor<8x515xf32>) -> tensor<2x64x8xf32>
  %rows = train.reshape %x : (tensor<2x64x8xf32>) -> tensor<128x8xf32>
  %dr = train.reshape %dt : (tensor<2x64x515xf32>) -> tensor<128x515xf32>
  %dw = train.matmul %rows, %dr {transpose_lhs, weight_gradient} : (tensor<128x8xf32>, tensor<128x515xf32>) -> tensor<8x515xf32>
  %db = train.reduce_sum %dt {axes = array<i64: 0, 1>} : (tensor<2x64x515xf32>) -> tensor<515xf32>
  return %dx, %dw, %db : tensor<2x64x8xf32>, tensor<8x515xf32>, tensor<515xf32>
}

// -----

// The accuracy skips the padding, too; other ops read a slice.
// CHECK-LABEL: func.func @evaluate
// CHECK:         %[[Y:.*]] = train.matmul {{.*}} -> tensor<128x576xf32>
// CHECK:         %[[PART:.*]] = train.slice %[[Y]] {offsets = array<i64: 0, 0>} : (tensor<128x576xf32>) -> tensor<128x515xf32>
// CHECK:         train.softmax_cross_entropy %[[Y]], %{{.*}} {classes = 515 : i64,
// CHECK:         train.is_correct %[[Y]], %{{.*}} {classes = 515 : i64}
// CHECK:         train.reduce_max %[[PART]] {axes = array<i64: 1>} : (tensor<128x515xf32>)
func.func @evaluate(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<128xi64>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %loss = train.softmax_cross_entropy %y, %l {reduction = #train<reduction none>} : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<128xf32>
  %ok = train.is_correct %y, %l : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<128xf32>
  %max = train.reduce_max %y {axes = array<i64: 1>} : (tensor<128x515xf32>) -> tensor<128xf32>
  return %loss, %ok, %max : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
}

// -----

// Recomputed logits wait for the gradient, whose padding does not matter.
// CHECK-LABEL: func.func @recomputed
// CHECK:         %[[Y:.*]] = train.matmul {{.*}} -> tensor<128x576xf32>
// CHECK:         %[[B:.*]] = train.remat_barrier %[[Y]] after %{{.*}} : tensor<128x576xf32> after tensor<f32>
// CHECK:         %[[G:.*]] = train.softmax_cross_entropy_grad %{{.*}}, %[[B]], {{.*}} -> tensor<128x576xf32>
// CHECK:         %[[X:.*]] = train.remat_barrier %{{.*}} after %[[G]] : tensor<128x8xf32> after tensor<128x576xf32>
// CHECK-NOT:     train.slice %[[G]]
func.func @recomputed(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<128xi64>, %s: tensor<f32>) -> (tensor<128x8xf32>, tensor<128x8xf32>) {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %b = train.remat_barrier %y after %s : tensor<128x515xf32> after tensor<f32>
  %g = train.softmax_cross_entropy_grad %s, %b, %l {reduction = #train<reduction mean>} : (tensor<f32>, tensor<128x515xf32>, tensor<128xi64>) -> tensor<128x515xf32>
  %dx = train.matmul %g, %w : (tensor<128x515xf32>, tensor<515x8xf32>) -> tensor<128x8xf32>
  %again = train.remat_barrier %x after %g : tensor<128x8xf32> after tensor<128x515xf32>
  return %dx, %again : tensor<128x8xf32>, tensor<128x8xf32>
}

// -----

// Rows of 516 numbers are aligned in f32, but not in 16 bit.
// CHECK-LABEL: func.func @aligned
// CHECK-NOT:     classes =
func.func @aligned(%x: tensor<128x8xf32>, %w: tensor<516x8xf32>, %l: tensor<128xi64>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<516x8xf32>) -> tensor<128x516xf32>
  %loss = train.softmax_cross_entropy %y, %l {reduction = #train<reduction mean>} : (tensor<128x516xf32>, tensor<128xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @aligned_in_f32
// CHECK:         train.softmax_cross_entropy_grad {{.*}} {classes = 516 : i64,
func.func @aligned_in_f32(%x: tensor<128x8xf16>, %w: tensor<516x8xf16>, %l: tensor<128xi64>, %s: tensor<f32>) -> tensor<128x8xf16> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf16>, tensor<516x8xf16>) -> tensor<128x516xf32>
  %g = train.softmax_cross_entropy_grad %s, %y, %l {reduction = #train<reduction mean>} : (tensor<f32>, tensor<128x516xf32>, tensor<128xi64>) -> tensor<128x516xf32>
  %d = amp.cast %g : tensor<128x516xf32> to tensor<128x516xf16>
  %dx = train.matmul %d, %w : (tensor<128x516xf16>, tensor<516x8xf16>) -> tensor<128x8xf16>
  return %dx : tensor<128x8xf16>
}

// -----

// Few classes or few rows gain too little.
// CHECK-LABEL: func.func @few_classes
// CHECK-NOT:     classes =
func.func @few_classes(%x: tensor<128x8xf32>, %w: tensor<511x8xf32>, %l: tensor<128xi64>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<511x8xf32>) -> tensor<128x511xf32>
  %loss = train.softmax_cross_entropy %y, %l {reduction = #train<reduction mean>} : (tensor<128x511xf32>, tensor<128xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @few_rows
// CHECK-NOT:     classes =
func.func @few_rows(%x: tensor<63x8xf32>, %w: tensor<515x8xf32>, %l: tensor<63xi64>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<63x8xf32>, tensor<515x8xf32>) -> tensor<63x515xf32>
  %loss = train.softmax_cross_entropy %y, %l {reduction = #train<reduction mean>} : (tensor<63x515xf32>, tensor<63xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Class weights would have to be padded.
// CHECK-LABEL: func.func @class_weights
// CHECK-NOT:     classes =
func.func @class_weights(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<128xi64>, %c: tensor<515xf32>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %loss = train.softmax_cross_entropy %y, %l, %c {reduction = #train<reduction mean>} : (tensor<128x515xf32>, tensor<128xi64>, tensor<515xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @predict
// CHECK-NEXT:    train.matmul {{.*}} -> tensor<128x515xf32>
// CHECK-NEXT:    return
func.func @predict(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>) -> tensor<128x515xf32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  return %y : tensor<128x515xf32>
}

// -----

// Probabilities depend on all columns, dropout on the position of an element,
// quotients of zeros are not finite, a mask of all logits is as large as they
// are, and classes that are not innermost are no rows.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT:     classes =
func.func @softmax(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<128xi64>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %p = train.log_softmax %y {axis = 1 : i64} : (tensor<128x515xf32>) -> tensor<128x515xf32>
  %loss = train.nll_loss %p, %l {reduction = #train<reduction mean>} : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @dropout
// CHECK-NOT:     classes =
func.func @dropout(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<128xi64>, %n: tensor<i64>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %z = train.dropout_training %y, %n, %n {index = 0 : i64, ratio = 0.5 : f32} : (tensor<128x515xf32>, tensor<i64>, tensor<i64>) -> tensor<128x515xf32>
  %loss = train.softmax_cross_entropy %z, %l {reduction = #train<reduction mean>} : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @quotient
// CHECK-NOT:     classes =
func.func @quotient(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<128xi64>, %s: tensor<f32>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %z = train.div %s, %y : (tensor<f32>, tensor<128x515xf32>) -> tensor<128x515xf32>
  %loss = train.softmax_cross_entropy %z, %l {reduction = #train<reduction mean>} : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @mask
// CHECK-NOT:     classes =
func.func @mask(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<128xi64>, %m: tensor<128x515xf32>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %z = train.add %y, %m : (tensor<128x515xf32>, tensor<128x515xf32>) -> tensor<128x515xf32>
  %loss = train.softmax_cross_entropy %z, %l {reduction = #train<reduction mean>} : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @pixels
// CHECK-NOT:     classes =
func.func @pixels(%x: tensor<128x8xf32>, %w: tensor<515x8xf32>, %l: tensor<1x515xi64>) -> tensor<f32> {
  %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
  %r = train.reshape %y : (tensor<128x515xf32>) -> tensor<1x128x515xf32>
  %loss = train.softmax_cross_entropy %r, %l {reduction = #train<reduction mean>} : (tensor<1x128x515xf32>, tensor<1x515xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}
