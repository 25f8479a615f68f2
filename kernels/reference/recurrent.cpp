// The steps of recurrent layers and their gradients, one unit at a time. All
// but the weights is f32 (f64 for f64).

#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

template <typename S>
S sigmoid(S x) {
  return 1 / (1 + std::exp(-x));
}

// The element `unit` of gate `gate` in row `row` of gates.
int64_t gate_at(const RecurrentShape& s, int64_t row, int64_t gate,
                int64_t unit) {
  return (row * s.gates() + gate) * s.hidden + unit;
}

// The sum over all units of `state` times a row of the weights.
template <typename T>
Sum<T> product(const RecurrentShape& s, const Sum<T>* state, const T* weights,
               int64_t row) {
  Sum<T> sum = 0;
  for (int64_t k = 0; k < s.hidden; ++k)
    sum += state[k] * Sum<T>(weights[row * s.hidden + k]);
  return sum;
}

// Adds the products of the gradients of one step, [N, gates * H], and the
// weights.
template <typename T>
void add_products(const RecurrentShape& s, const Sum<T>* grads,
                  const T* weights, Sum<T>* to) {
  const int64_t rows = s.gates() * s.hidden;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t u = 0; u < s.hidden; ++u)
        to[n * s.hidden + u] +=
            grads[n * rows + r] * Sum<T>(weights[r * s.hidden + u]);
}

template <typename T>
void lstm(const RecurrentShape& s, void* const* operands) {
  using S = Sum<T>;
  const S* input = static_cast<const S*>(operands[0]);
  const T* weights = static_cast<const T*>(operands[1]);
  const S* bias = static_cast<const S*>(operands[2]);
  S* states = static_cast<S*>(operands[5]);
  S* last_cell = static_cast<S*>(operands[6]);
  S* gates = static_cast<S*>(operands[7]);
  S* cells = static_cast<S*>(operands[8]);
  const S *hidden = static_cast<const S*>(operands[3]),
          *cell = static_cast<const S*>(operands[4]);
  for (int64_t step = 0; step < s.steps; ++step) {
    const int64_t first = s.position(step) * s.batch;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t u = 0; u < s.hidden; ++u) {
        S gate[4];
        for (int64_t g = 0; g < 4; ++g) {
          const int64_t at = gate_at(s, first + n, g, u);
          const S sum =
              input[at] + bias[g * s.hidden + u] +
              product(s, hidden + n * s.hidden, weights, g * s.hidden + u);
          gates[at] = gate[g] = g == 3 ? std::tanh(sum) : sigmoid(sum);
        }
        const int64_t at = (first + n) * s.hidden + u;
        cells[at] = gate[2] * cell[n * s.hidden + u] + gate[0] * gate[3];
        states[at] = gate[1] * std::tanh(cells[at]);
      }
    hidden = states + first * s.hidden;
    cell = cells + first * s.hidden;
  }
  std::copy_n(cell, s.batch * s.hidden, last_cell);
}

template <typename T>
void lstm_grad(const RecurrentShape& s, void* const* operands) {
  using S = Sum<T>;
  const S* grad = static_cast<const S*>(operands[0]);
  const S* last_cell_grad = static_cast<const S*>(operands[1]);
  const T* weights = static_cast<const T*>(operands[2]);
  const S* initial_cell = static_cast<const S*>(operands[3]);
  const S* gates = static_cast<const S*>(operands[4]);
  const S* cells = static_cast<const S*>(operands[5]);
  S* input_grad = static_cast<S*>(operands[6]);
  S* hidden_grad = static_cast<S*>(operands[7]);
  S* cell_grad = static_cast<S*>(operands[8]);
  const int64_t size = s.batch * s.hidden;
  std::fill_n(hidden_grad, size, S(0));
  std::copy_n(last_cell_grad, size, cell_grad);
  for (int64_t step = s.steps - 1; step >= 0; --step) {
    const int64_t first = s.position(step) * s.batch;
    const S* before =
        step == 0 ? initial_cell : cells + s.position(step - 1) * size;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t u = 0; u < s.hidden; ++u) {
        const auto gate = [&](int64_t g) {
          return gates[gate_at(s, first + n, g, u)];
        };
        const S in = gate(0), out = gate(1), forget = gate(2),
                candidate = gate(3);
        const int64_t state = n * s.hidden + u;
        const S total = grad[first * s.hidden + state] + hidden_grad[state];
        const S squashed = std::tanh(cells[first * s.hidden + state]);
        S& cell = cell_grad[state];
        cell += total * out * (1 - squashed * squashed);
        const S grads[] = {cell * candidate * in * (1 - in),
                           total * squashed * out * (1 - out),
                           cell * before[state] * forget * (1 - forget),
                           cell * in * (1 - candidate * candidate)};
        for (int64_t g = 0; g < 4; ++g)
          input_grad[gate_at(s, first + n, g, u)] = grads[g];
        cell *= forget;
      }
    std::fill_n(hidden_grad, size, S(0));
    add_products(s, input_grad + gate_at(s, first, 0, 0), weights, hidden_grad);
  }
}

template <typename T>
void gru(const RecurrentShape& s, void* const* operands) {
  using S = Sum<T>;
  const S* input = static_cast<const S*>(operands[0]);
  const T* weights = static_cast<const T*>(operands[1]);
  const S* bias = static_cast<const S*>(operands[2]);
  const S* hidden = static_cast<const S*>(operands[3]);
  S* states = static_cast<S*>(operands[4]);
  S* gates = static_cast<S*>(operands[5]);
  S* products = static_cast<S*>(operands[6]);
  for (int64_t step = 0; step < s.steps; ++step) {
    const int64_t first = s.position(step) * s.batch;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t u = 0; u < s.hidden; ++u) {
        const S* state = hidden + n * s.hidden;
        const auto input_of = [&](int64_t g) {
          return input[gate_at(s, first + n, g, u)] + bias[g * s.hidden + u];
        };
        const auto product_of = [&](int64_t g) {
          return product(s, state, weights, g * s.hidden + u);
        };
        const S update = sigmoid(input_of(0) + product_of(0));
        const S reset = sigmoid(input_of(1) + product_of(1));
        const S own = product_of(2) + bias[3 * s.hidden + u];
        const S candidate = std::tanh(input_of(2) + reset * own);
        const int64_t at = (first + n) * s.hidden + u;
        states[at] = candidate + update * (state[u] - candidate);
        products[at] = own;
        gates[gate_at(s, first + n, 0, u)] = update;
        gates[gate_at(s, first + n, 1, u)] = reset;
        gates[gate_at(s, first + n, 2, u)] = candidate;
      }
    hidden = states + first * s.hidden;
  }
}

template <typename T>
void gru_grad(const RecurrentShape& s, void* const* operands) {
  using S = Sum<T>;
  const S* grad = static_cast<const S*>(operands[0]);
  const T* weights = static_cast<const T*>(operands[1]);
  const S* hidden = static_cast<const S*>(operands[2]);
  const S* states = static_cast<const S*>(operands[3]);
  const S* gates = static_cast<const S*>(operands[4]);
  const S* products = static_cast<const S*>(operands[5]);
  S* input_grad = static_cast<S*>(operands[6]);
  S* recurrent_grad = static_cast<S*>(operands[7]);
  S* hidden_grad = static_cast<S*>(operands[8]);
  const int64_t size = s.batch * s.hidden;
  std::fill_n(hidden_grad, size, S(0));
  for (int64_t step = s.steps - 1; step >= 0; --step) {
    const int64_t first = s.position(step) * s.batch;
    const S* before = step == 0 ? hidden : states + s.position(step - 1) * size;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t u = 0; u < s.hidden; ++u) {
        const auto gate = [&](int64_t g) {
          return gates[gate_at(s, first + n, g, u)];
        };
        const S update = gate(0), reset = gate(1), candidate = gate(2);
        const int64_t state = n * s.hidden + u;
        const S total = grad[first * s.hidden + state] + hidden_grad[state];
        const S own = products[first * s.hidden + state];
        const S input = total * (1 - update) * (1 - candidate * candidate);
        const S grads[] = {
            total * (before[state] - candidate) * update * (1 - update),
            input * own * reset * (1 - reset), input};
        for (int64_t g = 0; g < 3; ++g) {
          const int64_t at = gate_at(s, first + n, g, u);
          input_grad[at] = grads[g];
          recurrent_grad[at] = g == 2 ? input * reset : grads[g];
        }
        hidden_grad[state] = total * update;
      }
    add_products(s, recurrent_grad + gate_at(s, first, 0, 0), weights,
                 hidden_grad);
  }
}

struct Recurrent {
  using Function = ReferenceKernel<RecurrentShape>::Function;
  template <typename T, typename R>
  static Function get(KernelId id) {
    switch (id) {
      case KernelId::lstm:
        return lstm<T>;
      case KernelId::lstm_grad:
        return lstm_grad<T>;
      case KernelId::gru:
        return gru<T>;
      default:
        return gru_grad<T>;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_recurrent(KernelId id,
                                       const RecurrentShape& shape) {
  return std::make_unique<ReferenceKernel<RecurrentShape>>(
      shape, select<Recurrent>(id, shape.dtype, shape.dtype));
}

}  // namespace mpc::kernels::reference
