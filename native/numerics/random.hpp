// NumPy's SFC64 generator, bit for bit.
//
// Its state is four words, so that it is cheap to copy and to store in a snapshot. NumPy seeds it.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "numerics/elementary.hpp"

namespace duelist {

struct Sfc64 {
    std::array<u64, 4> words{};

    Sfc64() = default;
    explicit Sfc64(std::span<const u64, 4> state) { std::copy(state.begin(), state.end(), words.begin()); }

    u64 next_word() {
        auto& [a, b, c, counter] = words;
        u64 out = a + b + counter;
        a = b ^ (b >> 11);
        b = c + (c << 3);
        c = ((c << 24) | (c >> 40)) + out;
        counter += 1;
        return out;
    }

    // Draw from [0, 1) with 53 random bits, as NumPy's `Generator.random` does.
    double uniform() { return static_cast<double>(next_word() >> 11) * 0x1.0p-53; }

    // Draw an integer from [0, n). The bias is below n / 2^53.
    i64 below(i64 n) {
        i64 drawn = static_cast<i64>(uniform() * static_cast<double>(n));
        return drawn < n ? drawn : n - 1;
    }

    // Standard Gumbel by inversion: -log(-log U), U in (0, 1).
    double gumbel() {
        double u = uniform();
        while (u == 0.0) u = uniform();
        return -log(-log(u));
    }

    // Standard normal by the Box-Muller transform, without its sine half.
    double normal() {
        double u = 1.0 - uniform();
        double length = std::sqrt(-2.0 * log(u));
        return length * cos_2pi(uniform());
    }
};

}  // namespace duelist
