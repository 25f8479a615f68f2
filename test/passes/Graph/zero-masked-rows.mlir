// RUN: mpc-opt %s --mpc-zero-masked-rows --split-input-file | FileCheck %s

train.state @mask constant : tensor<1x4xf32> = dense<[[0.0, 0xFF800000, 0.0, 0.0]]> : tensor<1x4xf32>
train.state @bias parameter : tensor<1x4xf32> = dense<[[0.0, 0xFF800000, 0.0, 0.0]]> : tensor<1x4xf32>
// Masks that select, or that are added, as a tensor of the file or as an input; or two
// masks whose sum overflows f32.
// CHECK-LABEL: func.func @predict
func.func @predict(%q: tensor<4x4xf32>, %seen: tensor<4x4xi1>, %m: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {train.entry = #train.entry<predict>} {
  %s = train.matmul %q, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %inf = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  %0 = train.select %seen, %s, %inf : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  // CHECK: train.softmax {{.*}} {axis = 1 : i64, zero_empty}
  %p0 = train.softmax %0 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %mask = train.read @mask : tensor<1x4xf32>
  %1 = train.add %s, %mask : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  // CHECK: train.softmax {{.*}} {axis = 1 : i64, zero_empty}
  %p1 = train.softmax %1 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.add %s, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: train.softmax {{.*}} {axis = 1 : i64, zero_empty}
  %p2 = train.softmax %2 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %low = train.constant dense<-3.40282347e+38> : tensor<1x4xf32> : tensor<1x4xf32>
  %3 = train.add %s, %low : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  // CHECK: train.softmax {{.*}} {axis = 1 : i64} :
  %p3 = train.softmax %3 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = train.add %3, %low : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  // CHECK: train.softmax {{.*}} {axis = 1 : i64, zero_empty}
  %p4 = train.softmax %4 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p0, %p1, %p2, %p3, %p4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

train.state @bias parameter : tensor<1x4xf32> = dense<[[0.0, 0xFF800000, 0.0, 0.0]]> : tensor<1x4xf32>
// Not if only the scores may overflow, which must remain visible. Weights are not masks,
// whatever their initial values, and the result of a product or a norm is not a mask
// any more.
// CHECK-LABEL: func.func @predict
func.func @predict(%q: tensor<4x4xf32>, %m: tensor<4x4xf32>, %g: tensor<4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {train.entry = #train.entry<predict>} {
  // CHECK-NOT: zero_empty
  %s = train.matmul %q, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p0 = train.softmax %s {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %bias = train.read @bias : tensor<1x4xf32>
  %1 = train.add %s, %bias : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %p1 = train.softmax %1 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n, %inv = train.rms_norm %m, %g {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  %p2 = train.softmax %n {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = train.clip %m {high = 8.0 : f64, low = -8.0 : f64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p3 = train.softmax %c {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p0, %p1, %p2, %p3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
