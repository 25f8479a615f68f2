// RUN: mpc-opt %s --mpc-use-working-copy --split-input-file --verify-diagnostics

// expected-error @+1 {{the working copy of 'w' must be called 'w.bf16', but that name is taken}}
train.state @w parameter : tensor<4xf32>
// expected-note @+1 {{by this}}
train.state @w.bf16 statistic : tensor<4xf32>
func.func @name_taken() -> tensor<4xbf16> {
  %w = train.read @w : tensor<4xf32>
  %low = amp.cast %w : tensor<4xf32> to tensor<4xbf16>
  return %low : tensor<4xbf16>
}
