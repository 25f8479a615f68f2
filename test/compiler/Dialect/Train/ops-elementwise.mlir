// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// Element types of operands and results may differ after the precision stage.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<4x3xf32>, %b: tensor<3xf32>, %c: tensor<i1>, %h: tensor<4x3xbf16>) {
  // CHECK: train.add %{{.*}} : (tensor<4x3xbf16>, tensor<3xf32>) -> tensor<4x3xbf16>
  %0 = train.add %h, %b : (tensor<4x3xbf16>, tensor<3xf32>) -> tensor<4x3xbf16>
  // CHECK: train.sub
  %1 = train.sub %x, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: train.mul
  %2 = train.mul %b, %x : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.div
  %3 = train.div %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.neg
  %4 = train.neg %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.relu
  %5 = train.relu %h : (tensor<4x3xbf16>) -> tensor<4x3xbf16>
  // CHECK: train.tanh
  %6 = train.tanh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.sigmoid
  %7 = train.sigmoid %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.softsign
  %softsign = train.softsign %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.gelu %{{.*}} {approximate}
  %8 = train.gelu %x {approximate} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.relu_grad
  %9 = train.relu_grad %x, %5 : (tensor<4x3xf32>, tensor<4x3xbf16>) -> tensor<4x3xf32>
  // CHECK: train.function_grad %{{.*}} {function = "tanh", parameters = array<f64>}
  %10 = train.function_grad %x, %6 {function = "tanh", parameters = array<f64>} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.function_grad %{{.*}} {function = "silu", parameters = array<f64: 1.000000e+00>} : (tensor<4x3xbf16>, tensor<4x3xf32>) -> tensor<4x3xbf16>
  %11 = train.function_grad %h, %x {function = "silu", parameters = array<f64: 1.0>} : (tensor<4x3xbf16>, tensor<4x3xf32>) -> tensor<4x3xbf16>
  // CHECK: train.exp
  %exp = train.exp %h : (tensor<4x3xbf16>) -> tensor<4x3xbf16>
  // CHECK: train.elu %{{.*}} {alpha = 1.000000e+00 : f64, scale = 2.000000e+00 : f64, width = 5.000000e-01 : f64}
  %elu = train.elu %x {alpha = 1.0 : f64, scale = 2.0 : f64, width = 0.5 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.log
  %f_log = train.log %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.sin
  %f_sin = train.sin %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.cos
  %f_cos = train.cos %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.tan
  %f_tan = train.tan %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.asin
  %f_asin = train.asin %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.acos
  %f_acos = train.acos %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.atan
  %f_atan = train.atan %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.sinh
  %f_sinh = train.sinh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.cosh
  %f_cosh = train.cosh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.asinh
  %f_asinh = train.asinh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.acosh
  %f_acosh = train.acosh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.atanh
  %f_atanh = train.atanh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.erf
  %f_erf = train.erf %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.abs
  %f_abs = train.abs %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.sign
  %f_sign = train.sign %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.floor
  %f_floor = train.floor %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.ceil
  %f_ceil = train.ceil %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.round
  %f_round = train.round %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.mish
  %f_mish = train.mish %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.softplus
  %f_softplus = train.softplus %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.hard_swish
  %f_hard_swish = train.hard_swish %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.silu %{{.*}} {
  %f_silu = train.silu %x {alpha = 1.0 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.leaky_relu %{{.*}} {
  %f_leaky_relu = train.leaky_relu %x {alpha = 0.5 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.thresholded_relu %{{.*}} {
  %f_thresholded_relu = train.thresholded_relu %x {alpha = 0.5 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.hard_sigmoid %{{.*}} {
  %f_hard_sigmoid = train.hard_sigmoid %x {alpha = 0.5 : f64, beta = 0.5 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.shrink %{{.*}} {
  %f_shrink = train.shrink %x {bias = 0.5 : f64, lambda = 0.5 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.clip %{{.*}} {
  %f_clip = train.clip %x {high = 0.5 : f64, low = 0.0 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.maximum
  %maximum = train.maximum %x, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: train.pow
  %pow = train.pow %x, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: train.minimum
  %minimum = train.minimum %b, %x : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.compare %{{.*}} {comparison = #train<comparison less_or_equal>}
  %compare = train.compare %x, %b {comparison = #train<comparison less_or_equal>} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: train.and
  %and = train.and %compare, %c : (tensor<4x3xi1>, tensor<i1>) -> tensor<4x3xi1>
  // CHECK: train.or
  %or = train.or %compare, %c : (tensor<4x3xi1>, tensor<i1>) -> tensor<4x3xi1>
  // CHECK: train.xor
  %xor = train.xor %compare, %c : (tensor<4x3xi1>, tensor<i1>) -> tensor<4x3xi1>
  // CHECK: train.not
  %not = train.not %compare : (tensor<4x3xi1>) -> tensor<4x3xi1>
  // CHECK: train.gelu_grad
  %12 = train.gelu_grad %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.round_to %{{.*}} {to = bf16} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %round = train.round_to %x {to = bf16} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.stop_gradient %{{.*}} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %stop = train.stop_gradient %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.cast %{{.*}} {to = i64}
  %13 = train.cast %x {to = i64} : (tensor<4x3xf32>) -> tensor<4x3xi64>
  // CHECK: train.sqrt %{{.*}} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %root = train.sqrt %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: train.select
  %14 = train.select %c, %x, %4 : (tensor<i1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}
