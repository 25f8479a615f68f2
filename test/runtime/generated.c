// The code segment of the test packages: functions in the form of compiled
// ones, with a training step that is simple enough to verify by hand.

#include <math.h>
#include <stdint.h>
#include <string.h>

// The bf16 copy as the optimizer writes it.
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// gradient[i] = scale * (parameter[i] - mean of x); overflows like f16.
// operands: x[16], parameters[1024], scale, gradient[1024], loss
void test_gradient(void* const* operands, int64_t begin, int64_t end) {
  (void)begin, (void)end;
  const float* x = operands[0];
  const float* parameters = operands[1];
  float scale = *(const float*)operands[2];
  float* gradient = operands[3];
  float mean = 0;
  for (int i = 0; i < 16; ++i) mean += x[i] / 16;
  memset(gradient, 0, 1024 * sizeof(float));
  for (int i = 0; i < 32; ++i) {
    if (i >= 8 && !(i >= 16 && i < 18)) continue;  // Padding between slots.
    gradient[i] = scale * (parameters[i] - mean);
    if (fabsf(gradient[i]) > 65504.0f) gradient[i] = INFINITY;
  }
  *(float*)operands[4] = mean;
}

// Momentum on unscaled gradients, the working copy, counters, the loss scale.
// operands: gradient, scale, parameters, copy, velocity, learning rate, step,
// streak, norm, finite
void test_update(void* const* operands, int64_t begin, int64_t end) {
  (void)begin, (void)end;
  const float* gradient = operands[0];
  float* scale = operands[1];
  float* parameters = operands[2];
  uint16_t* copy = operands[3];
  float* velocity = operands[4];
  float rate = *(const float*)operands[5];
  float sum = 0;
  for (int i = 0; i < 1024; ++i)
    sum += gradient[i] / *scale * (gradient[i] / *scale);
  *(float*)operands[8] = sqrtf(sum);
  uint8_t finite = isfinite(sum) != 0;
  *(uint8_t*)operands[9] = finite;
  int32_t* streak = operands[7];
  if (!finite) {
    *scale = *scale > 2 ? *scale / 2 : 1;
    *streak = 0;
    return;
  }
  for (int i = 0; i < 1024; ++i) {
    velocity[i] = 0.5f * velocity[i] + gradient[i] / *scale;
    parameters[i] -= rate * velocity[i];
    copy[i] = to_bf16(parameters[i]);
  }
  ++*(int64_t*)operands[6];
  if (++*streak == 3) *scale *= 2, *streak = 0;
}

// operands: gradient[1024], sum[1024]
void test_accumulate(void* const* operands, int64_t begin, int64_t end) {
  const float* gradient = operands[0];
  float* sum = operands[1];
  for (int64_t i = begin; i < end; ++i) sum[i] += gradient[i];
}

// operands: values[1024]
void test_clear(void* const* operands, int64_t begin, int64_t end) {
  memset((float*)operands[0] + begin, 0, (size_t)(end - begin) * sizeof(float));
}

// Loss, weight and hit of each sample.
// operands: x[4,4], labels[4], losses[4], weights[4], hits[4]
void test_evaluate(void* const* operands, int64_t begin, int64_t end) {
  const float* x = operands[0];
  const int64_t* labels = operands[1];
  float* losses = operands[2];
  float* weights = operands[3];
  float* hits = operands[4];
  for (int64_t i = begin; i < end; ++i) {
    weights[i] = labels[i] >= 0;
    losses[i] = weights[i] * x[4 * i];
    hits[i] = weights[i] * (x[4 * i + 1] > 0);
  }
}

// Counts how often each item is computed, and in how many pieces: the first
// item of each piece is incremented by another 100. operands: counts[1000] i32
void test_count(void* const* operands, int64_t begin, int64_t end) {
  int32_t* counts = operands[0];
  for (int64_t i = begin; i < end; ++i) counts[i] += 1;
  counts[begin] += 100;
}
