// Confidence radii. `duelist/model/radius.py` states the theorem of each.
#pragma once

#include "numerics/elementary.hpp"

namespace duelist {

// The horizon if it is known (> 0), else the smallest power of two above round t.
inline double effective_horizon(i64 horizon, i64 t) {
    if (horizon > 0) return static_cast<double>(horizon);
    return t > 0 ? static_cast<double>(std::bit_ceil(static_cast<u64>(t) + 1)) : 2.0;
}

inline constexpr i64 MAX_LAYERS = 1000;  // 2^-1000 is finer than any width

// L = ceil(log2(1 / finest)), between 1 and MAX_LAYERS.
inline i64 layers_for(double finest) {
    double layers = std::ceil(-log(finest) / 0.69314718055994530942 - 1e-12);
    if (layers > static_cast<double>(MAX_LAYERS)) return MAX_LAYERS;
    return layers > 1.0 ? static_cast<i64>(layers) : 1;
}

inline double practical_radius(i64 dim, double horizon) {
    return std::sqrt(static_cast<double>(dim) * log(horizon > 2.0 ? horizon : 2.0));
}

inline double warmed_glm_radius(i64 dim, double horizon, double kappa, double delta) {
    double d = static_cast<double>(dim);
    return std::sqrt(0.5 * d * log(1.0 + 2.0 * horizon / d) + log(1.0 / delta)) / (2.0 * kappa);
}

inline double stagewise_radius(i64 n_arms, double horizon, double kappa, double delta) {
    return 1.5 * std::sqrt(2.0 * log(3.0 * horizon * static_cast<double>(n_arms) / delta)) / kappa;
}

inline double variance_aware_radius(i64 layer, double variance, double kappa, i64 t, i64 layers, double delta) {
    double small = power_of_two(-layer), now = static_cast<double>(t), all = static_cast<double>(layers);
    double log_now = log(4.0 * now * now * all / delta), log_next = log(4.0 * (now + 1.0) * (now + 1.0) * all / delta);
    return 16.0 * small / kappa * std::sqrt((8.0 * variance + 18.0 * log_next) * log_now) +
           6.0 * small / kappa * log_now + 2.0 * small;
}

// Whether V is the residual sum in this layer: 2^l >= 64 (L_mu / kappa) sqrt(log(4 (t+1)^2 L / delta)).
inline bool variance_is_estimated(i64 layer, double kappa, double max_slope, i64 t, i64 layers, double delta) {
    double next = static_cast<double>(t) + 1.0;
    double log_next = log(4.0 * next * next * static_cast<double>(layers) / delta);
    return power_of_two(layer) >= 64.0 * max_slope / kappa * std::sqrt(log_next);
}

inline double log_loss_radius(i64 dim, i64 t, double theta_bound, double reach, double ridge, double delta) {
    double bound = theta_bound * reach, d = static_cast<double>(dim);
    double growth = 2.0 * E * bound * (1.0 + 0.5 * bound) * (static_cast<double>(t) - 1.0) / d;
    double b = log(1.0 / delta) + d * log(growth > E ? growth : E);
    return std::sqrt(2.0 * (1.0 + bound) * (1.0 + b)) + std::sqrt(ridge) * theta_bound;
}

}  // namespace duelist
