// The loops of recurrent.cpp, which includes this once for each instruction
// set, inside a namespace. It has no include guard.

#include "kernels/cpu/loops/tanh.h"

// 1 / (1 + e^-x), from an exponential that cannot overflow.
MPC_INLINE float sigmoid(float x) {
  const float e = exponential(-std::fabs(x));
  const float y = 1.0f / (1.0f + e);
  return x < 0.0f ? e * y : y;
}

// The gates and the new states of the units from `first` on in one row: kUnits,
// or those that are left.
template <bool kIsWhole>
MPC_INLINE void lstm_units(const Units& g, int64_t row, int64_t first) {
  const int64_t units = kIsWhole ? kUnits : g.units - first, h = g.hidden;
  const float* sums = g.sums + (first * g.rows + row * kUnits) * 4;
  const float *input = g.input + row * 4 * h + first, *bias = g.bias + first,
              *before = g.before + row * h + first;
  float* gates = g.gates + row * 4 * h + first;
  float *saved = g.saved + row * h + first,
        *states = g.states + row * h + first;
#pragma omp simd
  for (int64_t u = 0; u < units; ++u) {
    const float in = sigmoid(sums[u] + (input[u] + bias[u]));
    const float out = sigmoid(sums[kUnits + u] + (input[h + u] + bias[h + u]));
    const float forget =
        sigmoid(sums[2 * kUnits + u] + (input[2 * h + u] + bias[2 * h + u]));
    const float candidate =
        tanh(sums[3 * kUnits + u] + (input[3 * h + u] + bias[3 * h + u]));
    const float cell = forget * before[u] + in * candidate;
    gates[u] = in;
    gates[h + u] = out;
    gates[2 * h + u] = forget;
    gates[3 * h + u] = candidate;
    saved[u] = cell;
    states[u] = out * tanh(cell);
  }
}

inline void lstm(const Units& g) {
  const int64_t whole = g.units / kUnits * kUnits;
  for (int64_t row = 0; row < g.rows; ++row) {
    for (int64_t first = 0; first < whole; first += kUnits)
      lstm_units<true>(g, row, first);
    if (whole < g.units) lstm_units<false>(g, row, whole);
  }
}

template <bool kIsWhole>
MPC_INLINE void gru_units(const Units& g, int64_t row, int64_t first) {
  const int64_t units = kIsWhole ? kUnits : g.units - first, h = g.hidden;
  const float* sums = g.sums + (first * g.rows + row * kUnits) * 3;
  const float *input = g.input + row * 3 * h + first, *bias = g.bias + first,
              *before = g.before + row * h + first;
  float* gates = g.gates + row * 3 * h + first;
  float *saved = g.saved + row * h + first,
        *states = g.states + row * h + first;
#pragma omp simd
  for (int64_t u = 0; u < units; ++u) {
    const float update = sigmoid(sums[u] + (input[u] + bias[u]));
    const float reset =
        sigmoid(sums[kUnits + u] + (input[h + u] + bias[h + u]));
    const float product = sums[2 * kUnits + u] + bias[3 * h + u];
    const float candidate =
        tanh(input[2 * h + u] + bias[2 * h + u] + reset * product);
    gates[u] = update;
    gates[h + u] = reset;
    gates[2 * h + u] = candidate;
    saved[u] = product;
    states[u] = candidate + update * (before[u] - candidate);
  }
}

inline void gru(const Units& g) {
  const int64_t whole = g.units / kUnits * kUnits;
  for (int64_t row = 0; row < g.rows; ++row) {
    for (int64_t first = 0; first < whole; first += kUnits)
      gru_units<true>(g, row, first);
    if (whole < g.units) gru_units<false>(g, row, whole);
  }
}

inline void lstm_grad(const UnitsGrad& g) {
  const int64_t h = g.hidden;
  for (int64_t row = 0; row < g.rows; ++row) {
    const float *gates = g.gates + row * 4 * h, *saved = g.saved + row * h,
                *before = g.before + row * h, *grad = g.grad + row * h,
                *state_grad = g.state_grad + row * h;
    float *cell_grad = g.cell_grad + row * h, *to = g.input_grad + row * 4 * h;
#pragma omp simd
    for (int64_t u = 0; u < g.units; ++u) {
      const float in = gates[u], out = gates[h + u], forget = gates[2 * h + u],
                  candidate = gates[3 * h + u];
      const float total = grad[u] + state_grad[u];
      const float squashed = tanh(saved[u]);
      const float cell =
          cell_grad[u] + total * out * (1.0f - squashed * squashed);
      to[u] = cell * candidate * in * (1.0f - in);
      to[h + u] = total * squashed * out * (1.0f - out);
      to[2 * h + u] = cell * before[u] * forget * (1.0f - forget);
      to[3 * h + u] = cell * in * (1.0f - candidate * candidate);
      cell_grad[u] = cell * forget;
    }
  }
}

inline void gru_grad(const UnitsGrad& g) {
  const int64_t h = g.hidden;
  for (int64_t row = 0; row < g.rows; ++row) {
    const float *gates = g.gates + row * 3 * h, *saved = g.saved + row * h,
                *before = g.before + row * h, *grad = g.grad + row * h;
    float *state_grad = g.state_grad + row * h,
          *to = g.input_grad + row * 3 * h,
          *recurrent = g.recurrent_grad + row * 3 * h;
#pragma omp simd
    for (int64_t u = 0; u < g.units; ++u) {
      const float update = gates[u], reset = gates[h + u],
                  candidate = gates[2 * h + u];
      const float total = grad[u] + state_grad[u];
      const float input =
          total * (1.0f - update) * (1.0f - candidate * candidate);
      const float of_update =
          total * (before[u] - candidate) * update * (1.0f - update);
      const float of_reset = input * saved[u] * reset * (1.0f - reset);
      to[u] = recurrent[u] = of_update;
      to[h + u] = recurrent[h + u] = of_reset;
      to[2 * h + u] = input;
      recurrent[2 * h + u] = input * reset;
      state_grad[u] = total * update;
    }
  }
}

inline Loops loops(bool is_lstm) {
  if (is_lstm) return {lstm, lstm_grad};
  return {gru, gru_grad};
}
