// RUN: mpc-opt %s --mpc-lower-to-linalg | FileCheck %s

// A cast down rounds, a cast up widens, and a cast between the 16-bit types goes
// through f32.
// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf16>) {
  // CHECK: linalg.generic
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %low = amp.cast %x : tensor<8xf32> to tensor<8xbf16>
  // CHECK: linalg.generic
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  %wide = amp.cast %low : tensor<8xbf16> to tensor<8xf32>
  // CHECK: linalg.generic
  // CHECK: %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.truncf %[[W]] : f32 to f16
  %half = amp.cast %low : tensor<8xbf16> to tensor<8xf16>
  return %wide, %half : tensor<8xf32>, tensor<8xf16>
}

// CHECK-LABEL: func.func @scale_loss
func.func @scale_loss(%loss: tensor<f32>, %s: tensor<f32>) -> tensor<f32> {
  // CHECK: linalg.generic
  // CHECK: arith.mulf
  %0 = amp.scale_loss %loss, %s
  return %0 : tensor<f32>
}

// Row sums of x * 0, their sum, and one comparison. No fast-math flag may let
// x * 0 become 0.
// CHECK-LABEL: func.func @all_finite
func.func @all_finite(%g: tensor<3x1024xf32>) -> tensor<i1> {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
  // CHECK: %[[ZERO:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  // CHECK: arith.addf %{{.*}}, %[[ZERO]] : f32
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]}
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f32
  // CHECK: linalg.generic {{.*}}iterator_types = []}
  // CHECK: arith.cmpf oeq, %{{.*}}, %{{.*}} : f32
  // CHECK: tensor<i1>
  %0 = amp.all_finite %g : tensor<3x1024xf32>
  return %0 : tensor<i1>
}

// CHECK-LABEL: func.func @all_finite_scalar
func.func @all_finite_scalar(%g: tensor<f32>) -> tensor<i1> {
  // CHECK-NOT: reduction
  // CHECK: arith.cmpf oeq
  %0 = amp.all_finite %g : tensor<f32>
  return %0 : tensor<i1>
}

// CHECK-LABEL: func.func @all_finite_of_several
func.func @all_finite_of_several(%g: tensor<f32>, %h: tensor<f32>) -> tensor<i1> {
  // CHECK: arith.addf
  // CHECK: arith.cmpf oeq
  %0 = amp.all_finite %g, %h : tensor<f32>, tensor<f32>
  return %0 : tensor<i1>
}

// Selects the new value if x * 0 is not NaN; integers are selected by the flag.
// CHECK-LABEL: func.func @commit
func.func @commit(%new: tensor<8xf32>, %old: tensor<8xf32>, %n: tensor<i64>, %m: tensor<i64>, %ok: tensor<i1>)
    -> (tensor<8xf32>, tensor<i64>) {
  // CHECK: linalg.generic
  // CHECK: ^bb0(%[[NEW:.*]]: f32, %[[OLD:.*]]: f32, %[[OK:.*]]: i1,
  // CHECK: %[[ZERO:.*]] = arith.mulf %[[NEW]], %{{.*}} : f32
  // CHECK: %[[FINITE:.*]] = arith.cmpf ord, %[[ZERO]], %[[ZERO]] : f32
  // CHECK: %[[KEEP:.*]] = arith.andi %[[OK]], %[[FINITE]]
  // CHECK: arith.select %[[KEEP]], %[[NEW]], %[[OLD]] : f32
  %0 = amp.select_if_finite %new over %old if %ok : tensor<8xf32>
  // CHECK: linalg.generic
  // CHECK-NOT: arith.cmpf
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
  %1 = amp.select_if_finite %n over %m if %ok : tensor<i64>
  return %0, %1 : tensor<8xf32>, tensor<i64>
}

// One division of scalars; a product for each element.
// CHECK-LABEL: func.func @unscale
func.func @unscale(%g: tensor<3x1024xf32>, %s: tensor<f32>) -> tensor<3x1024xf32> {
  // CHECK: linalg.generic {{.*}}iterator_types = []}
  // CHECK: arith.divf
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]}
  // CHECK-NOT: arith.divf
  // CHECK: arith.mulf
  %0 = amp.unscale %g, %s : tensor<3x1024xf32>
  return %0 : tensor<3x1024xf32>
}

// CHECK-LABEL: func.func @update_scale
func.func @update_scale(%s: tensor<f32>, %n: tensor<i32>, %ok: tensor<i1>)
    -> (tensor<f32>, tensor<i32>) {
  // CHECK: linalg.generic {{.*}}iterator_types = []}
  // CHECK: -> (tensor<f32>, tensor<i32>)
  %s1, %n1 = amp.update_scale %s, %n if %ok
      {backoff = 0.5 : f32, growth = 2.0 : f32, interval = 2000 : i32}
  return %s1, %n1 : tensor<f32>, tensor<i32>
}

// The second result is the rounding error of bf16; the sum restores the value.
// CHECK-LABEL: func.func @masters
func.func @masters(%w: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: ^bb0(%[[W:.*]]: f32
  // CHECK: %[[V:.*]] = arith.truncf %[[W]] : f32 to bf16
  // CHECK: %[[WIDE:.*]] = arith.extf %[[V]] : bf16 to f32
  // CHECK: %[[REST:.*]] = arith.subf %[[W]], %[[WIDE]]
  // CHECK: %[[R:.*]] = arith.truncf %[[REST]] : f32 to bf16
  // CHECK: linalg.yield %[[V]], %[[R]] : bf16, bf16
  %v, %r = amp.split_compensated %w : tensor<8xf32> to tensor<8xbf16>
  // CHECK: arith.addf
  %j = amp.join_compensated %v, %r : tensor<8xbf16> to tensor<8xf32>
  return %j : tensor<8xf32>
}
