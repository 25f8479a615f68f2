// RUN: split-file %s %t
// RUN: not mpc-opt %t/f.mlir --mpc-assign-precision=precision=int8 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not mpc-opt %t/f.mlir --mpc-assign-precision="keep-fp32=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mpc-opt %t/f.mlir --mpc-assign-precision="keep-fp32=fc force-low=Gemm" 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: not mpc-opt %t/f.mlir --mpc-assign-precision="keep-fp32=typo force-low=fc" 2>&1 | FileCheck %s --check-prefix=UNUSED

// PRECISION: error: option 'precision' must be fp32, tf32, bf16, fp16, fp8 or auto, but is 'int8'
// REGEX: error: option 'keep-fp32' is not a regular expression: '('
// CONFLICT: error: {{.*}}option 'keep-fp32' and option 'force-low' both match node 'fc'
// UNUSED: error: option 'keep-fp32'='typo' matches no node and no op type{{$}}
// UNUSED-NOT: force-low

//--- f.mlir
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("fc"("Gemm"))
  return %0 : tensor<4x8xf32>
}
