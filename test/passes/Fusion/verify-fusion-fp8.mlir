// RUN: mpc-opt %s --mpc-verify-fusion='device=cuda features=sm_80,sm_89' --split-input-file --verify-diagnostics
// RUN: sed 's/WIDENED-/expected-/' %s | mpc-opt --mpc-verify-fusion='device=cuda features=sm_80' --split-input-file --verify-diagnostics
// RUN: sed 's/WIDENED-/expected-/; s/on cuda/on cpu/' %s | mpc-opt --mpc-verify-fusion --split-input-file --verify-diagnostics

// FP8 is read by products that remove the scales, if the device has them.
func.func @scaled(%x: tensor<16x32xf8E4M3FN>, %w: tensor<16x32xf8E5M2>, %f: tensor<f32>) -> tensor<16x16xbf16> {
  // WIDENED-error @+2 {{'scaled_matmul' does not read f8E4M3FN on cuda}}
  // WIDENED-note @+1 {{expected mpc-legalize-kernel-types to prevent this}}
  %0 = train.scaled_matmul %x, %w, %f, %f {transpose_rhs} : (tensor<16x32xf8E4M3FN>, tensor<16x32xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<16x16xbf16>
  return %0 : tensor<16x16xbf16>
}

// -----

// Never by others, on any device.
func.func @unscaled(%x: tensor<16x32xf8E5M2>, %w: tensor<16x32xf8E4M3FN>) -> tensor<16x16xf32> {
  // expected-error @+2 {{'matmul' does not read f8E5M2 on cuda}}
  // expected-note @+1 {{expected mpc-legalize-kernel-types to prevent this}}
  %0 = train.matmul %x, %w {transpose_rhs} : (tensor<16x32xf8E5M2>, tensor<16x32xf8E4M3FN>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
