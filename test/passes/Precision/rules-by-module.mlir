// RUN: mpc-opt %s -pass-pipeline='builtin.module(mpc-assign-precision{precision=bf16 op-precision=head=fp32})' | FileCheck %s
// RUN: not mpc-opt %s -pass-pipeline='builtin.module(mpc-assign-precision{precision=bf16 op-precision=haed=fp32})' 2>&1 | FileCheck %s --check-prefix=NEAREST
// RUN: not mpc-opt %s -pass-pipeline='builtin.module(mpc-assign-precision{precision=bf16 op-precision=weight=fp32})' 2>&1 | FileCheck %s --check-prefix=WEIGHT

// Rules match nodes by their modules if an exporter recorded these, because its node
// names have no meaning. Reads of weights are not nodes.
// CHECK-LABEL: func.func @predict
// CHECK:       train.matmul {{.*}}(tensor<64x64xbf16>, tensor<64x64xbf16>)
// CHECK:       train.matmul {{.*}}mpc.precision.decision = #amp.decision<"option.op-precision", {{.*}}>{{.*}}} : (tensor<64x64xf32>, tensor<64x64xf32>)
// NEAREST:     error: option 'op-precision'='haed=fp32' matches no node and no op type; similar name{{.*}}'head'
// WEIGHT:      error: option 'op-precision'='weight=fp32' matches no node and no op type
module attributes {mpc.module_paths = {node_linear = "blocks.0.fc", node_linear_1 = "head"}} {
  train.state @head.weight constant : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
  func.func @predict(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {train.entry = #train.entry<predict>} {
    %w = train.read @head.weight : tensor<64x64xf32> loc("head.weight"(""))
    %0 = train.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("node_linear"("Gemm"))
    %1 = train.matmul %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("node_linear_1"("Gemm"))
    return %1 : tensor<64x64xf32>
  }
}
