// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --mpc-lower-gpu-kernels -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mpc-translate --kernels-to-ptx --arch=sm_80 %t.mlir | FileCheck %s --check-prefix=PTX
// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --mpc-lower-gpu-kernels=simulate | FileCheck %s --check-prefix=SIM

// Attributes of GPU kernels, and the GPU's own exp2; no function is called.
// CHECK-LABEL: llvm.func @softmax_sums(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) attributes {
// CHECK-SAME:    nvvm.kernel, nvvm.reqntid = array<i32: 1024>
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.ex2.approx"
// CHECK-NOT:     llvm.call @

// PTX:           .target sm_80
// PTX-LABEL:     .visible .entry softmax_sums(
// PTX:           .reqntid 1024
// PTX-NOT:       .local
// PTX:           .shared .align 16 .b8 softmax_sums_row0
// PTX:           ld.global.v4.b32
// PTX:           ex2.approx.f32
// PTX:           shfl.sync.bfly.b32
// PTX:           st.shared.b32
// PTX:           bar.sync 0
// PTX:           ld.shared.b32
// PTX-NOT:       call
// PTX:           st.global.b32
// PTX:           ret;

// On the host a kernel takes the parameters of a launch, and calls the simulator.
// SIM-LABEL:     llvm.func @softmax_sums(%{{[^,]*}}: !llvm.ptr)
// SIM-NOT:       nvvm
// SIM:           llvm.call @mpc_sim_thread_index
// SIM:           llvm.call @mpc_sim_shuffle_32
// SIM:           llvm.call @mpc_sim_static_shared
// SIM:           llvm.call @mpc_sim_block_barrier
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @softmax_sums(%x: tensor<64x8192xf32>) -> tensor<64xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x8192xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp2 %in : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}
