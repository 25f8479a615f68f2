// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" --mpc-elide-casts --mpc-use-working-copy --split-input-file | mpc-opt --mpc-verify-precision --split-input-file

// Values that f16 cannot represent are f32, and the reason has the number.
// CHECK-LABEL: func.func @unsafe
func.func @unsafe(%x: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %mask = train.constant dense<-1.0e+09> : tensor<1x64xf32> : tensor<1x64xf32>
  // CHECK: train.add {{.*}}<"pin.range", 1.000000e+09{{.*}}, f16, 6.550400e+04{{.*}}>{{.*}} -> tensor<32x64xf32>
  %1 = train.add %0, %mask : (tensor<32x64xf32>, tensor<1x64xf32>) -> tensor<32x64xf32>
  %m1 = train.matmul %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %epsilon = train.constant dense<1.0e-12> : tensor<f32> : tensor<f32>
  // CHECK: train.add {{.*}}<"pin.range.small", 9.99{{.*}}E-13{{.*}}, f16, {{.*}}>{{.*}} -> tensor<32x64xf32>
  %2 = train.add %0, %epsilon : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  %m2 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // Being an integer does not bound a value.
  %p = train.constant dense<70000> : tensor<1x64xi64> : tensor<1x64xi64>
  %f = train.cast %p {to = f32} : (tensor<1x64xi64>) -> tensor<1x64xf32>
  // CHECK: train.add {{.*}}<"pin.range", 7.000000e+04{{.*}}, f16, {{.*}}>{{.*}} -> tensor<32x64xf32>
  %3 = train.add %0, %f : (tensor<32x64xf32>, tensor<1x64xf32>) -> tensor<32x64xf32>
  %m3 = train.matmul %3, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // No element is small enough, with no constant that is too large.
  %offset = train.constant dense<4.0e+04> : tensor<1x64xf32> : tensor<1x64xf32>
  %t = train.sigmoid %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %4 = train.add %t, %offset : (tensor<32x64xf32>, tensor<1x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.add {{.*}}"pin.range", {{.*}}range = "[7.99e+04, 8.09e+04]; may be nan"{{.*}} -> tensor<32x64xf32>
  %5 = train.add %4, %4 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %m4 = train.matmul %5, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %m1, %m2, %m3, %m4 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// A mask that is clipped is no longer one.
// CHECK-LABEL: func.func @clipped
func.func @clipped(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %mask = train.constant dense<-1.0e+09> : tensor<1x64xf32> : tensor<1x64xf32>
  // CHECK: train.add {{.*}} -> tensor<32x64xf32>
  %1 = train.add %0, %mask : (tensor<32x64xf32>, tensor<1x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.clip {{.*}}range = "[-100, 100]; may be nan"
  %2 = train.clip %1 {high = 100.0 : f64, low = -100.0 : f64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.softmax {{.*}}range = "[0, 1]; may be nan"
  %3 = train.softmax %2 {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.tanh {{.*}} -> tensor<32x64xf16>
  %4 = train.tanh %3 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.matmul
  %5 = train.matmul %4, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %5 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// In f16, a square and a reciprocal are f32 unless their results are proven to be
// neither too large nor too small.
// CHECK-LABEL: func.func @safe
func.func @safe() -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  %x = train.random {index = 0 : i64, normal, shape = array<i64: 32, 64>} : () -> tensor<32x64xf32>
  %t = train.tanh %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %k = train.read @frozen : tensor<64x64xf32>
  // A product with frozen weights.
  // CHECK: train.matmul {{.*}}range = "[-130, 130]"
  %0 = train.matmul %t, %k : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %two = train.constant dense<2.0> : tensor<f32> : tensor<f32>
  %s = train.sigmoid %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.add {{.*}}range = "[2, 3]"{{.*}} -> tensor<32x64xf16>
  %1 = train.add %s, %two : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  // CHECK: train.mul {{.*}}"cut.moves-more"{{.*}}mpc.precision.proven, mpc.precision.range = "[4, 9]{{.*}} -> tensor<32x64xf16>
  %2 = train.mul %1, %1 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.div {{.*}}mpc.precision.proven{{.*}} -> tensor<32x64xf16>
  %4 = train.div %two, %1 : (tensor<f32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %5 = train.matmul %4, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // The square of a probability may be too small.
  // CHECK: train.mul {{.*}}"class"{{.*}} -> tensor<32x64xf32>
  %6 = train.mul %s, %s : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %7 = train.matmul %6, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3, %5, %7 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>
train.state @frozen constant : tensor<64x64xf32> = dense<2.0> : tensor<64x64xf32>

// -----

// Weighted means are in the range of the values, and a norm without weights is bounded by
// the root of its extent: norms of rows bound later values.
// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %one = train.constant dense<1.0> : tensor<64xf32> : tensor<64xf32>
  %k = train.read @frozen : tensor<64x64xf32>
  %p = train.softmax %x {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.matmul {{.*}}range = "[0, 2.02]; may be nan"
  %0 = train.matmul %p, %k : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.rms_norm {{.*}}range = "[-8.06, 8.06]; may be infinite or nan"
  %n, %inv = train.rms_norm %x, %one {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<32x64xf32>, tensor<64xf32>) -> (tensor<32x64xf32>, tensor<32xf32>)
  // 8 of the norm times 8 of the weights' columns times 2, not 64 times 16.
  // CHECK: train.matmul {{.*}}range = "[-129, 129]; may be infinite or nan"
  %1 = train.matmul %n, %k : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %0, %1 : tensor<32x64xf32>, tensor<32x64xf32>
}
train.state @frozen constant : tensor<64x64xf32> = dense<2.0> : tensor<64x64xf32>

// -----

// A probability that underflows in f16 must not be the operand of a logarithm or a
// divisor; a product may still read it.
// CHECK-LABEL: func.func @poles
func.func @poles(%x: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.softmax {{.*}}"cut.pole"{{.*}} -> tensor<32x64xf32>
  %p = train.softmax %0 {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.matmul {{.*}} : (tensor<32x64xf16>, tensor<64x64xf16>)
  %1 = train.matmul %p, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.transpose {{.*}} -> tensor<64x32xf32>
  %t = train.transpose %p {permutation = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %2 = train.log %t : (tensor<64x32xf32>) -> tensor<64x32xf32>
  // CHECK: train.sigmoid {{.*}} -> tensor<32x64xf32>
  %s = train.sigmoid %1 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %m = train.matmul %s, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %3 = train.div %m, %s : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %4 = train.matmul %3, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // A root has a value at 0.
  // CHECK: train.sigmoid {{.*}} -> tensor<32x64xf16>
  %q = train.sigmoid %4 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %5 = train.matmul %q, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %6 = train.sqrt %q : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %1, %2, %4, %5, %6 : tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>
