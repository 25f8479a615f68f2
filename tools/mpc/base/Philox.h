//===- Philox.h - Random numbers by counter ---------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_PHILOX_H
#define MPC_TOOLS_MPC_BASE_PHILOX_H

#include <cstdint>

namespace mpc::tool {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011): 64 of its 128 bits for a 64-bit key and a 128-bit counter.
inline uint64_t philox(uint64_t key, uint64_t counterLow,
                       uint64_t counterHigh) {
  uint32_t k0 = key, k1 = key >> 32;
  uint32_t c0 = counterLow, c1 = counterLow >> 32, c2 = counterHigh,
           c3 = counterHigh >> 32;
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * c0;
    uint64_t product1 = uint64_t(0xCD9E8D57) * c2;
    c0 = uint32_t(product1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(product1);
    c2 = uint32_t(product0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(product0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return uint64_t(c1) << 32 | c0;
}

/// Maps 64 random bits to [0, count), with a bias of count / 2^64, which is
/// negligible.
inline uint64_t below(uint64_t count, uint64_t bits) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * count >>
                               64);
}

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_PHILOX_H
