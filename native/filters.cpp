#include "filters.hpp"

#include <numeric>

namespace duelist {

Field::Field(const View& view, const std::vector<i64>& arms, std::vector<double> keys)
    : arm(arms), key(std::move(keys)), dim(view.dim), stride(padded(static_cast<i64>(arms.size()))) {
    u.fit(stride);
    v.fit(dim * stride);
    if (view.u)
        for (i64 k = 0; k < n(); k++) u[k] = view.u[arm[k]];
    kernels->pick_columns(view.v, view.stride, dim, arm.data(), n(), v.data(), stride);
}

Factors::Factors(i64 n, i64 features, bool negative)
    : n_(n), features_(features), width_(features + 3), negative_(negative), squares_(static_cast<std::size_t>(n)) {
    right_.fit((n + TILE - 1) / TILE * TILE * width_ + TILE * width_);
    left_.fit(BLOCK_ROWS * width_);
    mask_.resize(static_cast<std::size_t>(BLOCK_ROWS * chunks(BLOCK_COLUMNS + TILE)));
    for (i64 past = n; past % TILE != 0; past++) at(past, features_ + 1) = negative ? 1e30f : -1e30f;
}

void Factors::pack_features(const Field& field, const double* centre, double radius, double scale) {
    std::fill(squares_.begin(), squares_.end(), 0.0);
    for (i64 start = 0; start < n_; start += TILE) {
        i64 stop = std::min(start + TILE, n_);
        for (i64 k = 0; k < features_; k++) {
            const double* row = field.v.data() + k * field.stride;
            for (i64 i = start; i < stop; i++) {
                double x = radius * (row[i] - centre[k]) / scale;
                at(i, k) = static_cast<float>(x);
                squares_[static_cast<std::size_t>(i)] += x * x;
            }
        }
        for (i64 i = start; i < stop; i++) at(i, features_ + 2) = 1.0f;
    }
}

const unsigned char* Factors::signs(i64 start, i64 rows, i64 column, i64 columns, double times) {
    if (filled_start_ != start || filled_rows_ != rows) {
        for (i64 i = 0; i < rows; i++) {
            float* to = left_.data() + i * width_;
            for (i64 k = 0; k < features_; k++) to[k] = -2.0f * at(start + i, k);
            to[features_] = static_cast<float>(times) * at(start + i, features_);
            to[features_ + 1] = 1.0f;
            to[features_ + 2] = at(start + i, features_ + 1);
        }
        filled_start_ = start;
        filled_rows_ = rows;
    }
    kernels->signs({left_.data(), rows, right_.data() + column * width_, columns, width_, negative_, mask_.data()});
    return mask_.data();
}

double rounding_noise(i64 dim, double largest_u, double radius, double largest_distance) {
    return (2.0 * static_cast<double>(dim) + 32.0) * 0x1.0p-53 * 2.0 * (largest_u + radius * largest_distance) +
           radius * 1e-150;
}

// Arms are taken eight neighbours at a time: a cache line of each row holds as many.
std::vector<double> sample_mean(const View& view) {
    constexpr i64 SAMPLE = 4096;
    i64 step = (view.n + SAMPLE - 1) / SAMPLE * LANES;
    std::vector<double> mean(static_cast<std::size_t>(view.dim));
    for (i64 k = 0; k < view.dim; k++) {
        const double* row = view.v + k * view.stride;
        double total = 0.0, count = 0.0;
        for (i64 start = 0; start < view.n; start += step)
            for (i64 i = start; i < std::min(start + LANES, view.n); i++) {
                total += row[i] - row[0];
                count += 1.0;
            }
        mean[static_cast<std::size_t>(k)] = row[0] + total / count;
    }
    return mean;
}

std::vector<i64> descending(const std::vector<double>& values) {
    std::vector<i64> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) { return values[a] > values[b]; });
    return order;
}

}  // namespace duelist
