// The gain of FP8 for a layer on an H100, including the cost of transposes, rounding and
// launches.

// DEFINE: %{extent} =
// DEFINE: %{rows} =
// DEFINE: %{check} =
// DEFINE: %{run} = sed 's/EXTENT/%{extent}/g; s/ROWS/%{rows}/g' %s | mpc-opt -pass-pipeline='builtin.module(mpc-use-fp8{fp8-amax-history=4 on-gpu fp8-all-layers})' | FileCheck %s --check-prefix=%{check}

// The width of GPT-2 small: the products save less than the other ops cost.
// REDEFINE: %{extent} = 768
// REDEFINE: %{rows} = 32768
// REDEFINE: %{check} = STAYS
// RUN: %{run}
// STAYS-NOT: amp.quantize
// STAYS:     train.matmul {{.*}}"fp8.kept.slower", {{[0-9.e+]+}}

// Wide layers gain.
// REDEFINE: %{extent} = 4096
// REDEFINE: %{check} = GAINS
// RUN: %{run}
// GAINS: amp.quantize
// GAINS: train.matmul {{.*}}f8E4M3FN

// But not with so few rows that launches take longer than products.
// REDEFINE: %{rows} = 128
// REDEFINE: %{check} = STAYS
// RUN: %{run}
module attributes {mpc.precision = "fp8"} {
  train.state @parameters parameter : tensor<EXTENTxEXTENTxf32>
  train.state @step_count step_count : tensor<i64>
  func.func @step(%x: tensor<ROWSxEXTENTxf32>) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<step>} {
    %p = train.read @parameters : tensor<EXTENTxEXTENTxf32>
    %w = train.unpack %p {offset = 0 : i64} : (tensor<EXTENTxEXTENTxf32>) -> tensor<EXTENTxEXTENTxf32>
    %l = amp.cast %w : tensor<EXTENTxEXTENTxf32> to tensor<EXTENTxEXTENTxbf16>
    %lx = amp.cast %x : tensor<ROWSxEXTENTxf32> to tensor<ROWSxEXTENTxbf16>
    %h = train.matmul %lx, %l : (tensor<ROWSxEXTENTxbf16>, tensor<EXTENTxEXTENTxbf16>) -> tensor<ROWSxEXTENTxbf16> layer "a" loc("a"("MatMul"))
    %wide = amp.cast %h : tensor<ROWSxEXTENTxbf16> to tensor<ROWSxEXTENTxf32>
    %loss = train.reduce_sum %wide {axes = array<i64: 0, 1>} : (tensor<ROWSxEXTENTxf32>) -> tensor<f32>
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %g = train.broadcast_to %seed : (tensor<f32>) -> tensor<ROWSxEXTENTxf32>
    %lg = amp.cast %g : tensor<ROWSxEXTENTxf32> to tensor<ROWSxEXTENTxbf16>
    %dw = train.matmul %lx, %lg {transpose_lhs, weight_gradient} : (tensor<ROWSxEXTENTxbf16>, tensor<ROWSxEXTENTxbf16>) -> tensor<EXTENTxEXTENTxf32> layer "a" loc("a.grad"("MatMul"))
    %dx = train.matmul %lg, %l {transpose_rhs} : (tensor<ROWSxEXTENTxbf16>, tensor<EXTENTxEXTENTxbf16>) -> tensor<ROWSxEXTENTxbf16> layer "a" loc("a.grad"("MatMul"))
    %gradients = train.pack %dw {mpc.gradients, offsets = array<i64: 0>} : (tensor<EXTENTxEXTENTxf32>) -> tensor<EXTENTxEXTENTxf32>
    %new = train.sub %p, %gradients : (tensor<EXTENTxEXTENTxf32>, tensor<EXTENTxEXTENTxf32>) -> tensor<EXTENTxEXTENTxf32>
    train.write @parameters, %new : tensor<EXTENTxEXTENTxf32>
    return %loss : tensor<f32>
  }
}
