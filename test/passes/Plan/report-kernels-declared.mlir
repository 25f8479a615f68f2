// RUN: mpc-opt %s --mpc-report-kernels | FileCheck %s

// A launch of a kernel that is only declared, and one of an unknown kernel. The
// contents of buffers and the size of memory are not given.
// CHECK:       mpc.kernel_report = "{\22arena_bytes\22:0,\22arena_bytes_unshared\22:0,
// CHECK-SAME:  \22entries\22:[{\22bytes\22:128,\22bytes_16bit\22:0,\22bytes_required\22:0,\22calls\22:0,\22launches\22:2,\22live_bytes\22:[0,0],\22live_stride\22:1,\22name\22:\22step\22,\22sequence\22:[0]}],
// CHECK-SAME:  \22kernels\22:[{\22bytes\22:128,\22flops\22:0,\22launches\22:{\22step\22:1},\22name\22:\22kernel_0\22,\22node\22:\22\22}],\22library_calls\22:[],\22state_bytes\22:0,\22transposes\22:[]}"
func.func private @kernel_0(tensor<16xf32>) -> tensor<16xf32> attributes {mpc.kernel}
exec.entry @step inputs = [] outputs = [] {
  exec.launch @kernel_0 items 1 grain 1 [#exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<4x4xf32>>]
  exec.launch @kernel_1 items 1 grain 1 []
}
