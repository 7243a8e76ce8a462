// Draw from the beta distribution, for shapes of at least 1, by rejection (R. C. H. Cheng, Communications of the ACM
// 21, 1978, algorithm BB).
#pragma once

#include "numerics/random.hpp"

namespace duelist {

// two of three draws are rejected on average; the limit ends the loop for absurd shapes
inline constexpr int MAX_TRIES = 10000;

inline double draw_beta(Sfc64& random, double first, double second) {
    double a = first < second ? first : second, b = first < second ? second : first, both = a + b;
    if (b <= 1.0) return random.uniform();
    double rate = std::sqrt((both - 2.0) / (2.0 * a * b - both)), bend = a + 1.0 / rate;
    double w = a;
    for (int tried = 0; tried < MAX_TRIES; tried++) {
        double u = random.uniform(), uniforms = random.uniform();
        if (u == 0.0 || uniforms == 0.0) continue;
        double v = rate * log(u / (1.0 - u)), e = exp_neg_abs(v);
        w = v < 0.0 ? a * e : a / e;
        double z = u * u * uniforms, r = bend * v - 1.3862943611198906, s = a + r - w;
        if (s + 2.6094379124341003 >= 5.0 * z) break;
        double limit = log(z);
        if (s >= limit || r + both * log(both / (b + w)) >= limit) break;
    }
    return (first < second ? w : b) / (b + w);
}

// The Kullback-Leibler divergence of a Bernoulli(p) variable from a Bernoulli(1/2) one.
inline double divergence_from_half(double p) {
    double above = p > 0.0 ? p * log(2.0 * p) : 0.0, below = p < 1.0 ? (1.0 - p) * log(2.0 * (1.0 - p)) : 0.0;
    return above + below;
}

}  // namespace duelist
