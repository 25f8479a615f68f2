// Launches: limits, the order of blocks, and the comparison of orders.

#include <cstdio>
#include <cstring>
#include <new>
#include <numeric>

#include "test/device_sim/block.h"

namespace mpc::device_sim {
namespace {

Options& mutable_options() {
  thread_local Options options;
  return options;
}

std::string over_limit(const char* what, const Dim3& is, const Dim3& limit) {
  auto text = [](const Dim3& d) {
    return to_string(mpc_sim_index_t{d.x, d.y, d.z});
  };
  if (is.x == 0 || is.y == 0 || is.z == 0)
    return "launch: " + std::string(what) + " " + text(is) + " is empty";
  if (is.x > limit.x || is.y > limit.y || is.z > limit.z)
    return "launch: " + std::string(what) + " " + text(is) +
           " is over the limit of " + text(limit);
  return "";
}

std::string check(const Launch& launch, const Limits& limits) {
  std::string error = over_limit("grid", launch.grid, limits.grid);
  if (error.empty()) error = over_limit("block", launch.block, limits.block);
  if (!error.empty()) return error;
  if (launch.block.count() > limits.threads)
    return "launch: " + std::to_string(launch.block.count()) +
           " threads per block are over the limit of " +
           std::to_string(limits.threads);
  if (launch.shared_bytes > limits.shared)
    return "launch: " + std::to_string(launch.shared_bytes) +
           " bytes of dynamic shared memory are over the limit of " +
           std::to_string(limits.shared) + " bytes per block";
  return "";
}

// Enumerates 0 to count - 1 in some order, without a list: there may be
// millions.
class BlockOrder {
 public:
  BlockOrder(uint64_t count, const Options& options) : count_(count) {
    if (options.order == Order::kDescending) {
      number_ = stride_ = count - 1;
    } else if (options.order == Order::kShuffled) {
      Random random(options.seed);
      number_ = random.next() % count;
      stride_ = random.next() % count;
      while (std::gcd(stride_, count) != 1) stride_ = (stride_ + 1) % count;
    }
  }

  uint64_t number() const { return number_; }
  // A grid has fewer than 2^63 blocks, so the sum fits.
  void advance() { number_ = (number_ + stride_) % count_; }

 private:
  const uint64_t count_;
  uint64_t number_ = 0;
  uint64_t stride_ = 1;
};

}  // namespace

const char* name_of(Order order) {
  switch (order) {
    case Order::kAscending:
      return "ascending";
    case Order::kDescending:
      return "descending";
    case Order::kShuffled:
      return "shuffled";
  }
  return "";
}

const Options& options() { return mutable_options(); }

ScopedOptions::ScopedOptions(const Options& options)
    : before_(mutable_options()) {
  mutable_options() = options;
}

ScopedOptions::~ScopedOptions() { mutable_options() = before_; }

std::string run_threads(const Launch& launch, void (*thread)(void*),
                        void* context) {
  if (current_block) return "launch: device code cannot launch";
  std::string error = check(launch, options().limits);
  if (!error.empty()) return error;
  try {
    FaultGuard guard;
    Block block(launch, options(), thread, context);
    const uint64_t count = launch.grid.count();
    BlockOrder order(count, options());
    for (uint64_t i = 0; i < count; ++i, order.advance())
      if (!block.run(order.number())) return block.error();
  } catch (const std::bad_alloc&) {
    return "launch: no memory for stacks or shared memory";
  }
  return "";
}

namespace {

using Bytes = std::vector<unsigned char>;

std::vector<Bytes> copy_of(const std::vector<Buffer>& buffers) {
  std::vector<Bytes> copies;
  for (const Buffer& buffer : buffers) {
    const auto* data = static_cast<const unsigned char*>(buffer.data);
    copies.emplace_back(data, data + buffer.bytes);
  }
  return copies;
}

void restore(const std::vector<Bytes>& copies,
             const std::vector<Buffer>& buffers) {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (!copies[i].empty())
      std::memcpy(buffers[i].data, copies[i].data(), copies[i].size());
}

std::string hex_byte(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", byte);
  return text;
}

std::string first_difference(const std::vector<Buffer>& buffers,
                             const std::vector<Bytes>& expected, Order order) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto* data = static_cast<const unsigned char*>(buffers[i].data);
    for (size_t byte = 0; byte < buffers[i].bytes; ++byte) {
      if (data[byte] == expected[i][byte]) continue;
      return "byte " + std::to_string(byte) + " of '" + buffers[i].name +
             "' depends on the order of threads: ascending " +
             hex_byte(expected[i][byte]) + ", " + name_of(order) + " " +
             hex_byte(data[byte]) +
             "; a barrier is missing, threads write one place, or something "
             "is read that nobody wrote";
    }
  }
  return "";
}

}  // namespace

std::string run_in_all_orders(const std::vector<Buffer>& buffers,
                              const std::function<std::string()>& launches) {
  const std::vector<Bytes> before = copy_of(buffers);
  std::vector<Bytes> ascending;
  std::string error;
  for (Order order :
       {Order::kAscending, Order::kDescending, Order::kShuffled}) {
    restore(before, buffers);
    Options changed = options();
    changed.order = order;
    ScopedOptions scope(changed);
    error = launches();
    if (!error.empty()) {
      error += std::string(" [") + name_of(order) + " order]";
      break;
    }
    if (order == Order::kAscending)
      ascending = copy_of(buffers);
    else
      error = first_difference(buffers, ascending, order);
    if (!error.empty()) break;
  }
  if (!ascending.empty()) restore(ascending, buffers);
  return error;
}

}  // namespace mpc::device_sim
