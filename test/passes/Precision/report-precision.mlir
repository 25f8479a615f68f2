// RUN: mpc-opt %s --mpc-report-precision | FileCheck %s
// RUN: mpc-opt %s --mpc-report-precision | FileCheck %s --check-prefix=TOTALS

// Types, casts and decisions are read off the IR. The cast in the optimizer is
// neither counted nor listed; that of an activation is. Operands say where they
// come from: a packed weight by its name in the file, through its copy. Keys are
// in alphabetical order.
// CHECK: mpc.report = "{\22functions\22:[{\22casts\22:[{\22bytes\22:384,\22from\22:\22f32\22,\22input\22:true,\22to\22:\22bf16\22,\22weight\22:false}],\22name\22:\22step\22,\22ops\22:[
// CHECK-SAME: {\22accumulate_dtype\22:\22f32\22,\22bytes\22:896,\22bytes_16bit\22:384,\22casts_in\22:1,\22casts_out\22:0,\22class\22:\22low\22,\22dtype\22:\22f32\22,\22flops\22:2048,\22flops_16bit\22:2048,
// CHECK-SAME: \22inputs\22:[{\22bytes\22:128,\22cast\22:0,\22dtype\22:\22bf16\22,\22input\22:true},{\22bytes\22:256,\22dtype\22:\22bf16\22,\22state\22:\22fc1.weight\22}],
// CHECK-SAME: \22node\22:\22fc1\22,\22op\22:\22train.matmul\22,\22operand_dtype\22:\22bf16\22,\22reason\22:\22{{[^\\]+}}\22,\22rule\22:\22class\22,\22rule_id\22:\22class\22,\22terms\22:[\22contracted\22],\22type\22:\22Gemm\22}
// A view has no sums and moves nothing. It reads what a line made.
// CHECK-SAME: {\22accumulate_dtype\22:\22\22,\22bytes\22:0,
// CHECK-SAME: \22inputs\22:[{\22bytes\22:512,\22dtype\22:\22f32\22,\22op\22:0}]
// CHECK-SAME: \22op\22:\22train.reshape\22
// TOTALS: \22precision\22:\22bf16\22,\22totals\22:{\22bytes\22:{{[0-9]+}},\22bytes_16bit\22:2560,\22casts\22:1,\22flops\22:6144,\22flops_16bit\22:2048,\22weight_casts\22:0},\22version\22:1}"
module attributes {mpc.precision = "bf16"} {
  train.state @parameters parameter {slots = [#train.slot<"fc1.weight", 0, [8, 16]>]} : tensor<1x1024xf32>
  train.state @parameters.bf16 working_copy {of = @parameters} : tensor<1x1024xbf16>
  func.func @step(%x: tensor<8x8xf32>, %lr: tensor<f32>) -> tensor<128xf32> attributes {train.entry = #train.entry<step>} {
    %p = train.read @parameters : tensor<1x1024xf32>
    %q = train.read @parameters.bf16 : tensor<1x1024xbf16>
    %w = train.unpack %q {offset = 0 : i64} : (tensor<1x1024xbf16>) -> tensor<8x16xbf16>
    %low = amp.cast %x : tensor<8x8xf32> to tensor<8x8xbf16>
    %0 = train.matmul %low, %w {mpc.precision.decision = #amp.decision<"class">} : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<8x16xf32> loc("fc1"("Gemm"))
    %1 = train.reshape %0 : (tensor<8x16xf32>) -> tensor<128xf32>
    %new = train.sgd %p, %p, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
    train.write @parameters, %new : tensor<1x1024xf32>
    %rounded = amp.cast %new : tensor<1x1024xf32> to tensor<1x1024xbf16>
    train.write @parameters.bf16, %rounded : tensor<1x1024xbf16>
    return %1 : tensor<128xf32>
  }
}
