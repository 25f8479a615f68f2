// RUN: mpc-opt %s --mpc-stage-fusion --mpc-plan-memory --mpc-verify-plan | FileCheck %s
// RUN: mpc-opt %s --mpc-fuse-kernels=device=cuda --mpc-plan-memory=device=cuda | FileCheck %s --check-prefix=CUDA

// On hosts, nothing else lies where `backward` returns a gradient, because the runtime
// computes it in memory of the caller. Temporary values share memory.
// CHECK:       module attributes {exec.arena_size = 65536 : i64, exec.arena_unshared_size = 81920 : i64
// CHECK:         exec.entry @backward
// CHECK-SAME:    outputs = [{buffer = #exec.buffer<arena + [[GRADIENT:[0-9]+]] : tensor<64x64xf32>>, name = "gradient:w"}]
// CHECK-NOT:     arena + [[GRADIENT]] :
// CHECK:         exec.call "matmul" {{.*}} #exec.buffer<arena + [[GRADIENT]] : tensor<64x64xf32>>]
// CHECK-NEXT:{{^ +}}}

// CUDA:        module attributes {exec.arena_size = 49152 : i64
func.func @backward(%g: tensor<64x64xf32> {mpc.name = "gradient:y"}) -> (tensor<64x64xf32> {mpc.name = "gradient:w"}) attributes {train.entry = #train.entry<backward>} {
  %0 = train.matmul %g, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.matmul %0, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = train.matmul %1, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = train.matmul %2, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
