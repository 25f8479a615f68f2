// RUN: mpc-opt %s --mpc-recognize-activations --canonicalize --split-input-file | FileCheck %s

// (x 0.5)(1 + erf(x / 1.4142135)), 0.5 (x (1 + erf(0.70710677 x))), and both
// factors first.
// CHECK-LABEL: func.func @erf_orders
func.func @erf_orders(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-NEXT: %[[A:.*]] = train.gelu %arg0 : (tensor<4x8xf32>)
  // CHECK-NEXT: %[[B:.*]] = train.gelu %arg0 : (tensor<4x8xf32>)
  // CHECK-NEXT: %[[C:.*]] = train.gelu %arg0 : (tensor<4x8xf32>)
  // CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = train.constant dense<1.0> : tensor<1xf32> : tensor<1xf32>
  %two = train.constant dense<2.0> : tensor<f32> : tensor<f32>
  %root = train.constant dense<1.4142135> : tensor<f32> : tensor<f32>
  %inverse = train.constant dense<0.70710677> : tensor<f32> : tensor<f32>
  %0 = train.div %x, %root : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = train.erf %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = train.add %1, %one : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
  %3 = train.mul %x, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %a = train.mul %3, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = train.mul %inverse, %x : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = train.erf %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = train.add %one, %5 : (tensor<1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = train.mul %x, %6 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = train.mul %half, %7 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = train.mul %x, %inverse : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %9 = train.erf %8 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = train.add %9, %one : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
  %11 = train.div %10, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %c = train.mul %11, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// x + 0.044715 x^3, and Hugging Face's fast form: 1 + 0.044715 x x, times x.
// CHECK-LABEL: func.func @tanh_orders
func.func @tanh_orders(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[A:.*]] = train.gelu %arg0 {approximate} : (tensor<8xf32>)
  // CHECK-NEXT: %[[B:.*]] = train.gelu %arg0 {approximate} : (tensor<8xf32>)
  // CHECK-NEXT: return %[[A]], %[[B]]
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %slope = train.constant dense<0.797884583> : tensor<f32> : tensor<f32>
  %cubic = train.constant dense<0.044715> : tensor<f32> : tensor<f32>
  %0 = train.mul %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = train.mul %x, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = train.mul %cubic, %1 : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = train.add %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = train.mul %slope, %3 : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = train.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %6 = train.add %one, %5 : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %7 = train.mul %half, %x : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %a = train.mul %7, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %8 = train.mul %x, %slope : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %9 = train.mul %x, %cubic : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %10 = train.mul %9, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %11 = train.add %10, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %12 = train.mul %8, %11 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %13 = train.tanh %12 : (tensor<8xf32>) -> tensor<8xf32>
  %14 = train.add %13, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %15 = train.mul %x, %14 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = train.mul %15, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// In a gated unit whose gate is multiplied first, a factor remains; x may be a product
// with other uses, and its sigmoid may be steeper.
// CHECK-LABEL: func.func @silu
func.func @silu(%p: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[X:.*]] = train.mul %arg0, %arg1
  // CHECK-NEXT: %[[S:.*]] = train.silu %[[X]] {alpha = 1.000000e+00 : f64}
  // CHECK-NEXT: %[[A:.*]] = train.mul %[[S]], %arg1
  // CHECK-NEXT: %[[B:.*]] = train.silu %[[X]] {alpha = 1.702{{[0-9]*}} : f64}
  // CHECK-NEXT: return %[[A]], %[[B]], %[[X]]
  %steep = train.constant dense<1.702> : tensor<f32> : tensor<f32>
  %x = train.mul %p, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = train.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = train.mul %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a = train.mul %1, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = train.mul %x, %steep : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = train.sigmoid %2 : (tensor<8xf32>) -> tensor<8xf32>
  %b = train.mul %3, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %a, %b, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[M:.*]] = train.mish %arg0
  // CHECK-NEXT: %[[S:.*]] = train.hard_swish %arg0
  // CHECK-NEXT: %[[T:.*]] = train.hard_swish %arg0
  // CHECK-NEXT: %[[H:.*]] = train.hard_sigmoid %arg0 {alpha = 0.16666666666666666 : f64, beta = 5.000000e-01 : f64}
  // CHECK-NEXT: return %[[M]], %[[S]], %[[T]], %[[H]]
  %three = train.constant dense<3.0> : tensor<f32> : tensor<f32>
  %six = train.constant dense<6.0> : tensor<f32> : tensor<f32>
  %0 = train.softplus %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = train.tanh %0 : (tensor<8xf32>) -> tensor<8xf32>
  %m = train.mul %x, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = train.add %x, %three : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = train.clip %2 {low = 0.0, high = 6.0} : (tensor<8xf32>) -> tensor<8xf32>
  %4 = train.mul %x, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s = train.div %4, %six : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = train.hard_sigmoid %x {alpha = 0.16666667163372040, beta = 0.5} : (tensor<8xf32>) -> tensor<8xf32>
  %t = train.mul %5, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = train.add %three, %x : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %7 = train.clip %6 {low = 0.0, high = 6.0} : (tensor<8xf32>) -> tensor<8xf32>
  %h = train.div %7, %six : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %m, %s, %t, %h : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Similar but different constants: 0.7071, and twice a gelu; 1.4142135 is not the root
// of two in f64.
// CHECK-LABEL: func.func @other_numbers
// CHECK-NOT: train.gelu
func.func @other_numbers(%x: tensor<8xf32>, %z: tensor<8xf64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf64>) {
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %short = train.constant dense<0.7071> : tensor<f32> : tensor<f32>
  %inverse = train.constant dense<0.70710677> : tensor<f32> : tensor<f32>
  %0 = train.mul %x, %short : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = train.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = train.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = train.mul %x, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %a = train.mul %3, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = train.mul %x, %inverse : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = train.erf %4 : (tensor<8xf32>) -> tensor<8xf32>
  %6 = train.add %5, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %b = train.mul %x, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %half_f64 = train.constant dense<0.5> : tensor<f64> : tensor<f64>
  %one_f64 = train.constant dense<1.0> : tensor<f64> : tensor<f64>
  %root_f64 = train.constant dense<1.4142135> : tensor<f64> : tensor<f64>
  %7 = train.div %z, %root_f64 : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
  %8 = train.erf %7 : (tensor<8xf64>) -> tensor<8xf64>
  %9 = train.add %8, %one_f64 : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
  %10 = train.mul %z, %half_f64 : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
  %c = train.mul %10, %9 : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf64>
}

// -----

// 1 - erf, the root over x instead of x over the root, erf of another value, and a
// square instead of the cube.
// CHECK-LABEL: func.func @other_shapes_of_gelu
// CHECK-NOT: train.gelu
func.func @other_shapes_of_gelu(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %root = train.constant dense<1.4142135> : tensor<f32> : tensor<f32>
  %slope = train.constant dense<0.797884583> : tensor<f32> : tensor<f32>
  %cubic = train.constant dense<0.044715> : tensor<f32> : tensor<f32>
  %0 = train.div %x, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = train.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = train.sub %one, %1 : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %ha = train.mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a = train.mul %ha, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = train.div %root, %x : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = train.erf %3 : (tensor<8xf32>) -> tensor<8xf32>
  %5 = train.add %4, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %hb = train.mul %x, %5 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = train.mul %hb, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %6 = train.div %y, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = train.erf %6 : (tensor<8xf32>) -> tensor<8xf32>
  %8 = train.add %7, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %hc = train.mul %x, %8 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = train.mul %hc, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %9 = train.mul %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %10 = train.mul %9, %cubic : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %11 = train.add %x, %10 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %12 = train.mul %11, %slope : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %13 = train.tanh %12 : (tensor<8xf32>) -> tensor<8xf32>
  %14 = train.add %13, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %hd = train.mul %x, %14 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = train.mul %hd, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %a, %b, %c, %d : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A gate of another value, of one row for all, transposed, with a stopped gradient,
// and one with other uses.
// CHECK-LABEL: func.func @other_gates
// CHECK-NOT: train.silu
func.func @other_gates(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %row: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %0 = train.sigmoid %y : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = train.mul %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = train.sigmoid %row : (tensor<8xf32>) -> tensor<8xf32>
  %b = train.mul %x, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = train.add %x, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = train.sigmoid %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = train.mul %x, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = train.stop_gradient %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = train.sigmoid %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = train.mul %x, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = train.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = train.mul %x, %6 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %a, %b, %c, %d, %e, %6 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Other bounds, another offset, another number.
// CHECK-LABEL: func.func @other_bounds
// CHECK-NOT: train.hard
func.func @other_bounds(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %two = train.constant dense<2.0> : tensor<f32> : tensor<f32>
  %three = train.constant dense<3.0> : tensor<f32> : tensor<f32>
  %six = train.constant dense<6.0> : tensor<f32> : tensor<f32>
  %five = train.constant dense<5.0> : tensor<f32> : tensor<f32>
  %0 = train.add %x, %three : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = train.clip %0 {low = 0.0, high = 5.0} : (tensor<8xf32>) -> tensor<8xf32>
  %a = train.div %1, %six : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = train.add %x, %two : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = train.clip %2 {low = 0.0, high = 6.0} : (tensor<8xf32>) -> tensor<8xf32>
  %4 = train.div %3, %six : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %b = train.mul %x, %4 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = train.add %x, %three : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %6 = train.clip %5 {low = 0.0, high = 6.0} : (tensor<8xf32>) -> tensor<8xf32>
  %c = train.div %6, %five : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A number divided by itself is 1: the values of equal operands do not tell which one
// is the divisor.
// CHECK-LABEL: func.func @number_over_itself
// CHECK:         %[[SILU:.*]] = train.silu %{{.*}} {alpha = 1.000000e+00 : f64}
// CHECK-NOT:     train.constant dense<{{2.5|5.0|4.0}}
// CHECK:         return
func.func @number_over_itself(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %c = train.constant dense<2.0> : tensor<64x128xf32> : tensor<64x128xf32>
  %0 = train.div %c, %c : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = train.mul %x, %0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = train.sigmoid %x : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %3 = train.mul %1, %2 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  return %3 : tensor<64x128xf32>
}

// -----

// The sigmoid may have other uses.
// CHECK-LABEL: func.func @log_sigmoid
// CHECK:         %[[SIGMOID:.*]] = train.sigmoid %[[X:.*]] :
// CHECK:         %[[OPPOSITE:.*]] = train.neg %[[X]]
// CHECK:         %[[SOFTPLUS:.*]] = train.softplus %[[OPPOSITE]]
// CHECK:         %[[LOG:.*]] = train.neg %[[SOFTPLUS]]
// CHECK:         return %[[SIGMOID]], %[[LOG]]
func.func @log_sigmoid(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = train.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = train.log %0 : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
