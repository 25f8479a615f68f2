// RUN: mpc-opt %s --mpc-sink-into-joins --cse --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#low = affine_map<(d0, d1) -> (d0, d1 mod 4)>
#high = affine_map<(d0, d1) -> (d0, d1 + 2)>
#row = affine_map<(d0, d1) -> (0, d1)>

// A rotary embedding: x cos + [-x1, x0] sin. Each half reads slices and is written
// once; cos and sin are sliced, and the product with cos is computed where its
// slices go.
// CHECK-LABEL: func.func @rotary
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xf32>, %[[COS:.*]]: tensor<1x4xf32>, %[[SIN:.*]]: tensor<1x4xf32>)
// CHECK: arith.negf
// CHECK: arith.addf
// CHECK: %[[FIRST:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<3x2xf32>) outs(%{{.*}} : tensor<3x4xf32>)
// CHECK: arith.addf
// CHECK: %[[BOTH:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<3x2xf32>) outs(%[[FIRST]] : tensor<3x4xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return %[[BOTH]]
func.func @rotary(%x: tensor<3x4xf32>, %cos: tensor<1x4xf32>, %sin: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %half = tensor.empty() : tensor<3x2xf32>
  %whole = tensor.empty() : tensor<3x4xf32>
  %x0 = linalg.generic {indexing_maps = [#low, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x4xf32>) outs(%half : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x2xf32>
  %x1 = linalg.generic {indexing_maps = [#high, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x4xf32>) outs(%half : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x2xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x1 : tensor<3x2xf32>) outs(%half : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<3x2xf32>
  %j0 = linalg.generic {indexing_maps = [#id, #low], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<3x2xf32>) outs(%whole : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x4xf32>
  %j = linalg.generic {indexing_maps = [#id, #high], iterator_types = ["parallel", "parallel"]} ins(%x0 : tensor<3x2xf32>) outs(%j0 : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x4xf32>
  %c = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %cos : tensor<3x4xf32>, tensor<1x4xf32>) outs(%whole : tensor<3x4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<3x4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%j, %sin : tensor<3x4xf32>, tensor<1x4xf32>) outs(%whole : tensor<3x4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<3x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %s : tensor<3x4xf32>, tensor<3x4xf32>) outs(%whole : tensor<3x4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.addf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#low = affine_map<(d0, d1) -> (d0, d1 mod 4)>
#high = affine_map<(d0, d1) -> (d0, d1 + 1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// A transpose moves to what the parts read.
// CHECK: #[[$SWAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: #[[$BELOW:.*]] = affine_map<(d0, d1) -> (d0 + 1, d1)>
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[A:.*]]: tensor<3x1xf32>, %[[B:.*]]: tensor<3x3xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[$SWAP]], {{.*}} ins(%[[A]] : tensor<3x1xf32>) outs(%{{.*}} : tensor<1x3xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x3xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[$SWAP]], {{.*}} ins(%[[B]] : tensor<3x3xf32>) outs(%{{.*}} : tensor<3x3xf32>)
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[$BELOW]]]{{.*}} outs(%{{.*}} : tensor<4x3xf32>)
// CHECK-NOT: linalg.generic
func.func @transposed(%a: tensor<3x1xf32>, %b: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %whole = tensor.empty() : tensor<3x4xf32>
  %to = tensor.empty() : tensor<4x3xf32>
  %j0 = linalg.generic {indexing_maps = [#id, #low], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<3x1xf32>) outs(%whole : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x4xf32>
  %j = linalg.generic {indexing_maps = [#id, #high], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<3x3xf32>) outs(%j0 : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x4xf32>
  %t = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%j : tensor<3x4xf32>) outs(%to : tensor<4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x3xf32>
  return %t : tensor<4x3xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#low = affine_map<(d0, d1) -> (d0, d1 mod 4)>
#high = affine_map<(d0, d1) -> (d0, d1 + 2)>

// Another op reads the concatenation.
// CHECK-LABEL: func.func @two_readers
// CHECK: %[[J:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<3x4xf32>)
// CHECK: %[[K:.*]] = linalg.generic {{.*}} outs(%[[J]] : tensor<3x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[K]] : tensor<3x4xf32>)
// CHECK: return %{{.*}}, %[[K]]
func.func @two_readers(%a: tensor<3x2xf32>, %b: tensor<3x2xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %whole = tensor.empty() : tensor<3x4xf32>
  %j0 = linalg.generic {indexing_maps = [#id, #low], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<3x2xf32>) outs(%whole : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x4xf32>
  %j = linalg.generic {indexing_maps = [#id, #high], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<3x2xf32>) outs(%j0 : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x4xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%j : tensor<3x4xf32>) outs(%whole : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<3x4xf32>
  return %n, %j : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// The sum down the rows of a join that others read as well: large parts are summed
// one by one, and the sums are joined.
#x = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#first = affine_map<(d0, d1, d2) -> (d0, d1 mod 3, d2)>
#second = affine_map<(d0, d1, d2) -> (d0, d1 + 1, d2)>
#matrix = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @sum_of_parts
// CHECK-SAME: (%[[X:.*]]: tensor<1024x1x128xf32>, %[[Y:.*]]: tensor<1024x2x128xf32>)
// CHECK:      %[[XS:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<1024x128xf32>) outs(%{{.*}} : tensor<128xf32>)
// CHECK:        arith.addf
// CHECK:      %[[FIRST:.*]] = linalg.generic {{.*}} ins(%[[XS]] : tensor<128xf32>) outs(%{{.*}} : tensor<384xf32>)
// CHECK:      %[[YS:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<1024x256xf32>) outs(%{{.*}} : tensor<256xf32>)
// CHECK:        arith.addf
// CHECK:      %[[BOTH:.*]] = linalg.generic {{.*}} ins(%[[YS]] : tensor<256xf32>) outs(%[[FIRST]] : tensor<384xf32>)
// CHECK:      return %{{.*}}, %[[BOTH]]
func.func @sum_of_parts(%x: tensor<1024x1x128xf32>, %y: tensor<1024x2x128xf32>) -> (tensor<1024x3x128xf32>, tensor<384xf32>) {
  %zero = arith.constant 0.0 : f32
  %whole = tensor.empty() : tensor<1024x3x128xf32>
  %j0 = linalg.generic {indexing_maps = [#x, #first], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1024x1x128xf32>) outs(%whole : tensor<1024x3x128xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1024x3x128xf32>
  %j = linalg.generic {indexing_maps = [#x, #second], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<1024x2x128xf32>) outs(%j0 : tensor<1024x3x128xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1024x3x128xf32>
  %rows = tensor.collapse_shape %j [[0], [1, 2]] : tensor<1024x3x128xf32> into tensor<1024x384xf32>
  %vector = tensor.empty() : tensor<384xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%vector : tensor<384xf32>) -> tensor<384xf32>
  %s = linalg.generic {indexing_maps = [#matrix, #columns], iterator_types = ["reduction", "parallel"]} ins(%rows : tensor<1024x384xf32>) outs(%zeros : tensor<384xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<384xf32>
  return %j, %s : tensor<1024x3x128xf32>, tensor<384xf32>
}
