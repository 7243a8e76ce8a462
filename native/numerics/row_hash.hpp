// 64-bit hashes of rows of numbers, for hash tables.
#pragma once

#include "numerics/buffer.hpp"

namespace duelist {

inline u64 mix(u64 h) {
    constexpr u64 MULTIPLIER = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio
    h *= MULTIPLIER;
    return h ^ (h >> 29);
}

// Hash dim numbers, `step` apart. Equal rows have equal hashes; -0.0 counts as 0.0.
inline u64 row_hash(const double* x, i64 dim, i64 step = 1) {
    u64 h = 1;
    for (i64 k = 0; k < dim; k++) h = mix(h ^ std::bit_cast<u64>(x[k * step] + 0.0));
    return mix(h ^ (h >> 32));  // products carry bits upwards only, and round numbers differ only in their high bits
}

}  // namespace duelist
