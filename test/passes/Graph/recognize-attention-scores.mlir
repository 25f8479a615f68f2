// RUN: mpc-opt %s --mpc-recognize-attention --canonicalize --split-input-file | FileCheck %s

// The soft cap of Gemma 2. The mask is added to capped scores.
// CHECK-LABEL: func.func @capped
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x5x8xf32>, %[[M:.*]]: tensor<5x5xf32>)
func.func @capped(%q: tensor<2x3x5x8xf32>, %mask: tensor<5x5xf32>) -> tensor<2x3x5x8xf32> {
  // CHECK: %[[B:.*]] = train.reshape %[[M]]
  // CHECK: train.attention %[[Q]], %[[Q]], %[[Q]], %[[B]] {scale = 2.500000e-01 : f32, softcap = 8.000000e+00 : f32}
  // CHECK-NOT: train.tanh
  %scale = train.constant dense<0.25> : tensor<f32> : tensor<f32>
  %cap = train.constant dense<8.0> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) -> tensor<2x3x5x5xf32>
  %t = train.mul %s, %scale : (tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3x5x5xf32>
  %u = train.div %t, %cap : (tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3x5x5xf32>
  %v = train.tanh %u : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %w = train.mul %v, %cap : (tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3x5x5xf32>
  %m = train.add %w, %mask : (tensor<2x3x5x5xf32>, tensor<5x5xf32>) -> tensor<2x3x5x5xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x3x5x5xf32>, tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
  return %y : tensor<2x3x5x8xf32>
}

// -----

// A cap of 1, and a negative number outside: tanh is odd.
// CHECK-LABEL: func.func @unusual
func.func @unusual(%q: tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>) {
  // CHECK: train.attention {{.*}} {scale = 1.000000e+00 : f32, softcap = 1.000000e+00 : f32}
  // CHECK: train.attention {{.*}} {scale = -4.000000e+00 : f32, softcap = 4.000000e+00 : f32}
  %four = train.constant dense<-4.0> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %t = train.tanh %s : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %t {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %s1 = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %t1 = train.tanh %s1 : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %u1 = train.mul %t1, %four : (tensor<2x5x5xf32>, tensor<f32>) -> tensor<2x5x5xf32>
  %p1 = train.softmax %u1 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y1 = train.matmul %p1, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y, %y1 : tensor<2x5x8xf32>, tensor<2x5x8xf32>
}

// -----

// A bias within the cap.
// CHECK-LABEL: func.func @inner_bias
// CHECK-NOT: train.attention
func.func @inner_bias(%q: tensor<2x5x8xf32>, %b: tensor<5x5xf32>) -> tensor<2x5x8xf32> {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %a = train.add %s, %b : (tensor<2x5x5xf32>, tensor<5x5xf32>) -> tensor<2x5x5xf32>
  %t = train.tanh %a : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %t {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// GPT-Neo: a window replaces scores by a number, to which a mask is added. Where
// the window hides a key, the score is their sum.
// CHECK-LABEL: func.func @window_and_mask
// CHECK-SAME: (%[[Q:.*]]: tensor<1x3x2x8xf32>, %[[M:.*]]: tensor<1x1x1x2xf32>)
func.func @window_and_mask(%q: tensor<1x3x2x8xf32>, %mask: tensor<1x1x1x2xf32>) -> tensor<1x3x2x8xf32> {
  // CHECK-DAG: %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<f32>
  // CHECK-DAG: %[[WINDOW:.*]] = train.constant dense<{{.*}}[0.000000e+00, -1.000000e+30], [-1.000000e+30, 0.000000e+00]{{.*}}> : tensor<1x1x2x2xf32>
  // CHECK: %[[SUM:.*]] = train.add %[[WINDOW]], %[[M]]
  // CHECK: %[[KEPT:.*]] = train.compare %[[WINDOW]], %[[ZERO]] {comparison = #train<comparison equal>}
  // CHECK: %[[OTHERS:.*]] = train.select %[[KEPT]], %[[ZERO]], %[[SUM]]
  // CHECK: train.attention %[[Q]], %[[Q]], %[[Q]], %[[M]], %[[OTHERS]] {replacing = 1 : i64, scale = 1.000000e+00 : f32}
  %window = train.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1> : tensor<2x2xi1>
  %low = train.constant dense<-1.0e+30> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>) -> tensor<1x3x2x2xf32>
  %m = train.select %window, %s, %low : (tensor<2x2xi1>, tensor<1x3x2x2xf32>, tensor<f32>) -> tensor<1x3x2x2xf32>
  %n = train.add %m, %mask : (tensor<1x3x2x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x3x2x2xf32>
  %p = train.softmax %n {axis = 3 : i64} : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  %y = train.matmul %p, %q : (tensor<1x3x2x2xf32>, tensor<1x3x2x8xf32>) -> tensor<1x3x2x8xf32>
  return %y : tensor<1x3x2x8xf32>
}

// -----

// A number replaces scores after minus infinity hid later keys: attention is not
// causal, and two numbers, the last of which counts.
// CHECK-LABEL: func.func @last_number
// CHECK-SAME: (%[[Q:.*]]: tensor<1x3x2x8xf32>, %[[C:.*]]: tensor<2x2xi1>, %[[D:.*]]: tensor<2x2xi1>)
func.func @last_number(%q: tensor<1x3x2x8xf32>, %c: tensor<2x2xi1>, %d: tensor<2x2xi1>) -> tensor<1x3x2x8xf32> {
  // CHECK-DAG: %[[CAUSAL:.*]] = train.constant dense<{{.*}}0xFF800000{{.*}}> : tensor<1x1x2x2xf32>
  // CHECK-DAG: %[[FIRST:.*]] = train.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<1x1x2x2xi1>, tensor<f32>, tensor<f32>)
  // CHECK-DAG: %[[SECOND:.*]] = train.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<1x1x2x2xi1>, tensor<f32>, tensor<f32>)
  // CHECK: %[[KEPT:.*]] = train.compare %[[SECOND]]
  // CHECK: %[[OTHERS:.*]] = train.select %[[KEPT]], %[[FIRST]], %[[SECOND]]
  // CHECK: train.attention %[[Q]], %[[Q]], %[[Q]], %[[CAUSAL]], %[[OTHERS]] {replacing = 1 : i64, scale = 1.000000e+00 : f32}
  %causal = train.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %low = train.constant dense<-1.0e+30> : tensor<f32> : tensor<f32>
  %lower = train.constant dense<-2.0e+30> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>) -> tensor<1x3x2x2xf32>
  %a = train.add %s, %causal : (tensor<1x3x2x2xf32>, tensor<2x2xf32>) -> tensor<1x3x2x2xf32>
  %m = train.select %c, %a, %low : (tensor<2x2xi1>, tensor<1x3x2x2xf32>, tensor<f32>) -> tensor<1x3x2x2xf32>
  %n = train.select %d, %m, %lower : (tensor<2x2xi1>, tensor<1x3x2x2xf32>, tensor<f32>) -> tensor<1x3x2x2xf32>
  %p = train.softmax %n {axis = 3 : i64} : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  %y = train.matmul %p, %q : (tensor<1x3x2x2xf32>, tensor<1x3x2x8xf32>) -> tensor<1x3x2x8xf32>
  return %y : tensor<1x3x2x8xf32>
}
