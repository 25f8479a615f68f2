// Collective functions, with threads as ranks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "mpc/runtime.hpp"
#include "test/runtime/package.h"
#include "test/runtime/ranks/mailboxes.h"

namespace mpc::test {
namespace {

using runtime::Exchange;

// Element `i` of rank `rank`: sums depend on the order of the ranks.
template <typename T>
T element(uint32_t rank, uint64_t i) {
  return std::ldexp(static_cast<T>(1 + i % 97), rank % 2 ? 30 : 3) +
         static_cast<T>(rank);
}

// Ranges of different lengths; that of rank 1 is empty.
std::vector<uint64_t> uneven_ranges(uint32_t size, uint64_t count) {
  std::vector<uint64_t> offsets = {0};
  for (uint32_t rank = 0; rank < size; ++rank)
    offsets.push_back(
        rank == 1 ? offsets.back()
                  : std::min(count, offsets.back() + count / size + 3 * rank));
  offsets.back() = count;
  return offsets;
}

template <typename T>
void check_sums(uint32_t size, uint64_t count, mpc_dtype_t dtype) {
  const std::vector<uint64_t> offsets = uneven_ranges(size, count);
  on_ranks(size, [&](Exchange& exchange, const mpc_communicator_t& self) {
    std::vector<T> data(count);
    for (uint64_t i = 0; i < count; ++i) data[i] = element<T>(self.rank, i);
    EXPECT_OK(exchange.reduce_scatter(data.data(), offsets.data(), dtype));
    std::vector<uint64_t> bytes = offsets;
    for (uint64_t& offset : bytes) offset *= sizeof(T);
    EXPECT_OK(exchange.all_gather(data.data(), bytes.data()));
    for (uint64_t i = 0; i < count; ++i) {
      T expected = element<T>(0, i);
      for (uint32_t rank = 1; rank < size; ++rank)
        expected += element<T>(rank, i);
      ASSERT_EQ(data[i], expected) << "element " << i << ", rank " << self.rank;
    }
  });
}

TEST(Exchange, AddsInTheOrderOfRanks) {
  for (uint32_t size : {1, 2, 3, 4, 7})
    for (uint64_t count : {0, 1, 5, 4096}) {
      check_sums<float>(size, count, MPC_DTYPE_F32);
      check_sums<double>(size, count, MPC_DTYPE_F64);
    }
}

TEST(Exchange, AddsMoreThanOnePiece) {
  check_sums<float>(3, (uint64_t{1} << 20) + 77, MPC_DTYPE_F32);
}

TEST(Exchange, SendsToEachRankItsRange) {
  for (uint32_t size : {1, 2, 3, 5})
    for (uint64_t count : {0, 1, 5, 4096}) {
      const std::vector<uint64_t> offsets = uneven_ranges(size, count);
      on_ranks(size, [&](Exchange& exchange, const mpc_communicator_t& self) {
        std::vector<uint8_t> data(count);
        for (uint64_t i = 0; i < count; ++i)
          data[i] = static_cast<uint8_t>(31 * i + 7 * self.rank);
        const uint64_t begin = offsets[self.rank];
        const uint64_t own = offsets[self.rank + 1] - begin;
        std::vector<uint8_t> received(size * own, 255);
        EXPECT_OK(
            exchange.all_to_all(data.data(), offsets.data(), received.data()));
        for (uint32_t peer = 0; peer < size; ++peer)
          for (uint64_t i = 0; i < own; ++i)
            ASSERT_EQ(received[peer * own + i],
                      peer == self.rank
                          ? 255
                          : static_cast<uint8_t>(31 * (begin + i) + 7 * peer));
      });
    }
}

TEST(Exchange, RefusesOtherTypes) {
  on_ranks(2, [](Exchange& exchange, const mpc_communicator_t&) {
    int64_t data[2] = {};
    const uint64_t offsets[] = {0, 1, 2};
    const Outcome outcome =
        take(exchange.reduce_scatter(data, offsets, MPC_DTYPE_I64));
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, "reduce_scatter of i64");
  });
}

TEST(Exchange, NamesTheRankThatIsMissing) {
  on_ranks(
      3,
      [](Exchange& exchange, const mpc_communicator_t& self) {
        uint8_t data[3] = {};
        const uint64_t offsets[] = {0, 1, 2, 3};
        EXPECT_OK(exchange.all_gather(data, offsets));
        if (self.rank == 1) return;  // Gone.
        const Outcome outcome = take(exchange.all_gather(data, offsets));
        EXPECT_EQ(outcome.code, MPC_RANK_LOST);
        EXPECT_EQ(outcome.message,
                  "no answer from rank 1 on host-b for 1 s, in all_gather, "
                  "collective call 2 of rank " +
                      std::to_string(self.rank));
      },
      /*timeout_seconds=*/1);
}

// Closes three ranks, but if `one_is_gone` not the last one.
int close_ranks(bool one_is_gone) {
  Mailboxes mailboxes(3);
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < (one_is_gone ? 2 : 3); ++rank)
    ranks.emplace_back([&, rank] {
      Exchange(mailboxes.transport(rank), /*timeout_seconds=*/1).close();
    });
  for (std::thread& rank : ranks) rank.join();
  return mailboxes.closed_in_order();
}

TEST(Exchange, ClosesInOrderOnlyWithAllRanks) {
  EXPECT_EQ(close_ranks(false), 3);
  EXPECT_EQ(close_ranks(true), 0);
}

TEST(Communicator, NeedsMpi) {
  setenv("MPC_MPI_LIBRARY", "no-such-mpi.so", 1);
  Communicator communicator;
  const Status status = communicator.open(1);
  unsetenv("MPC_MPI_LIBRARY");
  EXPECT_EQ(status.code(), MPC_UNAVAILABLE);
  EXPECT_NE(std::string(status.message()).find("no-such-mpi.so"),
            std::string::npos);
  EXPECT_EQ(communicator.get(), nullptr);
}

}  // namespace
}  // namespace mpc::test
