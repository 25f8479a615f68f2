// RUN: mpc-opt %s -split-input-file -pass-pipeline='builtin.module(mpc-assign-precision{precision=tf32},mpc-use-tf32{on-cpu=true},mpc-verify-precision)' 2>&1 | FileCheck %s
// RUN: mpc-opt %s -split-input-file -pass-pipeline='builtin.module(mpc-assign-precision{precision=tf32 keep-fp32=fc1},mpc-use-tf32)' | FileCheck %s --check-prefix=KEPT
// RUN: mpc-opt %s -split-input-file -pass-pipeline='builtin.module(mpc-assign-precision{precision=bf16 op-precision=fc1=tf32},mpc-use-tf32,mpc-verify-precision)' | FileCheck %s --check-prefix=MIXED
// RUN: mpc-opt %s -split-input-file -pass-pipeline='builtin.module(mpc-assign-precision{precision=fp32},mpc-use-tf32{on-cpu=true})' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: mpc-opt %s -split-input-file -pass-pipeline='builtin.module(mpc-assign-precision{precision=fp32 op-precision=fc2=tf32},mpc-use-tf32)' | FileCheck %s --check-prefix=ONE

// Only products that read f32 are marked, except those that the user keeps in fp32; in
// other programs only those for which the user selects tf32.
// CHECK:       mpc.notes = ["tf32: CPUs multiply in f32
// CHECK:       train.matmul {{.*}}mpc.precision.decision = #amp.decision<"tf32">, mpc.tf32} : (tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK-NEXT:  train.relu {{.*}}#amp.decision<"precision"{{.*}} :
// CHECK-NEXT:  train.matmul {{.*}}mpc.tf32}
// KEPT-LABEL:  func.func @predict
// KEPT:        train.matmul
// KEPT-SAME:   mpc.precision.decision = #amp.decision<"option.keep-fp32", {{.*}}>
// KEPT:        train.matmul {{.*}}mpc.tf32}
// MIXED-LABEL: func.func @predict
// MIXED:       train.matmul {{.*}}mpc.precision.decision = #amp.decision<"option.op-precision", {{.*}}>, mpc.precision.format = #amp.format<tf32>{{.*}}mpc.tf32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
// MIXED:       train.matmul
// MIXED-NOT:   mpc.tf32
// MIXED-SAME:  (tensor<64x64xbf16>, tensor<64x64xbf16>)
// NONE-NOT:    tf32
// ONE:         train.matmul
// ONE-NOT:     mpc.tf32
// ONE-SAME:    #amp.decision<"precision", "fp32">}
// ONE:         train.matmul {{.*}}mpc.tf32}
module {
  func.func @predict(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {train.entry = #train.entry<predict>} {
    %0 = train.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("fc1"("Gemm"))
    %1 = train.relu %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = train.matmul %1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("fc2"("Gemm"))
    return %2 : tensor<64x64xf32>
  }
}
