// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// Six heads of the query, two of the key and two of the value in one tensor; the
// logarithms of the sums lie as for other attention.
// CHECK-LABEL: func.func @packed
func.func @packed(%x: tensor<2x5x10x8xbf16>, %g: tensor<2x5x6x8xbf16>) -> tensor<2x5x10x8xbf16> {
  // CHECK: %[[Y:.*]], %[[SUMS:.*]] = train.packed_attention %{{.*}} {causal, key_heads = 2 : i64, scale = 2.500000e-01 : f32} : (tensor<2x5x10x8xbf16>) -> (tensor<2x5x6x8xbf16>, tensor<2x2x6x5xf32>)
  %y, %sums = train.packed_attention %x {causal, key_heads = 2 : i64, scale = 0.25 : f32} : (tensor<2x5x10x8xbf16>) -> (tensor<2x5x6x8xbf16>, tensor<2x2x6x5xf32>)
  // CHECK: train.packed_attention_grad %{{.*}}, %{{.*}}, %[[Y]], %[[SUMS]] {causal, key_heads = 2 : i64, scale = 2.500000e-01 : f32} : (tensor<2x5x6x8xbf16>, tensor<2x5x10x8xbf16>, tensor<2x5x6x8xbf16>, tensor<2x2x6x5xf32>) -> tensor<2x5x10x8xbf16>
  %d = train.packed_attention_grad %g, %x, %y, %sums {causal, key_heads = 2 : i64, scale = 0.25 : f32} : (tensor<2x5x6x8xbf16>, tensor<2x5x10x8xbf16>, tensor<2x5x6x8xbf16>, tensor<2x2x6x5xf32>) -> tensor<2x5x10x8xbf16>
  return %d : tensor<2x5x10x8xbf16>
}

// The same with the sequence in front of the batch.
// CHECK-LABEL: func.func @sequence_first
func.func @sequence_first(%x: tensor<5x2x10x8xbf16>, %g: tensor<5x2x6x8xbf16>) -> tensor<5x2x10x8xbf16> {
  // CHECK: train.packed_attention %{{.*}} {key_heads = 2 : i64, scale = 2.500000e-01 : f32, sequence_first} : (tensor<5x2x10x8xbf16>) -> (tensor<5x2x6x8xbf16>, tensor<2x2x6x5xf32>)
  %y, %sums = train.packed_attention %x {key_heads = 2 : i64, scale = 0.25 : f32, sequence_first} : (tensor<5x2x10x8xbf16>) -> (tensor<5x2x6x8xbf16>, tensor<2x2x6x5xf32>)
  // CHECK: train.packed_attention_grad {{.*}} {key_heads = 2 : i64, scale = 2.500000e-01 : f32, sequence_first}
  %d = train.packed_attention_grad %g, %x, %y, %sums {key_heads = 2 : i64, scale = 0.25 : f32, sequence_first} : (tensor<5x2x6x8xbf16>, tensor<5x2x10x8xbf16>, tensor<5x2x6x8xbf16>, tensor<2x2x6x5xf32>) -> tensor<5x2x10x8xbf16>
  return %d : tensor<5x2x10x8xbf16>
}
