// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-fuse-kernels --split-input-file | FileCheck %s

// A reshape between two ops does not prevent fusion: only memory matters.
// CHECK-LABEL: func.func @through_reshape
// CHECK-SAME:    (%[[X:.*]]: tensor<64x128xf32>, %[[B:.*]]: tensor<128xf32>)
// CHECK-NEXT:    %[[R:.*]] = call @kernel_0(%[[X]], %[[B]])
// CHECK-NEXT:    return %[[R]] : tensor<8192xf32>
// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:    -> tensor<8192xf32> attributes {mpc.kernel}
// CHECK:         arith.addf
// CHECK:         arith.maximumf
func.func @through_reshape(%x: tensor<64x128xf32>, %b: tensor<128xf32>) -> tensor<8192xf32> {
  %0 = train.add %x, %b : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %1 = train.reshape %0 : (tensor<64x128xf32>) -> tensor<8192xf32>
  %2 = train.relu %1 : (tensor<8192xf32>) -> tensor<8192xf32>
  return %2 : tensor<8192xf32>
}

// -----

// The results of a kernel are the values that others use, once each, also through a view.
// CHECK-LABEL: func.func @used_outside
// CHECK-NEXT:    %[[R:.*]]:2 = call @kernel_0
// CHECK-NEXT:    %[[V:.*]] = tensor.collapse_shape %[[R]]#0
// CHECK-NEXT:    return %[[V]], %[[R]]#1
func.func @used_outside(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4x8xf32>) {
  %0 = train.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = train.reshape %0 : (tensor<4x8xf32>) -> tensor<32xf32>
  %2 = train.mul %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<32xf32>, tensor<4x8xf32>
}

// -----

// The add needs the relu and the matmul, which needs the relu: one kernel for
// both would have to run before the matmul and after it.
// CHECK-LABEL: func.func @path_outside
// CHECK-NEXT:    %[[RELU:.*]] = call @kernel_0(%{{.*}})
// CHECK-NEXT:    %[[PRODUCT:.*]] = train.matmul %[[RELU]], %[[RELU]]
// CHECK-NEXT:    call @kernel_1(%[[RELU]], %[[PRODUCT]])
func.func @path_outside(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = train.relu %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.matmul %0, %0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = train.add %0, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

// A kernel counts as a whole: the last add needs no slice of the relu, but the
// kernel of what it needs (%4) also computes one (%3).
// CHECK-LABEL: func.func @path_through_kernel
// CHECK-NEXT:    %[[RELU:.*]] = call @kernel_0
// CHECK-NEXT:    %[[R:.*]]:2 = call @kernel_1(%[[RELU]], %{{.*}})
// CHECK-NEXT:    %[[ONE:.*]] = call @kernel_2(%[[R]]#1)
// CHECK-NEXT:    call @kernel_3(%[[RELU]], %[[ONE]])
func.func @path_through_kernel(%x: tensor<8x8xf32>, %y: tensor<6x6xf32>) -> (tensor<8x8xf32>, tensor<6x6xf32>) {
  %0 = train.relu %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = train.slice %0 {offsets = array<i64: 1, 1>} : (tensor<8x8xf32>) -> tensor<6x6xf32>
  %2 = train.sigmoid %y : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %3 = train.add %1, %2 : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %4 = train.tanh %2 : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %5 = train.slice %4 {offsets = array<i64: 1, 1>} : (tensor<6x6xf32>) -> tensor<1x1xf32>
  %6 = train.add %0, %5 : (tensor<8x8xf32>, tensor<1x1xf32>) -> tensor<8x8xf32>
  return %6, %3 : tensor<8x8xf32>, tensor<6x6xf32>
}

// -----

// The square and the update read the same gradient, but one kernel for both could
// not contain the selection between old and new, which needs the whole sum: the
// results of the update for it would go through memory.
// CHECK-LABEL: func.func @producers_before_siblings
// CHECK-SAME:    (%[[G:.*]]: tensor<64x128xf32>, %[[W:.*]]: tensor<64x128xf32>)
// CHECK:         %[[ROWS:.*]] = call @kernel_0(%[[G]])
// CHECK-NEXT:    %[[KEEP:.*]] = call @kernel_1(%[[ROWS]])
// CHECK-NEXT:    %[[R:.*]] = call @kernel_2(%[[W]], %[[G]], %[[KEEP]])
// CHECK-NEXT:    return %[[R]]
func.func @producers_before_siblings(%g: tensor<64x128xf32>, %w: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = train.mul %g, %g : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 1>} : (tensor<64x128xf32>) -> tensor<64xf32>
  %2 = train.sub %w, %g : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %3 = amp.all_finite %1 : tensor<64xf32>
  %4 = amp.select_if_finite %2 over %w if %3 : tensor<64x128xf32>
  return %4 : tensor<64x128xf32>
}

// -----

// The phases of a softmax are one kernel, which completes row by row.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    %[[R:.*]] = call @kernel_0
// CHECK-NEXT:    return %[[R]]
func.func @softmax(%x: tensor<64x10xf32>) -> tensor<64x10xf32> {
  %0 = train.softmax %x {axis = 1 : i64} : (tensor<64x10xf32>) -> tensor<64x10xf32>
  return %0 : tensor<64x10xf32>
}

// -----

// So is a layer norm, with the row scalars that the gradient needs.
// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT:    %[[R:.*]]:3 = call @kernel_0
// CHECK-NEXT:    return %[[R]]#{{.}}, %[[R]]#{{.}}, %[[R]]#{{.}}
func.func @layer_norm(%x: tensor<64x32xf32>, %g: tensor<32xf32>, %b: tensor<32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0, %m, %i = train.layer_norm %x, %g, %b {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
  return %0, %m, %i : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// A sum down the columns joins the walk that computes its terms.
// CHECK-LABEL: func.func @column_sums
// CHECK-NEXT:    %[[R:.*]]:2 = call @kernel_0
// CHECK-NEXT:    return %[[R]]#0, %[[R]]#1
func.func @column_sums(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<128xf32>) {
  %0 = train.mul %x, %y : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<64x128xf32>) -> tensor<128xf32>
  return %0, %1 : tensor<64x128xf32>, tensor<128xf32>
}

// -----

// An op that adds the sum to every row can run only when the sum is complete.
// CHECK-LABEL: func.func @needs_the_whole_sum
// CHECK-NEXT:    %[[SUM:.*]] = call @kernel_0(%[[X:[a-z0-9]*]])
// CHECK-NEXT:    call @kernel_1(%[[X]], %[[SUM]])
func.func @needs_the_whole_sum(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = train.reduce_sum %x {axes = array<i64: 0>} : (tensor<64x128xf32>) -> tensor<128xf32>
  %1 = train.add %x, %0 : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}

// -----

// Counting labels is the work of one thread. The division by the count belongs to the
// rows, which are distributed over threads: it must not be fused with the count.
// CHECK-LABEL: func.func @long_sum
// CHECK-NEXT:    %[[COUNT:.*]] = call @kernel_0(%{{.*}}) : (tensor<4096xi64>) -> tensor<f32>
// CHECK-NEXT:    %[[R:.*]] = call @kernel_1(%{{.*}}) : ({{.*}}) -> tensor<4096x64xf32>
// CHECK-NEXT:    return %[[R]]
func.func @long_sum(%d: tensor<f32>, %x: tensor<4096x64xf32>, %l: tensor<4096xi64>) -> tensor<4096x64xf32> {
  %0 = train.softmax_cross_entropy_grad %d, %x, %l {ignore_index = -100 : i64, reduction = #train<reduction mean>}
    : (tensor<f32>, tensor<4096x64xf32>, tensor<4096xi64>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}

// -----

// Short sums save a launch instead.
// CHECK-LABEL: func.func @short_sum
// CHECK-NEXT:    %[[R:.*]] = call @kernel_0
// CHECK-NEXT:    return %[[R]]
func.func @short_sum(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = train.softmax %x {axis = 0 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Two ops that only share an input read it once.
// CHECK-LABEL: func.func @siblings
// CHECK-NEXT:    %[[R:.*]]:2 = call @kernel_0(%{{.*}})
// CHECK-NEXT:    return %[[R]]#0, %[[R]]#1
func.func @siblings(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %0 = train.relu %x : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = train.tanh %x : (tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0, %1 : tensor<64x128xf32>, tensor<64x128xf32>
}

// -----

// Unrelated ops are not fused; equal kernels are one function, others are not.
// CHECK-LABEL: func.func @unify
// CHECK:         call @kernel_0(%{{.*}}) : (tensor<8xf32>)
// CHECK-NEXT:    call @kernel_0(%{{.*}}) : (tensor<8xf32>)
// CHECK-NEXT:    call @kernel_1(%{{.*}}) : (tensor<16xf32>)
// CHECK-LABEL: func.func private @kernel_0
// CHECK-LABEL: func.func private @kernel_1
// CHECK-NOT:   func.func
func.func @unify(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<16xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<16xf32>) {
  %0 = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = train.relu %y : (tensor<8xf32>) -> tensor<8xf32>
  %2 = train.relu %z : (tensor<16xf32>) -> tensor<16xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<16xf32>
}

// -----

// A repeated value is in the code of the kernel, not among its operands.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    call @kernel_0(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         arith.constant dense<2.000000e+00> : tensor<8xf32>
func.func @constants(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = train.constant dense<2.0> : tensor<8xf32> : tensor<8xf32>
  %0 = train.mul %x, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A function without generated code is left alone.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    train.matmul
// CHECK-NEXT:    return
// CHECK-NOT:   mpc.kernel
func.func @nothing(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = train.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// A state of the model may have the same name as a kernel.
// CHECK-LABEL: func.func @name_taken
// CHECK:         train.read @kernel_0
// CHECK:         call @[[KERNEL:kernel_0_[0-9]+]](
// CHECK:       func.func private @[[KERNEL]](
train.state @kernel_0 constant : tensor<2xf32> = dense<[3.0, 4.0]> : tensor<2xf32>
func.func @name_taken(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = train.read @kernel_0 : tensor<2xf32>
  %0 = train.mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// The kernel after the second product adds the bias again instead of reading the
// sum, so the first one does not store it.
// CHECK-LABEL: func.func @adds_a_bias_again
// CHECK-SAME:    (%{{.*}}: tensor<64x64xf32>, %[[B:.*]]: tensor<64xf32>)
// CHECK-NEXT:    %[[X:.*]] = train.matmul
// CHECK-NEXT:    %[[R:.*]] = call @kernel_0(%[[X]], %[[B]])
// CHECK-NEXT:    %[[Y:.*]] = train.matmul %[[R]]
// CHECK-NEXT:    call @kernel_1(%[[X]], %[[B]], %[[Y]])
func.func @adds_a_bias_again(%x: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<64x64xf32> {
  %0 = train.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.add %0, %b : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %2 = train.gelu %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = train.matmul %2, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = train.mul %1, %3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// -----

// An expensive function is not computed again, and neither is a sum of two large
// tensors, which would be read instead of one.
// CHECK-LABEL: func.func @stores_what_is_dear
// CHECK:         call @kernel_0({{.*}}) : ({{.*}}) -> (tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK:         call @kernel_1({{.*}}) : ({{.*}}) -> (tensor<64x64xf32>, tensor<64x64xf32>)
func.func @stores_what_is_dear(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = train.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.exp %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = train.relu %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = train.matmul %2, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = train.add %3, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = train.relu %4 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = train.matmul %5, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %7 = train.mul %6, %4 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %7 : tensor<64x64xf32>
}

// -----

// A kernel stores the 16-bit value that others widen, not the wide copy.
// CHECK-LABEL: func.func @widened
// CHECK:         %[[H:.*]]:2 = call @kernel_0({{.*}}) : (tensor<64x128xf32>) -> (tensor<64x128xbf16>, tensor<64xf32>)
// CHECK:         call @kernel_1({{.*}}) : (tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
func.func @widened(%x: tensor<64x128xf32>, %w: tensor<1x128xf32>) -> tensor<64x128xf32> {
  %0 = train.relu %x : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = amp.cast %0 : tensor<64x128xf32> to tensor<64x128xbf16>
  %2 = amp.cast %1 : tensor<64x128xbf16> to tensor<64x128xf32>
  %3 = train.reduce_sum %2 {axes = array<i64: 1>, keepdims} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %4 = train.matmul %3, %w : (tensor<64x1xf32>, tensor<1x128xf32>) -> tensor<64x128xf32>
  %5 = train.mul %2, %4 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  return %5 : tensor<64x128xf32>
}
