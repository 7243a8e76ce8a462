// A number for a row of features, the same for equal rows: where to look for it in a table, and how to know it without keeping it.
#pragma once

#include "numerics/buffer.hpp"

namespace duelist {

inline u64 mix(u64 h) {
    constexpr u64 MULTIPLIER = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio
    h *= MULTIPLIER;
    return h ^ (h >> 29);
}

// Of dim numbers, `step` apart; -0.0 is 0.0.
inline u64 fingerprint(const double* x, i64 dim, i64 step = 1) {
    u64 h = 1;
    for (i64 k = 0; k < dim; k++) h = mix(h ^ std::bit_cast<u64>(x[k * step] + 0.0));
    return mix(h ^
               (h >> 32));  // round numbers differ only in high bits, and products move bits up: bring them down again
}

}  // namespace duelist
